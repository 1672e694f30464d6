"""What the placers are given: the true matrices, or releases of what phones show, spread back to zones by a reading."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from travellers.cities import City

import odanon
from odanon import registry
from odanon.api import Anonymizer
from odanon.model.areas import Areas
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.reconstruct.layout import Layout
from odanon.reconstruct.readings import EVERYWHERE
from odanon.reconstruct.rests import Regions

Floats = npt.NDArray[np.float64]
TRUE, NEXT, NOTHING = "true matrices", "the day after", "totals by step"
READINGS = ("even", "prior")
K = (5, 10, 20)
PARAMETERS = {
    "atg-joint": {},
    "atg-lattice": {},
    "oigh": {},
    "uniform": {},
    "suppression": {"suppression": 0.9999},  # it leaves out whatever is below k
}


@dataclass(frozen=True)
class Input:
    """A row of the experiment; the true matrices and totals have no k."""

    algorithm: str
    k: int = 0
    reading: str = ""

    @property
    def name(self) -> str:
        return "-".join(
            [
                self.algorithm.replace(" ", "_"),
                *([str(self.k)] if self.k else []),
                *([self.reading] if self.reading else []),
            ]
        )


def planned() -> Iterator[Input]:
    yield Input(TRUE)
    yield Input(NEXT)
    for reading in READINGS:
        yield Input(NOTHING, 0, reading)
    for algorithm in PARAMETERS:
        for k in K:
            # Tile pairs that are published as they are leave nothing to be spread.
            for reading in READINGS[:1] if algorithm == "suppression" else READINGS:
                yield Input(algorithm, k, reading)


class Inputs:
    """The matrices of a city by input; a release is made once for all its readings."""

    def __init__(self, city: City, next_day: City) -> None:
        self._city, self._next = city, next_day
        self._releases: dict[tuple[str, int], dict[int, Release]] = {}
        weights = city.table("weights").set_index("tile")["residents_and_jobs"]
        self._public = (weights[city.zones["zone"]] / weights.sum()).to_numpy() + EVERYWHERE

    def matrices(self, asked: Input) -> Floats:
        """trips[t, o, d]"""
        truth = self._city.truth
        if asked.algorithm == TRUE:
            return truth
        if asked.algorithm == NEXT:
            return self._next.truth
        if asked.algorithm == NOTHING:
            weight = np.ones(len(self._public)) if asked.reading == "even" else self._public / self._public.sum()
            spread = np.outer(weight, weight)
            return truth.sum(axis=(1, 2))[:, None, None] * spread / spread.sum()
        made = np.zeros_like(truth)
        for step, release in self._released(asked.algorithm, asked.k).items():
            made[step] = spread_to_zones(release, self._city, asked.reading, self._public)
        return made

    def published(self, asked: Input) -> dict[str, float]:
        """How many rows are published, and which share of the trips they hold."""
        releases = self._released(asked.algorithm, asked.k).values()
        rows, trips = (
            sum(int(n) for n in each)
            for each in zip(*((len(r.flows), r.flows["trips"].sum()) for r in releases), strict=True)
        )
        return {"rows": rows, "kept": trips / len(self._city.phones)}

    def _released(self, algorithm: str, k: int) -> dict[int, Release]:
        if (algorithm, k) not in self._releases:
            tree = self._city.tree
            rows = {
                int(step): ODMatrix.from_frame(part.assign(trips=1), tree, tree)
                for step, part in self._city.phones.groupby("step")
            }
            anonymizer = registry.create("anonymize", algorithm, {"k": k, **PARAMETERS[algorithm]})
            self._releases[algorithm, k] = _released(rows, self._city, anonymizer)
        return self._releases[algorithm, k]


def _released(rows: dict[int, ODMatrix], city: City, anonymizer: Anonymizer) -> dict[int, Release]:
    try:
        return odanon.release(rows, city.tree, anonymizer, metrics=()).releases
    except odanon.OdanonError:
        # One step of which nothing may be published refuses the whole day: the others alone.
        found = {}
        for step, od in rows.items():
            try:
                found[step] = odanon.release({step: od}, city.tree, anonymizer, metrics=()).releases[step]
            except odanon.OdanonError:
                continue
        return found


def spread_to_zones(release: Release, city: City, reading: str, public: Floats) -> Floats:
    """The published trips of a release between zones: every row over its areas in proportion to the weights of their zones."""
    tree = city.tree
    layout = Layout.of(release)
    trips = release.flows["trips"].to_numpy(np.float64)
    rank_of = city.number[tree.label[tree.tiles]].to_numpy()  # the zone of every tile
    weight = np.ones(len(rank_of)) if reading == "even" else public[rank_of]
    out, into = (_members(areas, weight) for areas in layout.areas)
    whole = out.sum(axis=1)[layout.origin] * into.sum(axis=1)[layout.destination]
    density = np.zeros((len(out), len(into)))
    np.add.at(density, (layout.origin, layout.destination), Regions.measured(layout.around, whole).layered(trips))
    by_rank = out.T @ density @ into
    made = np.zeros_like(by_rank)
    made[np.ix_(rank_of, rank_of)] = by_rank
    return np.maximum(made, 0.0)


def _members(areas: Areas, weight: Floats) -> Floats:
    """A row for every area with the weights of its tiles."""
    made = np.zeros((len(areas.label), len(weight)))
    row = np.repeat(np.arange(len(areas.label)), np.diff(areas.start))
    made[row, areas.members] = weight[areas.members]
    return made
