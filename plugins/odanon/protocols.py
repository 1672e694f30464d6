"""What a plugin of each group can do, as types. A plugin need not inherit from anything here: having the methods is enough."""

from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy.typing as npt

from odanon.model.figure import Figure
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.model.tiles import ObjectArray, Tiles

if TYPE_CHECKING:
    import pandas as pd

    from odanon.checking import CheckedDay, Verdict
    from odanon.demand.calibrators.result import Calibrated
    from odanon.demand.calibrators.system import System
    from odanon.demand.matrices import Matrices
    from odanon.demand.placers.placer import Travellers
    from odanon.engines.points import Collected
    from odanon.notify.alert import Alert
    from odanon.reading.delivery import Delivery


class Source(Protocol):
    """Where traces, trips or OD rows come from (`odanon.sources`); `enters` names the stage that it feeds.

    Beside `available` it has the reading method of that stage: see `TraceSource`, `TripSource` and `OdSource`.
    """

    enters: ClassVar[str]

    def available(self, day: date) -> bool:
        """Whether the data of a day are there, told from names or a small query."""


class TraceSource(Source, Protocol):
    """`enters = "traces"`: frames person, time, lat, lon (and antenna) of a window and of `context` around it."""

    def batches(self, start: datetime, end: datetime, context: timedelta = ...) -> "Iterator[pd.DataFrame]": ...


class TripSource(Source, Protocol):
    """`enters = "trips"`: frames person, start, end, o_lat, o_lon, d_lat, d_lon, distance_m; or origin, destination by tile."""

    def trips(self, start: datetime, end: datetime) -> "Iterator[pd.DataFrame]": ...


class OdSource(Source, Protocol):
    """`enters = "od"`: frames time_bin, origin, destination, trips and what else is known."""

    def od(self, start: datetime, end: datetime) -> "Iterator[pd.DataFrame]": ...


@runtime_checkable
class NamesFiles(Protocol):
    """A source that reads files, or tables of a database."""

    def reads(self, start: datetime, end: datetime) -> list[str]:
        """The real names of the files, or of the tables, of [start, end), in order."""


@runtime_checkable
class TellsState(Protocol):
    """A source that notices late data."""

    def state(self, days: list[date]) -> str:
        """A text that changes when the data of these days do."""


@runtime_checkable
class ListsFiles(Protocol):
    """A source that can tell what was delivered before anything is read, for the terms under `arrival`."""

    def delivered(self, day: date) -> "list[Delivery]":
        """What is there of a day, by folder."""


@runtime_checkable
class KnowsPeople(Protocol):
    """A source with a table of people."""

    def persons(self) -> "Iterator[pd.DataFrame]":
        """Frames of ids and attributes."""


@runtime_checkable
class SpreadsStays(Protocol):
    """A source that knows stays only up to the reach of an antenna."""

    def spread_out(
        self, person: npt.NDArray[Any], lat: npt.NDArray[Any], lon: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """One place for each person and antenna, given by the antenna's position; the same whenever it is asked for."""


class StayDetector(Protocol):
    """Finds stays (`odanon.staypoints`)."""

    def detect(self, points: "pd.DataFrame") -> "pd.DataFrame":
        """Stays (person, start, end, lat, lon, fixes) of points sorted by person and time."""


class Zoning(Protocol):
    """Tiles of the ground (`odanon.zonings`)."""

    def assign(self, lat: npt.NDArray, lon: npt.NDArray) -> ObjectArray:
        """The label of every point's tile, None outside."""

    def tiles(self, labels: npt.ArrayLike) -> Tiles:
        """The tiles behind labels."""


@runtime_checkable
class KnowsEveryTile(Protocol):
    """A zoning with a given list of tiles: polygons, antennas."""

    @property
    def every_label(self) -> ObjectArray: ...


class HierarchyBuilder(Protocol):
    """Joins tiles into a tree (`odanon.hierarchies`)."""

    def build(self, tiles: Tiles) -> Hierarchy: ...


@runtime_checkable
class ChoosesExtent(Protocol):
    """A hierarchy that grows over whatever tiles it is given, and says which of them tell nothing of single people."""

    def extent(self, label: ObjectArray, tile: npt.NDArray[Any], visitor: npt.NDArray[Any], k: int) -> npt.NDArray[Any]:
        """For every label whether the tree may stand on it; `tile` and `visitor` number who was where."""


class Anonymizes(Protocol):
    """Makes releases (`odanon.anonymizers`); `odanon.api.Anonymizer` brings all but `anonymize`.

    A method whose time bins share something has `anonymize_window(matrices, origins, destinations)` as well.
    """

    overlapping: ClassVar[bool]
    leaves_out: ClassVar[bool]
    budgeted: ClassVar[bool]
    verifiable: ClassVar[bool]

    @property
    def sentence(self) -> str: ...

    def check(self, od: ODMatrix) -> None: ...

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release: ...


class Metric(Protocol):
    """Measures a release (`odanon.metrics`); `figures` declares what it tells."""

    @property
    def figures(self) -> "tuple[Figure, ...]": ...

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        """Figures of one matrix, those declared and what `combine` needs."""

    def combine(self, figures: "pd.DataFrame") -> dict[str, float]:
        """Figures of a window from those of its matrices, one row each."""


class DayCheck(Protocol):
    """Looks at a day after one of its stages (`odanon.checks`); a blocking one ends the day, any other warns."""

    stage: ClassVar[str]
    blocking: ClassVar[bool]

    def run(self, day: "CheckedDay") -> "Verdict": ...


class Engine(Protocol):
    """Spreads work (`odanon.engines`)."""

    @property
    def buckets(self) -> int:
        """How many parts a day's people are in."""

    def map(self, task: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]: ...

    def shuffle(
        self, parts: list[Any], read: Callable[[Any], Iterable[Any]], prepare: Callable[[Any], Any], folder: Path
    ) -> "tuple[list[Any], list[Collected]]": ...


class Notifier(Protocol):
    """Tells people of failed runs (`odanon.notifiers`)."""

    def notify(self, alert: "Alert") -> None: ...


class Calibrator(Protocol):
    """Finds how many people each group of agents stands for (`odanon.calibrators`)."""

    def calibrate(self, asked: "System") -> "Calibrated":
        """People of every group, not negative, whose trips and numbers come near the targets; the same for the same system."""


class Placer(Protocol):
    """Gives activities their zones (`odanon.placers`)."""

    def place(self, travellers: "Travellers", matrices: "Matrices") -> "list[npt.NDArray[Any]]":
        """For every entry of `travellers.by_agenda()`, the zones of its agents (rows) at all activities (columns, home first).

        What an agent gets depends on its home, its agenda and its own random numbers alone.
        """


@runtime_checkable
class ChecksItself(Protocol):
    """A notifier that can look whether it could tell anybody, without telling anything (`odanon check --environment`)."""

    def check(self) -> None: ...
