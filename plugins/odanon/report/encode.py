"""Published tables as compact JSON for the report pages: columns of indices, outlines as integer steps.

Only what a reader of the release may see enters here; people appear as bands and nothing finer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.errors import OdanonError
from odanon.model.release import REST
from odanon.model.window import Times

DEGREE_STEPS = 100_000  # outlines are kept to 1e-5 degrees, about a metre
_DAY_TYPES = {"working": "working days", "saturday": "Saturdays", "sunday_holiday": "Sundays, holidays"}
_DETAIL = 1_000  # bends below this fraction of a zone's extent cannot be seen and are dropped


def encode_release(
    flows: pd.DataFrame, zones: pd.DataFrame, timezone: str, told: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The `zones`, `bins`, `spans`, `segments`, `bands` and `flows` that the page's scripts read.

    `told` is what the manifest of a window longer than a day says of its time bins.
    A row of several bins names the first and the one after its last, `spans` what time that is, and `seconds` how long each bin is: the
    page spreads its trips evenly over them. Rows are sorted by bin, segment, origin and destination, and zones by id, so the row order of the
    input does not matter. Zones that no flow uses stay out.
    """
    if flows.empty:
        raise OdanonError("the release has no flows, so there is nothing to report; check the input of this window")
    used = zones_in_use(flows, zones)
    zone_ids = pd.Index(used["zone_id"].astype(str))
    times = _times(flows, timezone, told)
    segment_code, segments = pd.factorize(flows["segment"].astype("str").fillna(""), sort=True)
    bands = _bands(flows["persons_band"])
    columns = pd.DataFrame(
        {
            "bin": times.first,
            **({} if times.spans is None else {"until": times.until, "span": times.span}),
            "segment": segment_code,
            "o": zone_ids.get_indexer(pd.Index(flows["origin_zone"].astype(str))),
            "d": zone_ids.get_indexer(pd.Index(flows["destination_zone"].astype(str))),
            "trips": flows["trips"].round(1).to_numpy(),
            "spread": flows["spread"].round(1).to_numpy(),
            "rest": (flows["kind"] == REST).to_numpy(int),
            "band": pd.Index(bands).get_indexer(pd.Index(flows["persons_band"])),  # -1 where people are not known
        }
    )
    keys = [name for name in ("bin", "until", "segment", "o", "d", "trips", "band") if name in columns]
    columns = columns.sort_values(keys, ignore_index=True)
    if not columns["rest"].any():
        columns = columns.drop(columns=["spread", "rest"])  # of flows alone, what is spread are the trips
    return {
        "zones": encode_zones(used),
        "bins": encode_bins(times.start, timezone, told, times.hours),
        **({"told": True} if told else {}),
        **({} if times.spans is None else {"spans": times.spans, "seconds": times.seconds}),
        "segments": [str(segment) for segment in segments],
        "bands": bands,
        "flows": {name: columns[name].tolist() for name in columns},
    }


@dataclass(frozen=True)
class _Times:
    """The bins in which there are rows, by their starts, and of every row its first bin and the one after its last.

    `hours` are empty where all bins are of one length, or rows do not tell. Where rows are of several bins, `spans` are the stretches of
    time that they are told for, `span` the number of each row's, and `seconds` how long each bin is.
    """

    start: pd.DatetimeIndex
    hours: Sequence[float]
    first: npt.NDArray[np.integer]
    until: npt.NDArray[np.integer]
    spans: list[str] | None = None
    span: npt.NDArray[np.integer] | None = None
    seconds: Sequence[int] = ()


