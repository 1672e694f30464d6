"""Whether published numbers isolate people, decided without the auditor's code: from the tables of the releases alone.

A leak is a linear combination of published numbers that, as a function of the input rows, has weights other than 0 only
on rows of 1 to k - 1 people.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from odanon.gate.audit.published import Content, PublishedMatrix

Row = list[Fraction]


@dataclass(frozen=True)
class Numbers:
    """The published numbers as sums of groups of input rows that all of them treat alike."""

    shown: np.ndarray  # (number, group): 1 where the number counts the group
    people: list[frozenset]  # by group

    @classmethod
    def of(cls, matrices: list[PublishedMatrix]) -> "Numbers":
        """Read the tables row by row, as a reader would."""
        counted: dict[tuple, list[tuple[int, int]]] = {}
        for number, matrix in enumerate(matrices):
            content = matrix.load()
            assert content.rows is not None
            areas = [
                content.origin_tiles.astype("str").groupby("tile")["area"].agg(set).to_dict(),
                content.destination_tiles.astype("str").groupby("tile")["area"].agg(set).to_dict(),
            ]
            flows = list(
                zip(content.flows["origin"].astype("str"), content.flows["destination"].astype("str"), strict=True)
            )
            sizes = [
                table["area"].astype("str").value_counts()
                for table in (content.origin_tiles, content.destination_tiles)
            ]
            intervals = _intervals(content)
            for row in content.rows.itertuples():
                starts, ends = areas[0].get(row.origin, ()), areas[1].get(row.destination, ())
                here = [
                    flow
                    for flow, (start, end) in enumerate(flows)
                    if start in starts and end in ends and (intervals is None or row.time in intervals[flow])
                ]
                long = [1] * len(flows) if intervals is None else [len(each) for each in intervals]
                inner = min(
                    here,
                    key=lambda flow: sizes[0][flows[flow][0]] * sizes[1][flows[flow][1]] * long[flow],
                    default=None,
                )
                here = [] if inner is None else [(number, inner)]
                counted.setdefault((row.time, row.origin, row.destination, row.person, row.trips), []).extend(here)
        groups: dict[tuple, set] = {}
        for row, numbers in counted.items():
            if numbers:
                groups.setdefault(tuple(numbers), set()).add(row[3])
        names = sorted({number for numbers in groups for number in numbers})
        shown = np.array([[name in numbers for numbers in groups] for name in names], dtype=np.int64)
        return cls(shown.reshape(len(names), len(groups)), [frozenset(who) for who in groups.values()])

    def few(self, groups: np.ndarray, k: int) -> bool:
        """Whether 1 to k - 1 people are in the groups."""
        return 0 < len(frozenset().union(*(self.people[group] for group in groups))) < k

    def isolated_by_subsets(self, k: int) -> bool:
        """Every set of fewer than k people is tried: does leaving out their rows alone make numbers dependent?"""
        everybody = sorted(frozenset().union(*self.people))
        rank = len(reduced(self.shown, range(self.shown.shape[1])))
        for chosen in combinations(everybody, min(k - 1, len(everybody))):
            others = [group for group, who in enumerate(self.people) if not who <= set(chosen)]
            if len(reduced(self.shown[:, others], range(len(others)))) < rank:
                return True
        return False

    def isolated_by_programs(self, k: int) -> bool:
        """Integer programs, one for each group that may have the largest weight, 1, in a combination of few people."""
        groups = [group for group, who in enumerate(self.people) if len(who) < k]
        persons = sorted(frozenset().union(*(self.people[group] for group in groups)))
        place = {person: number for number, person in enumerate(persons)}
        n, shown = len(self.shown), self.shown.T.astype(float)
        pairs = [(group, place[person]) for group in groups for person in self.people[group]]
        weight = shown[[group for group, _ in pairs]]
        involved = -np.eye(len(persons))[[person for _, person in pairs]]
        none = np.setdiff1d(np.arange(len(self.people)), groups)
        always = [
            LinearConstraint(np.hstack([weight, involved]), -np.inf, 0),
            LinearConstraint(np.hstack([-weight, involved]), -np.inf, 0),
            LinearConstraint(np.hstack([shown[none], np.zeros((len(none), len(persons)))]), 0, 0),
            LinearConstraint(np.append(np.zeros(n), np.ones(len(persons)))[None], 0, k - 1),
        ]
        low = np.append(np.full(n, -np.inf), np.zeros(len(persons)))
        high = np.append(np.full(n, np.inf), np.ones(len(persons)))
        whole = np.append(np.zeros(n), np.ones(len(persons)))
        for group in groups:
            largest = LinearConstraint(np.append(shown[group], np.zeros(len(persons)))[None], 1, 1)
            found = milp(
                np.zeros(len(low)), constraints=[*always, largest], bounds=Bounds(low, high), integrality=whole
            )
            assert found.status in (0, 2), found.message
            if found.status == 0:
                return True
        return False

    def plain_attacks(self, k: int, rng: np.random.Generator, orders: int) -> Iterator[str]:
        """Names of what simple attacks find: two numbers subtracted, and rows reduced in many random orders."""
        for one, two in combinations(self.shown, 2):
            if self.few(np.flatnonzero(one - two), k) and (one & two).any():
                yield "difference"
        size = np.array([len(who) for who in self.people])
        for _ in range(orders):
            order = np.argsort(-np.minimum(size, k) + rng.random(len(size)) * rng.choice([0.5, k]), kind="stable")
            rows = reduced(self.shown, order.tolist())
            if any(self.few(np.flatnonzero(row), k) for row in rows):
                yield "combination"


def _intervals(content: Content) -> list[set] | None:
    """The starts of the bins that every flow counts; None where all flows are of one bin."""
    if content.times is None:
        return None
    bins = content.times.astype({"area": "str"}).groupby("area")["tile"].agg(set)
    return [bins[name] for name in content.flows["time"].astype("str")]


def reduced(system: np.ndarray, order: "list[int] | range") -> list[Row]:
    """Gauss and Jordan in exact fractions, columns in the given order."""
    rows: list[Row] = [[Fraction(int(value)) for value in row] for row in system]
    done: list[Row] = []
    for column in order:
        pivot = next((row for row in rows if row[column]), None)
        if pivot is None:
            continue
        rows = [row for row in rows if row is not pivot]
        pivot = [value / pivot[column] for value in pivot]
        rows, done = ([_less(row, pivot, column) for row in part] for part in (rows, done))
        done.append(pivot)
    return done


def _less(row: Row, pivot: Row, column: int) -> Row:
    factor = row[column]
    return [a - factor * b for a, b in zip(row, pivot, strict=True)] if factor else row
