"""The datapackage.json (Frictionless Data Package) of an export; it carries no date, so that the same export has the same bytes."""

from pathlib import Path
from typing import Any

from odanon_assets.derived.exports.fields import CLOCKS, MEANINGS, MEDIA_TYPES, REFERENCES, TABLES
from odanon_assets.lake.files import sha256

NAME = "datapackage.json"


def described(folder: Path, manifests: list[dict[str, Any]]) -> dict[str, Any]:
    """What is in a folder, from the manifests of the releases that it was made from."""
    newest = manifests[-1]
    licence = newest["licence"]
    return {
        "profile": "data-package",
        "name": newest["product"],
        "title": newest["title"],
        "description": description(manifests),
        "licenses": [{"name": licence, "path": licence_page(licence)}],
        "contributors": [{"title": newest["owner"], "role": "publisher"}],
        "resources": [_resource(path) for path in sorted(folder.iterdir())],
    }


def description(manifests: list[dict[str, Any]]) -> str:
    """One sentence for people: what, when, and what is promised."""
    first, newest = manifests[0], manifests[-1]
    return (
        f"Origin-destination flows of {first['window_start']} to {newest['window_start']};"
        f" {newest.get('promise', 'see releases.json for the promise')}."
    )


def licence_page(licence: str) -> str:
    """Where a licence with an SPDX identifier can be read."""
    return f"https://spdx.org/licenses/{licence}.html"


def _resource(path: Path) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "name": path.name.replace(".", "-"),
        "path": path.name,
        "format": path.suffix[1:],
        "mediatype": MEDIA_TYPES[path.suffix],
        "bytes": path.stat().st_size,
        "hash": f"sha256:{sha256(path)}",
    }
    if path.stem not in TABLES or path.name in MEANINGS:
        return {**resource, "description": MEANINGS.get(path.name) or MEANINGS[path.suffix]}
    fields, key = TABLES[path.stem]
    schema: dict[str, Any] = {
        "fields": [_field(path, *field) for field in fields],
        "primaryKey": key,
        "missingValues": [""],
    }
    if path.stem in REFERENCES:
        table, columns, there = REFERENCES[path.stem]
        named = f"{table}{path.suffix}".replace(".", "-")
        schema["foreignKeys"] = [
            {"fields": here, "reference": {"resource": named, "fields": there}} for here in columns
        ]
    return {**resource, "profile": "tabular-data-resource", "encoding": "utf-8", "schema": schema}


def _field(path: Path, name: str, kind: str, meaning: str) -> dict[str, str]:
    written = {"format": CLOCKS[name]} if name in CLOCKS and path.suffix == ".csv" else {}
    return {"name": name, "type": kind, "description": meaning, **written}