def _times(flows: pd.DataFrame, timezone: str, told: Sequence[Mapping[str, Any]]) -> _Times:
    """The bins are those that the manifest tells, or what lies between two moments at which the time of some row starts or ends."""
    start, end = (pd.to_datetime(flows[name], utc=True) for name in ("time_start", "time_end"))
    bounds = pd.DataFrame({"start": start, "end": end}).drop_duplicates().sort_values(["start", "end"])
    if end.isna().any() or (bounds["end"].iloc[:-1].array <= bounds["start"].iloc[1:].array).all():
        number, starts = pd.factorize(start, sort=True)
        ends = end.groupby(number, sort=True).max()
        return _Times(
            pd.DatetimeIndex(starts), _hours(pd.DatetimeIndex(starts), pd.DatetimeIndex(ends)), number, number + 1
        )
    if told:
        times = Times.of_told(told)
    else:
        edges = pd.DatetimeIndex(pd.concat([start, end]).unique()).sort_values().to_pydatetime()
        times = Times.of(list(pairwise(edges)))
    first = pd.DatetimeIndex(times.start).get_indexer(pd.DatetimeIndex(start))
    last = pd.DatetimeIndex(times.end).get_indexer(pd.DatetimeIndex(end)) + 1
    if (first < 0).any() or (last <= first).any():
        raise OdanonError("rows of the release are of times that its manifest does not tell; run the window again")
    span, spans = pd.factorize(pd.Series(list(zip(first, last, strict=True))), sort=True)
    if told:
        some = [each for each in told if each["days"]]
        labels = [_days_told(some[low:high]) for low, high in spans]
    else:
        zone = ZoneInfo(timezone)
        labels = [_span(times.start[low].astimezone(zone), times.end[high - 1].astimezone(zone)) for low, high in spans]
    with_rows = np.zeros(len(times), dtype=bool)
    for low, high in spans:
        with_rows[low:high] = True
    number = np.append(0, np.cumsum(with_rows))
    starts, ends = (pd.DatetimeIndex(edges)[with_rows] for edges in (times.start, times.end))
    seconds = np.array(times.seconds)[with_rows].tolist()
    return _Times(starts, _hours(starts, ends), number[first], number[last], labels, span, seconds)


def _hours(starts: pd.DatetimeIndex, ends: pd.DatetimeIndex) -> Sequence[float]:
    """How long each time bin is; nothing where all are of one length, or an end is not known."""
    hours = ((ends - starts) / timedelta(hours=1)).to_series().round(2).tolist()
    return hours if len(set(hours)) > 1 and not ends.hasnans else ()


def _told_hours(starts: pd.DatetimeIndex, told: Sequence[Mapping[str, Any]]) -> Sequence[float]:
    """Hours of the clock on all days of each time bin; nothing where all are of one length, or it is not known of some."""

    def clock(text: str) -> float:
        hours, minutes = map(int, text.split(":"))
        return hours + minutes / 60

    known = {
        pd.Timestamp(each["time_bin"]): round((clock(each["until"]) - clock(each["since"])) * each["days"], 2)
        for each in told
        if each["days"]
    }
    hours = [known.get(start, 0.0) for start in starts]
    return hours if len(set(hours)) > 1 and all(hours) else ()


def _span(start: datetime, end: datetime) -> str:
    """A stretch of local time; midnight at its end is 24:00."""
    if start.date() == end.date():
        return f"{start:%H:%M}–{end:%H:%M}"
    if end.time() == time() and end.date() - start.date() == timedelta(days=1):
        return f"{start:%H:%M}–24:00"
    return f"{start:%d %b %H:%M} – {end:%d %b %H:%M}"


def _days_told(bins: Sequence[Mapping[str, Any]]) -> str:
    """What time some bins of a window longer than a day are, in words; of several types of days they are whole days."""
    types = dict.fromkeys(each["day_type"] for each in bins)
    if len(types) > 1:
        return ", ".join(_DAY_TYPES.get(kind, kind) for kind in types)
    return _span_of({**bins[0], "until": bins[-1]["until"]})


def zones_in_use(flows: pd.DataFrame, zones: pd.DataFrame) -> pd.DataFrame:
    """The rows of `zones` that the flows name, each exactly once, sorted by id."""
    names = pd.unique(pd.concat([flows["origin_zone"], flows["destination_zone"]]).astype(str))
    used = zones[zones["zone_id"].astype(str).isin(names)]
    if used["zone_id"].duplicated().any():
        raise OdanonError("the zones table of the report names a zone twice; give each zone one row")
    if len(used) < len(names):
        raise OdanonError(
            f"{len(names) - len(used)} zones of the flows are missing from the zones table of the report;"
            " pass the zones of the same release"
        )
    return used.sort_values("zone_id", key=lambda ids: ids.astype(str), ignore_index=True)


