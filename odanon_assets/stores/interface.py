"""What every store can do; the two that exist pass the same tests."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol
from zoneinfo import ZoneInfo

import pandas as pd

from odanon.errors import OdanonError
from odanon.model.when import When
from odanon.model.window import LENGTHS, window_instants, window_start
from odanon.reconstruct.readings import AUTO, EVEN
from odanon_assets.stores.bundle import Bundle

if TYPE_CHECKING:
    from geopandas import GeoDataFrame
    from shapely.geometry.base import BaseGeometry

Gate = Callable[[], None]  # raises when the release must not be published
# What became of a window that was ever published; every other one is open.
Standing = Literal["published", "withdrawn", "purged"]
LEDGER_COLUMNS = (
    "release_id",
    "product",
    "window_start",
    "status",
    "zoning_version",
    "input_sha256",
    "data_sha256",
    "parameters",
    "code_version",
    "manifest_sha256",
)
_EARLIEST, _LATEST = ZoneInfo("Etc/GMT-14"), ZoneInfo("Etc/GMT+12")  # where days begin first and end last
MATRIX_COLUMNS = ("origin", "destination", "low", "estimate", "high", "exact")
PROFILE_COLUMNS = ("time_start", "time_end", "low", "estimate", "high", "exact", "spread_over_hours")
AUDIT_COLUMNS = ("act", "product", "window_start", "release_id", "by_name", "reason")


@dataclass(frozen=True)
class Act:
    """Who does something out of the ordinary, and why; it goes to the audit log."""

    by_name: str
    reason: str

    def __post_init__(self) -> None:
        for value, what in ((self.by_name, "name"), (self.reason, "reason")):
            if not value.strip() or len(value) > 1000 or "\0" in value:
                raise OdanonError(f"this act needs a {what} of 1 to 1000 characters for the audit log")


class Estimate(NamedTuple):
    """An answer and its bounds: published trips that lie wholly inside what was asked, and all that may."""

    low: float
    estimate: float
    high: float
    exact: float | None  # low by estimate; none where the estimate is 0


class Store(Protocol):
    """Where releases are published. A window shows one release or none; readers never see a part of one."""

    @property
    def address(self) -> str:
        """Which store this is, without secrets."""

    def publish(self, bundle: Bundle, gate: Gate, act: Act | None = None) -> bool:
        """Make a release visible; False when exactly this release is published already.

        `gate` is called while the window is locked, right before anything is written. A window that shows or showed
        another release is refused (PRIVACY rule 4) unless an `act` says who replaces it and why.
        """

    def withdraw(self, product: str, window_start: date, act: Act) -> bool:
        """Take back what a window shows: no table, figure or report of it is left for readers, who see that it was.

        The ledger keeps every manifest, and another release may take its place by an `act`. False when the window
        shows nothing, and no withdrawal that was cut off is to be finished.
        """

    def purge(self, product: str, window_start: date, act: Act) -> bool:
        """Delete the tables of a window for good; its manifest stays, and the window stays closed."""

    def released(self, product: str, window_start: date) -> str | None:
        """The id of the release that a window shows, None when it shows none."""

    def window_folder(self, product: str, window_start: date) -> Path | None:
        """Where the files of the release that a window shows lie; None for a store without files."""

    def windows(self, product: str) -> list[str]:
        """Window starts that show a release, in order."""

    def standings(self, product: str) -> dict[str, Standing]:
        """What became of every window of a product that was ever published, by window start."""

    def flows(self, release_id: str) -> pd.DataFrame: ...

    def zones(self, release_id: str) -> "GeoDataFrame": ...

    def report(self, release_id: str) -> str: ...

    def weights(self, release_id: str) -> pd.DataFrame:
        """The weights of the reading fitted (WEIGHT_COLUMNS); no rows where there are none."""

    def tiles(self, release_id: str) -> "GeoDataFrame":
        """The public weights of tiles of the reading prior (TILE_COLUMNS); no rows where there are none."""

    def manifest_text(self, release_id: str) -> str:
        """The manifest as it was sealed."""

    def problems(self, release_id: str) -> list[str]:
        """What no longer agrees with the sealed manifest; empty for an untouched release."""

    def ledger(self) -> pd.DataFrame:
        """Every release ever published: visible, superseded, withdrawn or purged (LEDGER_COLUMNS)."""

    def sharing(self, product: str, data_sha256: str, start: datetime, end: datetime) -> list[dict[str, Any]]:
        """Manifests of all releases ever published that share input with one of [start, end); see `shares_input`."""

    def audit_log(self) -> pd.DataFrame:
        """Every act in order (AUDIT_COLUMNS)."""

    def query(self, sql: str, product: str | None = None, areas: "GeoDataFrame | None" = None) -> pd.DataFrame:
        """The answer to one reading query on flows, zones, releases, metrics, windows (with their standing) and months.

        With a `product`, the views show that one alone. `areas`, by their index, can be read as the table areas (name, geometry).
        The functions flow, matrix and profile answer what the methods of these names do.
        """

    def flow(
        self,
        product: str,
        origin: "BaseGeometry",
        destination: "BaseGeometry",
        when: When,
        reading: str = AUTO,
        segment: str | None = None,
    ) -> Estimate:
        """Estimated trips between two drawn areas in some time, and their bounds.

        `reading` is even, fitted, prior, or auto: of every release the one that its manifest calls the better. One that a
        release was not published with is refused. `segment` takes the rows of one segment; without it, those of all.
        """

    def matrix(
        self, product: str, areas: "GeoDataFrame", when: When, reading: str = AUTO, segment: str | None = None
    ) -> pd.DataFrame:
        """The same of all pairs of areas (by their index) that some row may tell of (MATRIX_COLUMNS)."""

    def profile(
        self,
        product: str,
        origin: "BaseGeometry",
        destination: "BaseGeometry",
        when: When,
        step: timedelta,
        reading: str = AUTO,
        along: str = EVEN,
        segment: str | None = None,
    ) -> pd.DataFrame:
        """The same between two drawn areas in every step of the local clock of which something is published (PROFILE_COLUMNS).

        `spread_over_hours` is the mean length of the rows behind the high one, by trips: where it is longer than the step, the
        estimate spreads them over their time. `along` is even, or surroundings: a flow then follows what is published of its two areas.
        """

    def crosswalk(self, product: str, old: str, new: str) -> pd.DataFrame:
        """How the zones of one zoning version lie in those of another: zone, area, share."""


def zoning_version(manifest: dict[str, Any]) -> str:
    """A short name of the zoning and hierarchy that a release was made with."""
    parameters = manifest.get("parameters", {})
    text = json.dumps({key: parameters.get(key) for key in ("zoning", "hierarchy")}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def window_of(manifest: dict[str, Any]) -> tuple[datetime, datetime]:
    """The instants between which a release's trips depart; without a time zone, its day anywhere on Earth."""
    day, length = date.fromisoformat(manifest["window_start"]), manifest.get("window", "day")
    if length not in LENGTHS:
        raise OdanonError(
            f"{manifest['release_id']} covers a {length}, which this version does not know; install a later one"
        )
    if manifest.get("timezone") is None:
        return window_instants(day, _EARLIEST, length)[0], window_instants(day, _LATEST, length)[1]
    return window_instants(day, ZoneInfo(manifest["timezone"]), length)


