"""The datapackage.json of an export (Frictionless Data Package): licence, files, fields and what they mean."""

from pathlib import Path
from typing import Any

from odanon_assets.lake.files import sha256

_FLOW_FIELDS = (
    ("product", "string", "Name of the data product."),
    ("window_start", "date", "First local day of the window that the release covers."),
    ("time_bin", "datetime", "Start of the time bin of departure, in UTC."),
    ("segment", "string", "Part of the population; all: everybody, in a flow that is not split."),
    ("origin_zone", "string", "Zone where the trips start."),
    ("destination_zone", "string", "Zone where the trips end."),
    ("trips", "integer", "Number of trips; of a release about the population, its estimate."),
    ("persons_band", "string", "Band of the number of people behind the flow."),
    ("release_id", "string", "Name of the release."),
)
_ZONE_FIELDS = (
    ("release_id", "string", "Name of the release."),
    ("zone_id", "string", "Name of the zone."),
    ("hierarchy", "string", "Kind of hierarchy the zone is a node of."),
    ("level", "integer", "Level of the node in its hierarchy; the root has the lowest."),
    ("n_tiles", "integer", "Number of tiles in the zone."),
    ("area_km2", "number", "Ground area in square kilometres."),
    ("tiles", "array", "Member tiles; empty when they are too many to list."),
    ("geometry", "any", "Outline in EPSG:4326 (WKT in CSV)."),
)
_MEDIA_TYPES = {
    ".parquet": "application/vnd.apache.parquet",
    ".csv": "text/csv",
    ".gpkg": "application/geopackage+sqlite3",
    ".json": "application/json",
}


def describe(folder: Path, manifests: list[dict[str, Any]]) -> dict[str, Any]:
    """The description of everything in a folder; it carries no date, so that the same export has the same bytes."""
    newest = manifests[-1]
    licence = newest["licence"]
    return {
        "profile": "data-package",
        "name": newest["product"],
        "title": newest["title"],
        "description": f"Origin-destination flows of {manifests[0]['window_start']} to {newest['window_start']};"
        f" {newest.get('promise', 'see releases.json for the promise')}.",
        "licenses": [{"name": licence, "path": f"https://spdx.org/licenses/{licence}.html"}],
        "contributors": [{"title": newest["owner"], "role": "publisher"}],
        "resources": [_resource(path) for path in sorted(folder.iterdir())],
    }


def _resource(path: Path) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "name": path.name.replace(".", "-"),
        "path": path.name,
        "format": path.suffix[1:],
        "mediatype": _MEDIA_TYPES[path.suffix],
        "bytes": path.stat().st_size,
        "hash": f"sha256:{sha256(path)}",
    }
    if path.suffix == ".json":
        return {**resource, "description": "The sealed manifests of the releases: parameters, digests, verdicts."}
    if path.suffix == ".gpkg":
        return {**resource, "description": "Layers zones and desire_lines, and the table flows."}
    fields, key = (_FLOW_FIELDS, _FLOW_KEY) if path.stem == "flows" else (_ZONE_FIELDS, ["release_id", "zone_id"])
    schema: dict[str, Any] = {
        "fields": [{"name": name, "type": kind, "description": meaning} for name, kind, meaning in fields],
        "primaryKey": key,
        "missingValues": [""],
    }
    if path.stem == "flows":
        zones = path.name.replace("flows", "zones").replace(".", "-")
        schema["foreignKeys"] = [
            {"fields": ["release_id", side], "reference": {"resource": zones, "fields": ["release_id", "zone_id"]}}
            for side in ("origin_zone", "destination_zone")
        ]
    return {**resource, "profile": "tabular-data-resource", "encoding": "utf-8", "schema": schema}


_FLOW_KEY = ["release_id", "time_bin", "segment", "origin_zone", "destination_zone"]
