"""kepler.gl: a table for its flow layer, and a saved map with the same rows that opens as it is."""

import json
from math import log2
from pathlib import Path
from typing import Any

import pandas as pd

from odanon.tables.spreadsheet import write_csv
from odanon_assets.derived.exports.places import places_and_trips
from odanon_assets.derived.exports.tables import Published

_DATA = "flows"  # the name under which the layer finds its rows
_SCREEN, _WORLD = 800, 512  # pixels of a map on a screen, and of the whole world at zoom 0
_KINDS = {
    "int64": ("integer", "INT", ""),
    "float64": ("real", "FLOAT", ""),
    "time": ("timestamp", "DATETIME", "YYYY-M-D HH:m:s"),
}


def kepler(published: Published, folder: Path) -> None:
    """Write the trips between H3 cells where all zones are such, otherwise between points, and a map of them."""
    import h3

    places, trips = places_and_trips(published)
    ends = trips.rename(columns={"origin": "source", "dest": "target"})
    if places["id"].map(h3.is_valid_cell).all():
        name, rows, mode = "kepler_cells.csv", ends, "H3"
        columns = {"sourceH3": "source", "targetH3": "target"}
    else:
        name, rows, mode = "kepler_points.csv", _between_points(ends, places), "LAT_LNG"
        columns = {"lat0": "source_lat", "lng0": "source_lon", "lat1": "target_lat", "lng1": "target_lon"}
    write_csv(rows, folder / name)
    named = [side if mode == "H3" else f"{side}_name" for side in ("source", "target")]
    names = {"count": "count", "sourceName": named[0], "targetName": named[1]}
    layer = _layer(str(published.manifests[-1]["title"]), mode, {**columns, **names})
    saved = _saved_map(published, rows, layer, _view(places))
    (folder / "kepler.json").write_text(json.dumps(saved, sort_keys=True, ensure_ascii=False), encoding="utf-8")


def _between_points(trips: pd.DataFrame, places: pd.DataFrame) -> pd.DataFrame:
    where = places.set_index("id")
    found = {f"{side}_{axis}": trips[side].map(where[axis]) for side in ("source", "target") for axis in ("lat", "lon")}
    return trips.assign(**found, **{f"{side}_name": trips[side].map(where["name"]) for side in ("source", "target")})


def _layer(label: str, mode: str, columns: dict[str, str]) -> dict[str, Any]:
    """The flow layer as kepler.gl saves it; its looks are those by default, and so is the base map."""
    config = {"dataId": _DATA, "label": label, "columnMode": mode, "columns": columns, "isVisible": True}
    return {"id": _DATA, "type": "flow", "config": {**config, "visConfig": {}}, "visualChannels": {}}


def _view(places: pd.DataFrame) -> dict[str, float]:
    """Where the map looks, so that all places are on the screen."""
    south, north, west, east = (
        float(edge) for axis in ("lat", "lon") for edge in (places[axis].min(), places[axis].max())
    )
    width = max(east - west, north - south, 1e-4)
    zoom = min(max(log2(_SCREEN / _WORLD * 360 / width) - 0.5, 0), 18)
    view = {"latitude": round((south + north) / 2, 6), "longitude": round((west + east) / 2, 6), "zoom": round(zoom, 2)}
    return {**view, "bearing": 0, "pitch": 0}


def _saved_map(
    published: Published, rows: pd.DataFrame, layer: dict[str, Any], view: dict[str, float]
) -> dict[str, Any]:
    told = {name: _KINDS.get(name) or _KINDS.get(str(rows[name].dtype), ("string", "STRING", "")) for name in rows}
    fields = [
        {"name": name, "type": kind, "analyzerType": how, "format": form} for name, (kind, how, form) in told.items()
    ]
    title = published.manifests[-1]["title"]
    data = {
        "id": _DATA,
        "label": title,
        "color": [36, 116, 181],
        "allData": rows.astype(object).where(rows.notna(), None).values.tolist(),
    }
    state = {"visState": {"layers": [layer], "filters": []}, "mapState": view}
    return {
        "datasets": [{"version": "v1", "data": {**data, "fields": fields}}],
        "config": {"version": "v1", "config": state},
        "info": {"app": "kepler.gl", "created_at": "", "title": title, "description": published.product},
    }
