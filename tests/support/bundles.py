"""Releases made by hand."""

from datetime import date, timedelta
from typing import Any

import geopandas
import numpy as np
import pandas as pd
from shapely.geometry import MultiPolygon, box

from odanon_assets.derived.exports.omx import OwnZones
from odanon_assets.stores.bundle import FLOW_COLUMNS, Bundle, release_id

DAY = date(2026, 3, 2)


def accept() -> None:
    """A gate that lets everything pass."""


def town_zones(names: list[str], size: float = 1.0, shift: float = 0.0) -> geopandas.GeoDataFrame:
    """A row of squares along the equator."""
    squares = [box(shift + at * size, 0, shift + (at + 1) * size, size) for at in range(len(names))]
    return geopandas.GeoDataFrame(
        {
            "zone_id": pd.array(names, dtype="str"),
            "name": pd.array([None] * len(names), dtype="str"),
            "hierarchy": pd.array(["table"] * len(names), dtype="str"),
            "level": np.ones(len(names), dtype=np.int16),
            "n_tiles": np.arange(1, len(names) + 1),
            "area_km2": np.linspace(0.1, 1 / 3, len(names)),
            "tiles": [[name] if at else None for at, name in enumerate(names)],
        },
        geometry=[MultiPolygon([square]) for square in squares],
        crs="EPSG:4326",
    )


def own_zones() -> OwnZones:
    """Two areas of a reader: the first and a half of those squares, and the other half."""
    areas = geopandas.GeoDataFrame(geometry=[box(0, 0, 1.5, 1), box(1.5, 0, 3, 1)], crs="EPSG:4326")
    return OwnZones(np.array([7, 12], dtype=np.uint32), areas)


def bundle(
    trips: int = 40,
    product: str = "town",
    day: date = DAY,
    rows: int = 3,
    zones: geopandas.GeoDataFrame | None = None,
    segment: str = "all",
    **manifest: Any,
) -> Bundle:
    """A release of `rows` flows among three zones; `trips` makes it another release."""
    zones = town_zones(["z1", "z2", "z3"]) if zones is None else zones
    name = release_id(product, day, {"trips": trips, "rows": rows, **manifest})
    n = len(zones)
    at = np.arange(rows)
    start = pd.Timestamp(day, tz="UTC")
    flows = pd.DataFrame(
        {
            "product": product,
            "window_start": day,
            "time_start": [start + timedelta(minutes=int(m)) for m in at // (n * n)],
            "time_end": [start + timedelta(minutes=int(m) + 1) for m in at // (n * n)],
            "segment": segment,
            "origin_zone": zones["zone_id"].to_numpy()[at % n],
            "destination_zone": zones["zone_id"].to_numpy()[(at // n + 1) % n],
            "kind": "flow",
            "trips": trips + at,
            "spread": (trips + at).astype(float),
            "spread_fitted": np.nan,
            "spread_prior": np.nan,
            "persons_band": np.where(at % 2, "20+", "10-19"),
            "release_id": name,
        }
    )[list(FLOW_COLUMNS)]
    flows = flows.astype(dict.fromkeys(("time_start", "time_end"), "datetime64[us, UTC]"))
    facts = {
        "release_id": name,
        "product": product,
        "window_start": day.isoformat(),
        "timezone": "UTC",
        "title": "Trips in the town",
        "owner": "team",
        "licence": "CC-BY-4.0",
        "parameters": {"k": 10, "zoning": {"plugin": "table"}, "hierarchy": {"plugin": "table"}},
        "metrics": {"flows": float(rows), "persons_min_band": "10-19"},
        "input_sha256": "0" * 64,
        "versions": {"odanon": "0.1.0"},
        "verifier": "passed",
    }
    return Bundle(product, day, name, flows, zones, "<p>a report — «тест»</p>", {**facts, **manifest})