def shares_input(manifest: dict[str, Any], product: str, data_sha256: str, start: datetime, end: datetime) -> bool:
    """Whether a release and one of a product and data in [start, end) may count the same trip.

    The same product is taken to be about the same people even if it reads other data now, and so is unknown data.
    """
    first, last = window_of(manifest)
    same = manifest["product"] == product or manifest.get("data_sha256") in (None, data_sha256)
    return same and first < end and start < last


def data_locks(manifest: dict[str, Any]) -> list[str]:
    """Names of locks, in order, of which any two releases of the same data and time have one in common."""
    return [f"{manifest.get('data_sha256')} {day}" for day in day_locks(manifest)]


def day_locks(manifest: dict[str, Any]) -> list[str]:
    """The same of any two releases of the same time: they may have files in common though their data have other names."""
    start, end = window_of(manifest)
    last = (end - timedelta(microseconds=1)).date()
    return [f"{start.date() + timedelta(days=n)}" for n in range((last - start.date()).days + 1)]


def starts_near(start: datetime, end: datetime) -> list[date]:
    """First days of windows, of whatever length and time zone, that can overlap [start, end), in order."""
    first, last = start.date() - timedelta(days=1), end.date() + timedelta(days=1)
    days = (first + timedelta(days=n) for n in range((last - first).days + 1))
    return sorted({window_start(day, length) for day in days for length in LENGTHS})


def ledger_row(manifest: dict[str, Any], status: str) -> tuple[Any, ...]:
    """A release's line in the ledger, in the order of LEDGER_COLUMNS."""
    return (
        manifest["release_id"],
        manifest["product"],
        manifest["window_start"],
        status,
        zoning_version(manifest),
        manifest.get("input_sha256"),
        manifest.get("data_sha256"),
        json.dumps(manifest.get("parameters", {}), sort_keys=True),
        manifest.get("versions", {}).get("odanon"),
        manifest["manifest_sha256"],
    )


def refusal(product: str, window_start: date, current: str) -> OdanonError:
    """The answer to a second, different release of a window."""
    return OdanonError(
        f"{product} {window_start} is already published as {current} and a release is never changed;"
        " `odanon supersede` shows whether a corrected one may take its place"
    )


def taken_back(product: str, window_start: date) -> OdanonError:
    """The answer to a release of a withdrawn window that nobody answers for."""
    return OdanonError(
        f"{product} {window_start} was withdrawn and is not published again by itself;"
        " `odanon supersede` shows whether a corrected release may take its place"
    )


def closed(product: str, window_start: date) -> OdanonError:
    """The answer to a release of a window that was purged, or one that was replaced or withdrawn before."""
    return OdanonError(
        f"{product} {window_start} is closed: this release was superseded, withdrawn or purged, and what was taken"
        " away is never published again"
    )