def encode_zones(zones: pd.DataFrame) -> dict[str, Any]:
    """Columns of zones; `rings` holds, for each zone, its rings for an even-odd fill."""
    import shapely

    shapes = np.asarray(zones["geometry"], dtype=object)
    extent = shapely.bounds(shapes)
    diagonal = np.hypot(extent[:, 2] - extent[:, 0], extent[:, 3] - extent[:, 1])
    outlines = shapely.simplify(shapes, np.nan_to_num(diagonal) / _DETAIL)
    return {
        "id": zones["zone_id"].astype(str).tolist(),
        **_names(zones),
        "level": zones["level"].astype(int).tolist(),
        "tiles": zones["n_tiles"].astype(int).tolist(),
        "km2": [float(f"{area:.4g}") for area in zones["area_km2"]],
        "rings": rings_of(outlines),
    }


def _names(zones: pd.DataFrame) -> dict[str, list[str]]:
    """What people call the zones, empty where nobody says; nothing where no zone has a name."""
    if "name" not in zones or zones["name"].isna().all():
        return {}
    return {"name": zones["name"].fillna("").astype(str).tolist()}


def rings_of(outlines: npt.NDArray[np.object_]) -> list[list[list[int]]]:
    """By outline, each ring as [x0, y0, dx, dy, ...] in 1e-5 degrees, without the closing point; all at once, since maps have many."""
    import shapely

    parts, outline = shapely.get_parts(outlines, return_index=True)
    rings, part = shapely.get_rings(parts, return_index=True)
    found, ring = shapely.get_coordinates(rings, return_index=True)
    told: list[list[list[int]]] = [[] for _ in outlines]
    if not len(rings):
        return told
    kept = np.append(ring[1:] == ring[:-1], False)
    points, ring = np.rint(found[kept] * DEGREE_STEPS).astype(np.int64), ring[kept]
    first = np.flatnonzero(np.append(True, ring[1:] != ring[:-1]))
    steps = np.diff(points, axis=0, prepend=0)
    steps[first] = points[first]
    flat, start = steps.ravel().tolist(), (2 * first).tolist()
    for where, since, until in zip(outline[part].tolist(), start, [*start[1:], len(flat)], strict=True):
        told[where].append(flat[since:until])
    return told


def encode_bins(
    starts: pd.DatetimeIndex, timezone: str, told: Sequence[Mapping[str, Any]] = (), hours: Sequence[float] = ()
) -> list[dict[str, Any]]:
    """The start of each time bin in UTC, with a short label in local time that is unique in the list.

    A bin of several days is called by its clock times and the type of its days. `hours` are told where bins are of different lengths.
    """
    if told:
        named = {pd.Timestamp(each["time_bin"]): _span_of(each) for each in told}
        hours = _told_hours(starts, told)
        shown = [
            {"start": f"{start:%Y-%m-%dT%H:%MZ}", "label": named.get(start, f"{start:%d %b %H:%MZ}")}
            for start in starts
        ]
        return [{**each, "hours": long} for each, long in zip(shown, hours, strict=True)] if hours else shown
    local = starts.tz_convert(timezone)
    clock = local.tz_localize(None)  # a midnight that a clock does not show, or shows twice, is none of any zone
    pattern = "%H:%M"
    if clock.normalize().nunique() > 1:
        pattern = "%d %b" if (clock == clock.normalize()).all() else "%d %b %H:%M"
    labels = pd.Series(local.strftime(pattern))
    twice = labels.duplicated(keep=False)  # the repeated hour when summer time ends
    labels = labels.where(~twice, labels + local.strftime(" (UTC%z)"))
    stamps = starts.strftime("%Y-%m-%dT%H:%MZ")
    called = [{"start": start, "label": label} for start, label in zip(stamps, labels, strict=True)]
    return [{**each, "hours": long} for each, long in zip(called, hours, strict=True)] if hours else called


def _span_of(told: Mapping[str, Any]) -> str:
    clock = f"{told['since']}–{told['until']}"
    return clock if told["day_type"] == "all" else f"{_DAY_TYPES.get(told['day_type'], told['day_type'])} {clock}"


def _bands(column: pd.Series) -> list[str]:
    """The bands of people present, smallest first."""

    def first_number(band: str) -> tuple[int, str]:
        digits = "".join(band.replace("+", "-").split("-")[0].split())
        return (int(digits) if digits.isdecimal() else 0, band)

    return sorted(column.dropna().astype(str).unique().tolist(), key=first_number)
