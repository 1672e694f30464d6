"""Published tables as compact JSON for the report pages: columns of indices, outlines as integer steps.

Only what a reader of the release may see enters here; people appear as bands and nothing finer.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from odanon.errors import OdanonError
from odanon.model.release import REST

DEGREE_STEPS = 100_000  # outlines are kept to 1e-5 degrees, about a metre
_DAY_TYPES = {"working": "working days", "saturday": "Saturdays", "sunday_holiday": "Sundays, holidays"}
_DETAIL = 1_000  # bends below this fraction of a zone's extent cannot be seen and are dropped


def encode_release(
    flows: pd.DataFrame, zones: pd.DataFrame, timezone: str, told: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The `zones`, `bins`, `segments`, `bands` and `flows` that the page's scripts read.

    `told` is what the manifest of a window longer than a day says of its time bins.
    Rows are sorted by bin, segment, origin and destination, and zones by id, so the row order of the input
    does not matter. Zones that no flow uses stay out.
    """
    if flows.empty:
        raise OdanonError("the release has no flows, so there is nothing to report; check the input of this window")
    used = zones_in_use(flows, zones)
    zone_ids = pd.Index(used["zone_id"].astype(str))
    starts = pd.to_datetime(flows["time_bin"], utc=True)
    bin_code, bin_starts = pd.factorize(starts, sort=True)
    segment_code, segments = pd.factorize(flows["segment"].astype("str").fillna(""), sort=True)
    bands = _bands(flows["persons_band"])
    columns = pd.DataFrame(
        {
            "bin": bin_code,
            "segment": segment_code,
            "o": zone_ids.get_indexer(pd.Index(flows["origin_zone"].astype(str))),
            "d": zone_ids.get_indexer(pd.Index(flows["destination_zone"].astype(str))),
            "trips": flows["trips"].round(1).to_numpy(),
            "spread": flows["spread"].round(1).to_numpy(),
            "rest": (flows["kind"] == REST).to_numpy(int),
            "band": pd.Index(bands).get_indexer(pd.Index(flows["persons_band"])),  # -1 where people are not known
        }
    ).sort_values(["bin", "segment", "o", "d", "trips", "band"], ignore_index=True)
    if not columns["rest"].any():
        columns = columns.drop(columns=["spread", "rest"])  # of flows alone, what is spread are the trips
    return {
        "zones": encode_zones(used),
        "bins": encode_bins(pd.DatetimeIndex(bin_starts), timezone, told),
        "segments": [str(segment) for segment in segments],
        "bands": bands,
        "flows": {name: columns[name].tolist() for name in columns},
    }


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
        "level": zones["level"].astype(int).tolist(),
        "tiles": zones["n_tiles"].astype(int).tolist(),
        "km2": [float(f"{area:.4g}") for area in zones["area_km2"]],
        "rings": [_rings(outline) for outline in outlines],
    }


def _rings(shape: Any) -> list[list[int]]:
    """Each ring as [x0, y0, dx, dy, ...] in 1e-5 degrees, without the closing point."""
    import shapely

    parts = shapely.get_rings(shapely.get_parts(shape)) if shape is not None else []
    rings = []
    for ring in parts:
        points = np.rint(shapely.get_coordinates(ring)[:-1] * DEGREE_STEPS).astype(np.int64)
        rings.append(np.diff(points, axis=0, prepend=0).ravel().tolist())
    return rings


def encode_bins(
    starts: pd.DatetimeIndex, timezone: str, told: Sequence[Mapping[str, Any]] = ()
) -> list[dict[str, str]]:
    """The start of each time bin in UTC, with a short label in local time that is unique in the list.

    A bin of several days is called by its clock times and the type of its days.
    """
    if told:
        named = {pd.Timestamp(each["time_bin"]): _span_of(each) for each in told}
        return [
            {"start": f"{start:%Y-%m-%dT%H:%MZ}", "label": named.get(start, f"{start:%d %b %H:%MZ}")}
            for start in starts
        ]
    local = starts.tz_convert(timezone)
    pattern = "%H:%M"
    if local.normalize().nunique() > 1:
        pattern = "%d %b" if (local == local.normalize()).all() else "%d %b %H:%M"
    labels = pd.Series(local.strftime(pattern))
    twice = labels.duplicated(keep=False)  # the repeated hour when summer time ends
    labels = labels.where(~twice, labels + local.strftime(" (UTC%z)"))
    stamps = starts.strftime("%Y-%m-%dT%H:%MZ")
    return [{"start": start, "label": label} for start, label in zip(stamps, labels, strict=True)]


def _span_of(told: Mapping[str, Any]) -> str:
    clock = f"{told['since']}–{told['until']}"
    return clock if told["day_type"] == "all" else f"{_DAY_TYPES.get(told['day_type'], told['day_type'])} {clock}"


def _bands(column: pd.Series) -> list[str]:
    """The bands of people present, smallest first."""

    def first_number(band: str) -> tuple[int, str]:
        digits = "".join(band.replace("+", "-").split("-")[0].split())
        return (int(digits) if digits.isdecimal() else 0, band)

    return sorted(column.dropna().astype(str).unique().tolist(), key=first_number)
