"""The rows of people that settings are tried on: trips by day, stretch of the clock, tile pair and person."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

import numpy as np
import pandas as pd

from odanon.errors import OdanonError
from odanon.geo.h3cells import is_cell
from odanon.model.hierarchy import Hierarchy
from odanon.model.window import LENGTHS, Length, window_start
from odanon.tables.read import TableInput
from odanon.tables.times import as_instants, on_the_clock

TreeOver = Callable[[pd.DataFrame, int | None], Hierarchy]  # over the tiles of some rows, of a resolution
_COLUMNS = ("day", "minute", "origin", "destination", "person", "trips", "weight")


@dataclass(frozen=True, eq=False)
class PeopleRows:
    """Trips of people on some days, and the map under them.

    `rows` has the day, the minute of the local clock, tile labels, person (where known), trips and perhaps weight. Tiles are of
    `resolution` where they are H3 cells. A person has one id within a window of length `counted`, or everywhere if that is None.
    """

    rows: pd.DataFrame
    tree: TreeOver
    resolution: int | None
    day_type: Callable[[date], str] = lambda day: "all"
    counted: Length | None = None

    @property
    def days(self) -> list[date]:
        """The days that have rows."""
        return sorted(self.rows["day"].unique())

    @property
    def lengths(self) -> tuple[Length, ...]:
        """The windows in which people can be counted and that the days tell apart."""
        known = LENGTHS if self.counted is None else LENGTHS[: LENGTHS.index(self.counted) + 1]
        return tuple(dict.fromkeys(("day", *(each for each in known if self._pools(each)))))

    def _pools(self, length: Length) -> bool:
        shorter = LENGTHS[max(0, LENGTHS.index(length) - 1)]
        return len(self.windows(length)) < len(self.windows(shorter))

    def windows(self, length: Length) -> dict[date, list[date]]:
        """The days of every window, by its first one; none reaches over the end of what ids are known for."""
        found: dict[tuple[date, date], list[date]] = {}
        for day in self.days:
            known = date.min if self.counted is None else window_start(day, self.counted)
            found.setdefault((window_start(day, length), known), []).append(day)
        return {days[0]: days for days in found.values()}

    def refuse_uncounted(self, windows: tuple[Length, ...]) -> None:
        """Refuse windows in which one person would be counted as several."""
        longer = [each for each in windows if self.counted and LENGTHS.index(each) > LENGTHS.index(self.counted)]
        if longer:
            raise OdanonError(
                f"--windows {longer[0]}: people have a new pseudonym every {self.counted}, so nobody can count them over a"
                f" {longer[0]}; run a trial of the product with publish.window: {longer[0]}, and ask for advice on that"
            )

    def digest(self) -> str:
        """Changes when a row does."""
        return hashlib.sha256(pd.util.hash_pandas_object(self.rows, index=False).to_numpy().tobytes()).hexdigest()


def own_columns(rows: pd.DataFrame) -> pd.DataFrame:
    """The columns of rows of people, in order."""
    return rows[[name for name in _COLUMNS if name in rows]].reset_index(drop=True)


def table_rows(table: TableInput) -> PeopleRows:
    """The rows of a table whose column of times tells when trips start: instants, or hours of one day.

    Instants without an offset are those of the local clock.
    """
    if table.time is None:
        raise OdanonError("advice is about time as well; name the column that tells when trips start with --time")
    rows = table.within_zones(table.rows()).reset_index(drop=True)
    clock = on_the_clock(as_instants(rows.pop("time"), table.zone, str(table.path)), table.zone)
    told = pd.concat([rows.rename(columns={"count": "trips"}), clock], axis="columns")
    known = own_columns(told if "trips" in told else told.assign(trips=1))
    resolution = cell_resolution(known) if table.zones is None else None
    return PeopleRows(known, lambda part, _: table.map.under(part)[1], resolution)


def cell_resolution(rows: pd.DataFrame) -> int | None:
    """The resolution of tiles that are H3 cells."""
    import h3

    labels = pd.unique(pd.concat([rows["origin"], rows["destination"]]))
    return h3.get_resolution(labels[0]) if all(map(is_cell, labels)) else None


def coarser(rows: pd.DataFrame, resolution: int) -> pd.DataFrame:
    """The rows with the parents of their H3 cells for tiles."""
    import h3

    ends = {}
    for side in ("origin", "destination"):
        code, cells = pd.factorize(rows[side])
        ends[side] = np.array([h3.cell_to_parent(cell, resolution) for cell in cells], dtype=object)[code]
    return rows.assign(**ends)
