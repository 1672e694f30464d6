"""How well agents fit what they were made from (003 sections 4.5 and 5.4); where the truth is known, it takes the place of the target."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from odanon.demand.calibrators.system import Floats, System

EPSILON = 1e-30  # stands for 0 in KL, whose value depends on it


@dataclass(frozen=True)
class Fit:
    """Of two tables of shares: the part of the variance explained, and the divergence of the first from the second.

    `kl` is over all cells, with EPSILON where the second is 0; `kl_common` over those that both have.
    """

    r2: float
    kl: float
    kl_common: float


def fit(made: Floats, wanted: Floats) -> Fit:
    """The fit of made to wanted numbers, each as shares of its sum."""
    p, q = made.ravel() / made.sum(), wanted.ravel() / wanted.sum()
    return Fit(_r2(p, q), _kl(p, q), _kl(*_common(p, q)))


def fit_by_step(made: Floats, wanted: Floats) -> Fit:
    """The same of matrices by step: R2 over all cells, KL as the mean over steps in which both have trips; no numbers without any."""
    steps = [t for t in range(len(wanted)) if made[t].sum() > 0 and wanted[t].sum() > 0]
    if not steps:
        return Fit(*[float("nan")] * 3)
    p, q = (np.stack([each[t] / each[t].sum() for t in steps]) for each in (made, wanted))
    apart = [fit(made[t], wanted[t]) for t in steps]
    kl, common = (float(np.mean([getattr(each, name) for each in apart])) for name in ("kl", "kl_common"))
    return Fit(_r2(p, q), kl, common)


def _r2(made: Floats, wanted: Floats) -> float:
    spread = float(((wanted - wanted.mean()) ** 2).sum())
    return 1 - float(((made - wanted) ** 2).sum()) / spread if spread else float("nan")


def _kl(p: Floats, q: Floats) -> float:
    here = p > 0
    return float((p[here] * np.log(p[here] / np.maximum(q[here], EPSILON))).sum())


def _common(p: Floats, q: Floats) -> tuple[Floats, Floats]:
    here = (p > 0) & (q > 0)
    if not here.any():
        return p[:0], q[:0]
    return p[here] / p[here].sum(), q[here] / q[here].sum()


@dataclass(frozen=True)
class CalibrationFit:
    """What calibration reached, and what it did to the agents (003 equations 4.15 to 4.18)."""

    error_steps: float  # mean squared gap of the shares of steps
    error_profiles: float  # mean squared gap of the numbers of people of profiles
    lost: float  # share of agents that rounding is expected to lose
    sd: float  # of coefficients
    gini: float  # of coefficients


def calibration_fit(asked: System, persons: Floats, coefficients: Floats) -> CalibrationFit:
    """The measures of a calibration; coefficients are those of agents."""
    made = asked.rows @ persons
    steps, profiles = slice(None, asked.steps), slice(asked.steps, None)
    shares = (made - asked.target)[steps] / asked.target[steps].sum()
    below = coefficients[coefficients < 1]
    return CalibrationFit(
        float((shares**2).mean()),
        float(((made - asked.target)[profiles] ** 2).mean()),
        float((1 - below).sum() / len(coefficients)),
        float(coefficients.std()),
        gini(coefficients),
    )


def gini(values: Floats) -> float:
    """One minus twice the area under the Lorenz curve: 0 where all are alike."""
    ordered = np.sort(values)
    total = ordered.sum()
    if not len(ordered) or total <= 0:
        return 0.0
    passed = np.concatenate([[0.0], np.cumsum(ordered)]) / total
    return float(1 - (passed[1:] + passed[:-1]).sum() / len(ordered))


def length_quantiles(lengths_m: Floats, weight: Floats, at: npt.ArrayLike = (0.25, 0.5, 0.75, 0.9)) -> Floats:
    """Lengths below which these shares of trips lie; trips within a zone have length 0."""
    order = np.argsort(lengths_m, kind="stable")
    passed = np.cumsum(weight[order]) / weight.sum()
    place = np.minimum(np.searchsorted(passed, np.asarray(at)), len(order) - 1)
    return lengths_m[order][place]


def length_distance(a: tuple[Floats, Floats], b: tuple[Floats, Floats]) -> float:
    """The largest gap between two distributions of trip lengths (lengths, weights)."""
    grid = np.unique(np.concatenate([a[0], b[0]]))
    passed = []
    for lengths, weight in (a, b):
        order = np.argsort(lengths, kind="stable")
        summed = np.concatenate([[0.0], np.cumsum(weight[order])]) / weight.sum()
        passed.append(summed[np.searchsorted(lengths[order], grid, side="right")])
    return float(np.abs(passed[0] - passed[1]).max())
