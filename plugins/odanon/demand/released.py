"""Trips of a typical day between a modeller's own zones, from what a product has published of a month (DEMAND, From a release to travellers).

Published rows alone come in, so nothing is learnt of anybody that readers of the release do not know. The matrix of every published window is
spread over the zones by one of its readings, and the mean over days is taken after that: areas that rows are told of change from day to day, so
that sums of rows by area would be lower bounds. A pair of zones gets

    v_t(o, d) = 1 / days_t * sum over rows: trips x (part of the row's time in step t) x w(o | origin area) x w(d | destination area)

with w by ground (even), fitted weights, or public ones (prior). The sum of a step is that of the published trips of its time, as far as they
lie in the zones; what a release suppresses is missing from it.

A pair without published trips is not a pair without trips. Where a row tells of coarse areas, its trips are spread over all pairs inside by the
reading, so that the flow of the parent area is in v already. What no row tells of at all is added where places are drawn
(`Matrices.smoothed`): a small share of each step, spread by what leaves and enters zones.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.client.publications import PublishedProduct
from odanon.client.spreading import TIMES, Areas, Floats, Window
from odanon.errors import OdanonError
from odanon.model.when import When, clock_of, month_of
from odanon.model.when.clock import pieces_of, span_of
from odanon.model.when.question import WORKING
from odanon.model.when.shares import AskedTime, Steps, days_behind, microseconds
from odanon.reconstruct.readings import AUTO, checked_reading

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

_WHOLE = 1 - 1e-9  # of the time of a row
_ALL = 0.995  # of the published trips, as far as people care
_MOST_OVERLAP = 0.01  # of the ground of zones: more than borders that were drawn twice


@dataclass(frozen=True, eq=False)
class Released:
    """A typical day, and what it was made from."""

    od: pd.DataFrame  # step, origin, destination, trips; pairs without any are left out
    days: Floats  # that the mean of each step is over
    published: Floats  # trips of each step in such a day, wherever they were made
    beyond: Floats  # those of them that rows tell whose time reaches beyond the step
    releases: dict[date, str]  # by the start of their windows
    readings: list[str]  # of them

    @property
    def inside(self) -> float:
        """The part of the published trips that lies in the zones."""
        return float(self.od["trips"].sum() / self.published.sum()) if self.published.any() else 1.0

    @property
    def told(self) -> dict[str, Any]:
        """Where it comes from, as values for JSON."""
        return {
            "releases": sorted(self.releases.values()),
            "readings": self.readings,
            "days": [float(days) for days in self.days],
            "share outside the zones": max(0.0, round(1 - self.inside, 6)),
            "share of rows beyond steps": float(self.beyond.sum() / max(self.published.sum(), 1.0)),
            "notes": self.notes,
        }

    @property
    def notes(self) -> list[str]:
        """What whoever uses the table should know of it, in sentences."""
        told = []
        if some := int((self.beyond > 0).sum()):
            told.append(
                f"{some} of {len(self.days)} steps have trips of rows that reach beyond the step,"
                f" {self.beyond.sum() / self.published.sum():.0%} of all; these are shared out by duration"
            )
        if self.inside < _ALL:
            told.append(f"{1 - self.inside:.0%} of the published trips lie outside the zones and are left out")
        return told


def od_of(
    product: PublishedProduct,
    month: str,
    zones: "GeoDataFrame",
    steps: Sequence[str],
    reading: str = AUTO,
    days: str | None = WORKING,
    holidays: Collection[date] = (),
) -> pd.DataFrame:
    """The table `od` (step, origin, destination, trips) of a month such as 2026-03; the arguments are those of `released`."""
    return released(product, month, zones, steps, reading, days, holidays).od


def released(
    product: PublishedProduct,
    month: str,
    zones: "GeoDataFrame",
    steps: Sequence[str],
    reading: str = AUTO,
    days: str | None = WORKING,
    holidays: Collection[date] = (),
) -> Released:
    """A typical day of a month: the mean over its published days of one type (`working` unless told; None takes all).

    `zones` has the column `zone` and outlines; `steps` are the clock times at which steps start, on the clock of the product. A published bin
    inside a step adds to it, one that reaches into others is shared out by duration. Where windows are days, no release
    tells which are holidays: name them under `holidays`, and they are left out.
    """
    checked_reading(reading)
    areas, times = _areas(zones), _Times.of(steps, When(*month_of(month, product.timezone), days))
    sums = np.zeros((len(steps), len(areas.names), len(areas.names)))
    behind, published, beyond = np.zeros((3, len(steps)))
    read: dict[date, tuple[str, str]] = {}
    for manifest in times.manifests(product, holidays):
        window = Window.of(product, manifest, reading, areas)
        parts = times.parts(manifest, window.rows)
        trips = window.rows["trips"].to_numpy()[:, None] * parts
        behind += times.days(manifest)
        published += trips.sum(axis=0)
        beyond += np.where(parts < _WHOLE, trips, 0.0).sum(axis=0)
        for step in np.flatnonzero(parts.any(axis=0)):
            sums[step] += window.between(parts[:, step])
        read[date.fromisoformat(manifest["window_start"])] = manifest["release_id"], window.reading
    if not behind.any():
        what = f"no {days} day" if days else "nothing"
        raise OdanonError(
            f"{product.name} has published {what} of {month}; its `months()` are those that have something"
        )
    mean = np.where(behind > 0, behind, 1.0)
    return Released(
        _table(sums / mean[:, None, None], areas.names),
        behind,
        published / mean,
        beyond / mean,
        {start: release for start, (release, _) in read.items()},
        sorted({how for _, how in read.values()}),
    )


def releases_of(
    product: PublishedProduct, month: str, days: str | None = WORKING, holidays: Collection[date] = ()
) -> dict[date, str]:
    """The releases that such a day is made from, by the start of their windows; a release never changes."""
    times = _Times.of(["00:00"], When(*month_of(month, product.timezone), days))
    found = times.manifests(product, holidays)
    return {date.fromisoformat(manifest["window_start"]): manifest["release_id"] for manifest in found}


def _areas(zones: "GeoDataFrame") -> Areas:
    if getattr(zones, "geometry", None) is None:
        raise OdanonError("the zones have no outlines, over which published trips are spread; give them as polygons")
    areas = Areas(zones.set_index("zone").geometry)
    if (twice := areas.overlap) > _MOST_OVERLAP:
        raise OdanonError(
            f"the zones lie over each other on {twice:.0%} of their ground, where trips would count twice; give zones that lie side by side"
        )
    return areas


def _table(trips: Floats, names: npt.NDArray[Any]) -> pd.DataFrame:
    # Rows inside a rest take away what the rest would put there: floating numbers leave a trace, also below zero.
    floor = 1e-12 * trips.max(initial=0.0)
    step, origin, destination = np.nonzero(trips > floor)
    columns = {"step": step, "origin": names[origin], "destination": names[destination]}
    table = pd.DataFrame({**columns, "trips": trips[step, origin, destination]})
    return table.astype({"origin": "str", "destination": "str"})


@dataclass(frozen=True, eq=False)
class _Times:
    """The steps of a day as questions about the time of releases."""

    month: When
    steps: list[When]

    @classmethod
    def of(cls, steps: Sequence[str], month: When) -> "_Times":
        if not steps or [*steps] != sorted({*steps}):
            raise OdanonError("the steps are not clock times one after the other; write them as 05:00, each once")
        spans = [clock_of(f"{first}-{last}") for first, last in zip(steps, [*steps[1:], steps[0]], strict=True)]
        return cls(month, [When(month.since, month.until, month.days, span) for span in spans])

    @cached_property
    def _span(self) -> Steps:
        since, until = (np.array([microseconds(at)], dtype=np.int64) for at in (self.month.since, self.month.until))
        return since, until

    def manifests(self, product: PublishedProduct, holidays: Collection[date]) -> list[dict[str, Any]]:
        """Those of the releases that tell of days that are asked for."""
        return [manifest for manifest in product.manifests() if self._has_some_of(manifest, holidays)]

    def _has_some_of(self, manifest: Mapping[str, Any], holidays: Collection[date]) -> bool:
        start, end = span_of(manifest)
        if end <= self.month.since or start >= self.month.until:
            return False
        if manifest.get("window", "day") == "day" and date.fromisoformat(manifest["window_start"]) in holidays:
            return False
        return bool(AskedTime.of(pieces_of(manifest), self.month).between(*self._span)[0] > 0)

    def days(self, manifest: Mapping[str, Any]) -> Floats:
        """How many days a release tells of in each step."""
        pieces = pieces_of(manifest)
        return np.array([days_behind(pieces, when, self._span)[0] for when in self.steps])

    def parts(self, manifest: Mapping[str, Any], rows: pd.DataFrame) -> Floats:
        """Which part of the time of every row lies in each step."""
        pieces, number = pieces_of(manifest), rows.groupby(TIMES, sort=True).ngroup()
        times = rows[TIMES].drop_duplicates().sort_values(TIMES)
        start, end = (times[name].to_numpy("datetime64[us]").astype(np.int64) for name in TIMES)
        found = np.zeros((len(times), len(self.steps)))
        for step, when in enumerate(self.steps):
            at, _, share, _ = AskedTime.of(pieces, when).shares(start, end, self._span)
            found[at, step] = share
        return found[number]
