"""Which methods run on which tables."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import floor
from pathlib import Path

import pandas as pd
import real
import standins
from published import CITIES, QUADTREE, SETS

from odanon.compare.plan import Case, crossed
from odanon.tables.read import TableInput

BUDGET = 0.1
LATTICE = "atg-lattice"
ALONE = {"rests": False}  # flows within the budget, as the others publish them
VARIANTS = ({"objective": "tiles", **ALONE}, ALONE, {})
SOLVERS = (
    *("atg-joint", "atg-homogeneous", "atg-dual", "atg-soft", "oigh", "odkanon", "datafly", "mondrian"),
    *("glove", "glove-sk", "uniform", "suppression", "laplace"),
)
LARGE = tuple(name for name in SOLVERS if name not in ("glove", "glove-sk", "laplace"))
HEXAGONS = ("atg-joint", "atg-homogeneous", "atg-soft", "odkanon", "oigh", "mondrian")
OTHERS = frozenset(SOLVERS) - {"suppression", "laplace"}  # those that enlarge areas within the same budget
_LARGE_PAIRS, _SLOW_PAIRS = 100_000, 10_000
_USED = 0.095, 0.105  # shares left out that count as the budget used up
TORONTO_K = 200  # expanded persons, of a sample of one in twenty


@dataclass(frozen=True)
class Experiment:
    """A table with the cases that run on it, and the same table under a tree with fine steps where there is one."""

    table: TableInput
    cases: tuple[Case, ...]
    fine: TableInput | None = None
    fine_cases: tuple[Case, ...] = ()

    def plans(self) -> Iterator[tuple[str, TableInput, tuple[Case, ...]]]:
        yield "standard", self.table, self.cases
        if self.fine is not None:
            yield "fine", self.fine, self.fine_cases

    @property
    def finest(self) -> TableInput:
        return self.fine or self.table


def solvers(names: tuple[str, ...], unit: str, k: int = 10) -> tuple[Case, ...]:
    """The papers' budget, except that suppression alone may leave out what it must."""
    others = (Case(name, k, unit, 0.999 if name == "suppression" else BUDGET) for name in names)
    return (*others, *lattices(unit, k))


def lattices(unit: str, k: int = 10) -> tuple[Case, ...]:
    return tuple(Case(LATTICE, k, unit, BUDGET, variant) for variant in VARIANTS)


def on_fine_steps(unit: str, k: int = 10) -> tuple[Case, ...]:
    """What finer trees change for the two that choose areas pair by pair."""
    return (Case("atg-joint", k, unit, BUDGET), *lattices(unit, k))


def equal_cases(found: pd.DataFrame) -> tuple[Case, ...]:
    """The lattice with the shares that others left out, in whole percents, so that it leaves out no more than they."""
    rows = others(found)
    promises = {(int(row["k"]), row["unit"], whole_percent(row["S_share"])) for _, row in rows.iterrows()}
    return tuple(Case(LATTICE, k, unit, budget, ALONE) for k, unit, budget in sorted(promises) if budget != BUDGET)


def others(found: pd.DataFrame) -> pd.DataFrame:
    return found[found["algorithm"].isin(OTHERS) & (found["status"] == "done")]


def whole_percent(share: float) -> float:
    """The budget of a lattice that is set beside a method that left out this share."""
    return BUDGET if _USED[0] <= share <= _USED[1] else floor(100 * share + 1e-9) / 100


def squares_cases() -> tuple[Case, ...]:
    """001 Table 1: the knapsack, uniform squares whose small volumes are reported per origin, and the lattice with rests."""
    planned = []
    for k in QUADTREE:
        planned += [Case("quadtree-knapsack", k, "trips", BUDGET), Case(LATTICE, k, "trips", BUDGET)]
        for tiles, level in ((4, 4), (8, 3), (16, 2)):
            planned.append(Case("uniform", k, "trips", 0.999, {"level": level, "report_small": True}))
            assert 64 // tiles == 2**level
    return tuple(planned)


def _matrix(folder: Path, name: str) -> Experiment:
    pairs = SETS[name][1]
    slow = ("glove-sk",) if pairs > _SLOW_PAIRS else ()
    names = LARGE if pairs > _LARGE_PAIRS else tuple(each for each in SOLVERS if each not in slow)
    return Experiment(standins.matrix(folder, name), solvers(names, "trips"))


def _hexagons(folder: Path, name: str) -> Experiment:
    table = standins.hexagons(folder, name)
    return Experiment(table, solvers(HEXAGONS, "trips"), _finer(table), on_fine_steps("trips"))


def _squares(folder: Path) -> Experiment:
    fine = tuple(Case(LATTICE, k, "trips", BUDGET) for k in QUADTREE)
    table = standins.squares(folder)
    return Experiment(table, squares_cases(), _finer(table), fine)


def _survey(folder: Path) -> Experiment:
    table = standins.survey(folder)
    weight = pd.read_parquet(table.path, columns=["weight"])["weight"].mean()
    planned = (
        *(Case(name, 10, "persons", BUDGET) for name in ("atg-joint", "odkanon")),
        Case(LATTICE, 10, "persons", BUDGET, ALONE),
    )
    return Experiment(table, crossed(planned, "participants,population", float(weight), ("F", "M")))


def _bikes(folder: Path) -> Experiment:
    table = real.bike_rides(folder)
    standard = replace(table, hierarchy_parameters={"steps": "standard"})
    return Experiment(standard, solvers(SOLVERS, "persons"), _finer(table), on_fine_steps("persons"))


def _finer(table: TableInput) -> TableInput:
    return replace(table, hierarchy_parameters={**table.hierarchy_parameters, "steps": "fine"})


def experiments(folder: Path) -> dict[str, Callable[[], Experiment]]:
    """Name -> table and cases, made when needed; the large ones come last."""
    found: dict[str, Callable[[], Experiment]] = {}
    if real.DATA.is_dir():
        found["taxi week"] = lambda: Experiment(real.taxi_week(folder), solvers(SOLVERS, "trips"))
        found["bike rides"] = lambda: _bikes(folder)
        found["toronto"] = lambda: Experiment(real.toronto(folder), solvers(LARGE, "trips", TORONTO_K))
        found["melbourne"] = lambda: Experiment(real.melbourne(folder), solvers(SOLVERS, "persons"))
    found |= {"squares": lambda: _squares(folder), "survey": lambda: _survey(folder)}
    pairs = {name: (size[1], _hexagons) for name, size in CITIES.items()}
    pairs |= {name: (size[1], _matrix) for name, size in SETS.items()}
    for name, (_, make) in sorted(pairs.items(), key=lambda item: item[1][0]):
        found[name] = lambda name=name, make=make: make(folder, name)
    return found
