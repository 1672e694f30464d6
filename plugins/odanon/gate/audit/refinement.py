"""The common refinement of overlapping matrices: the finest groups of trips that no published value separates.

Trips are told apart by the flow they count in, matrix by matrix. A group with the same flows everywhere is an atom;
every published value is a sum of atoms, and so is whatever differences of published values can reveal. Tile pairs
without traffic take no part: an area that nobody visits protects nobody.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.gate.audit.published import Content, PublishedMatrix, Stretches
from odanon.gate.coverage import Ints, spread

if TYPE_CHECKING:
    from scipy import sparse

Flags = npt.NDArray[np.bool_]
_DIGITS = 6  # of weights: what was added up in another order is the same
IDENTITY = ("time", "origin", "destination", "person", "trips")


@dataclass(frozen=True, eq=False)
class Trips:
    """The distinct input rows of several matrices."""

    rows: list[Ints]  # by matrix: the numbers of its input rows
    flow: list[Ints]  # by matrix: the flow each of them counts in, -1 = suppressed
    person: Ints
    trips: Ints
    time: Ints  # microseconds since 1970, UTC

    @classmethod
    def of(cls, contents: Sequence[Content], by_weight: bool = False) -> "Trips":
        """Rows are the same when time, tiles, person and trips are; `by_weight` their weight too.

        Without ids, each pair is one row.
        """
        identity = (*IDENTITY, "weight") if by_weight else IDENTITY
        tables = [_plain(content.rows, identity) for content in contents if content.rows is not None]
        merged = pd.concat(tables, ignore_index=True)
        code = np.zeros(len(merged), dtype=np.int64)
        for name in identity:
            part, names = pd.factorize(merged[name])
            code, _ = pd.factorize(code * (len(names) + 1) + part)
        first = np.empty(int(code.max(initial=-1)) + 1, dtype=np.int64)
        first[code[::-1]] = np.arange(len(code))[::-1]
        person, _ = pd.factorize(merged["person"].to_numpy()[first])
        return cls(
            rows=np.split(code, np.cumsum([len(table) for table in tables])[:-1]),
            flow=[content.row_flow(table) for content, table in zip(contents, tables, strict=True)],
            person=person.astype(np.int64),
            trips=merged["trips"].to_numpy(np.int64)[first],
            time=pd.DatetimeIndex(merged["time"].iloc[first]).as_unit("us").asi8,
        )

    def missing(self, narrow: int, wide: int, times: Stretches) -> tuple[Ints, Ints]:
        """Rows of one matrix within stretches of time, in order, and those of them that another matrix does not have."""
        start, end = pd.DatetimeIndex([moment for each in times for moment in each]).as_unit("us").asi8.reshape(-1, 2).T
        time = self.time[self.rows[narrow]]
        at = np.searchsorted(start, time, side="right") - 1
        expected = self.rows[narrow][(at >= 0) & (time < end[at])]
        return expected, np.setdiff1d(expected, self.rows[wide])


def _plain(rows: pd.DataFrame, identity: Sequence[str]) -> pd.DataFrame:
    """The identifying columns in types that can be stacked; a table without ids gets an empty one."""
    table = rows if "person" in rows else rows.assign(person=0)
    table = table.loc[table["trips"] > 0, list(identity)]
    plain = table.astype({"origin": "str", "destination": "str"}).assign(time=pd.to_datetime(table["time"], utc=True))
    return plain.assign(weight=plain["weight"].round(_DIGITS)) if "weight" in plain else plain


def families(matrices: Sequence[PublishedMatrix]) -> list[list[int]]:
    """Matrices in families of disjoint parts: the days of a product, its sexes; a re-issue starts a family."""
    made: list[list[int]] = []
    for number, matrix in enumerate(matrices):
        for family in made:
            fits = matrices[family[0]].family == matrix.family
            if fits and not any(matrix.overlaps(matrices[member]) for member in family):
                family.append(number)
                break
        else:
            made.append([number])
    return made


@dataclass(frozen=True, eq=False)
class Refinement:
    """Atoms of the refinement and the people in each."""

    signature: Ints  # (atom, family): the flow of the family that holds the atom, -1 = none
    trips: Ints  # by atom
    holder: Ints  # sorted distinct (atom, person) as two columns
    matrix: Ints  # by flow: the matrix that shows it
    by_trips: bool  # count trips where nobody has an id

    @classmethod
    def of(cls, trips: Trips, made: list[list[int]], by_trips: bool) -> "Refinement":
        """Group the rows by the flows they count in."""
        by_family = np.full((len(trips.trips), len(made)), -1, dtype=np.int64)
        n_flows, shown_by = 0, []
        for column, members in enumerate(made):
            for number in members:
                flow = trips.flow[number]
                counted = flow >= 0
                by_family[trips.rows[number][counted], column] = flow[counted] + n_flows
                shown_by.append(np.full(int(flow.max(initial=-1)) + 1, number))
                n_flows += len(shown_by[-1])
        shown = (by_family >= 0).any(axis=1)
        code = np.zeros(int(shown.sum()), dtype=np.int64)
        for column in by_family[shown].T:
            part, names = pd.factorize(column)
            code, _ = pd.factorize(code * (len(names) + 1) + part)
        first = np.unique(code, return_index=True)[1]
        person = trips.person[shown]
        width = int(person.max(initial=0)) + 1
        pairs = np.unique(code * width + person)
        return cls(
            signature=by_family[shown][first],
            trips=np.bincount(code, trips.trips[shown], len(first)).astype(np.int64),
            holder=np.column_stack(np.divmod(pairs, width)),
            matrix=np.concatenate(shown_by),
            by_trips=by_trips,
        )

    def people(self, group: Ints, atom: Ints, n_groups: int) -> Ints:
        """Distinct people in each group of atoms, given as (group, atom) pairs."""
        if self.by_trips:
            return np.bincount(group, self.trips[atom], n_groups).astype(np.int64)
        start = np.searchsorted(self.holder[:, 0], np.arange(len(self.trips) + 1))
        pair, step = spread(np.diff(start)[atom])
        person = self.holder[start[atom][pair] + step, 1]
        width = int(self.holder[:, 1].max(initial=0)) + 1
        return np.bincount(np.unique(group[pair] * width + person) // width, minlength=n_groups)

    @cached_property
    def people_of_atom(self) -> Ints:
        """Distinct people by atom."""
        atoms = np.arange(len(self.trips))
        return self.people(atoms, atoms, len(atoms))

    def incidence(self) -> "sparse.csr_array":
        """(flow, atom): which atoms every published value adds up."""
        from scipy import sparse

        flows, atoms = [], []
        for column in self.signature.T:
            held = np.flatnonzero(column >= 0)
            flows.append(column[held])
            atoms.append(held)
        names, row = np.unique(np.concatenate(flows), return_inverse=True)
        column = np.concatenate(atoms)
        return sparse.csr_array((np.ones(len(row)), (row, column)), shape=(len(names), len(self.trips)))

    @cached_property
    def component(self) -> Ints:
        """By atom: the part of the system, flows joined by the atoms they share, that it belongs to."""
        from scipy import sparse
        from scipy.sparse.csgraph import connected_components

        incidence = self.incidence()
        graph = sparse.block_array([[None, incidence], [incidence.T, None]])
        return connected_components(graph, directed=False)[1][incidence.shape[0] :].astype(np.int64)

    def small_regions(self, k: int) -> Iterator[Ints]:
        """Sets of atoms with 1 to k - 1 people that some of the families tell apart."""
        n_families = self.signature.shape[1]
        seen: set[bytes] = set()
        for size in sorted({2, 3, n_families}):
            for chosen in combinations(range(n_families), size):
                part = self.signature[:, chosen]
                touched = np.flatnonzero((part >= 0).sum(axis=1) >= 1)
                _, group = np.unique(part[touched], axis=0, return_inverse=True)
                people = self.people(group, touched, int(group.max(initial=-1)) + 1)
                for number in np.flatnonzero((people > 0) & (people < k)):
                    region = touched[group == number]
                    if region.tobytes() not in seen:
                        seen.add(region.tobytes())
                        yield region
