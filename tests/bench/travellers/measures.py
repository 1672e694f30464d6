"""How far travellers are from the truth, and from the matrices that they were placed by."""

from dataclasses import asdict

import numpy as np
import numpy.typing as npt
import pandas as pd
from travellers.cities import City

from odanon.demand.agendas import HOME, PRIMARY, WORK
from odanon.demand.evaluation import fit, fit_by_step, length_distance

Floats = npt.NDArray[np.float64]


def of_matrices(made: Floats, city: City) -> dict[str, float]:
    """Of trips[t, o, d] against the truth."""
    truth = city.truth
    by_pair, true_by_pair = made.sum(axis=0), truth.sum(axis=0)
    lengths = city.lengths.ravel()
    steps = [each.sum(axis=(1, 2)) / each.sum() for each in (made, truth)]
    return {
        **_named("truth", asdict(fit_by_step(made, truth))),
        "truth r2 of the day": fit(made, truth).r2,
        **_named("communes", asdict(fit_by_step(_by_commune(made, city), _by_commune(truth, city)))),
        "lengths": length_distance((lengths, by_pair.ravel()), (lengths, true_by_pair.ravel())),
        "mean length": float((city.lengths * by_pair).sum() / by_pair.sum()),
        "static": float(np.trace(by_pair) / by_pair.sum()),
        "steps": float(np.abs(steps[0] - steps[1]).sum() / 2),
    }


def of_travellers(activities: pd.DataFrame, given: Floats, city: City) -> dict[str, float]:
    """Of everybody's day against the truth, against the matrices that were given, and against the table of commuters."""
    made = matrices(activities, len(city.zones), len(given))
    return {
        **of_matrices(made, city),
        **_named("given", asdict(fit_by_step(made, given))),
        "given r2 of the day": fit(made, given).r2,
        **_named("commute", asdict(fit(_commuters(activities, city), city.commuters))),
        "kept": _one_place_each(activities),
        "trips": float(made.sum()),
    }


def matrices(activities: pd.DataFrame, zones: int, steps: int) -> Floats:
    step, zone = activities["step"].to_numpy(np.int64), activities["zone"].to_numpy(np.int64)
    there = np.flatnonzero(step >= 0)
    cell = (step[there] * zones + zone[there - 1]) * zones + zone[there]
    return np.bincount(cell, minlength=steps * zones**2).reshape(steps, zones, zones).astype(np.float64)


def _by_commune(trips: Floats, city: City) -> Floats:
    part = np.eye(city.commune.max() + 1)[city.commune]
    return np.stack([part.T @ each @ part for each in trips])


def _commuters(activities: pd.DataFrame, city: City) -> Floats:
    """Home and first place of work of everybody who works, by commune; the naive model may have several for one person."""
    rows = activities.assign(who=(activities["seq"] == 0).cumsum())
    home = rows[rows["seq"] == 0].set_index("who")["zone"]
    work = rows[rows["purpose"] == WORK].groupby("who")["zone"].first()
    made = np.zeros((city.commune.max() + 1,) * 2)
    np.add.at(made, (city.commune[home[work.index]], city.commune[work]), 1)
    return made


def _one_place_each(activities: pd.DataFrame) -> float:
    """The share of travellers whose home, work and study have one zone each."""
    rows = activities.assign(who=(activities["seq"] == 0).cumsum())
    primary = rows[rows["purpose"].isin(PRIMARY)]
    several = primary.groupby(["who", "purpose"], observed=True)["zone"].nunique() > 1
    went = rows.groupby("who").size() > 1
    assert HOME in set(primary["purpose"])
    return float(1 - several.groupby("who").any()[went].mean())


def _named(of: str, figures: dict[str, float]) -> dict[str, float]:
    return {f"{of} {name}": value for name, value in figures.items()}
