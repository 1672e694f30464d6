"""Releases as files for others, with a datapackage.json and a DCAT record that explain them; `exports/` has the formats.

The same releases give the same bytes, from either store.
"""

from collections.abc import Callable
from datetime import date
from enum import StrEnum
from functools import partial
from pathlib import Path

from odanon.errors import OdanonError
from odanon_assets.derived.exports import datapackage, dcat
from odanon_assets.derived.exports.flowmap import flowmap
from odanon_assets.derived.exports.geopackage import geopackage
from odanon_assets.derived.exports.kepler import kepler
from odanon_assets.derived.exports.omx import OwnZones, omx
from odanon_assets.derived.exports.plain import csv, geojson, geoparquet
from odanon_assets.derived.exports.tables import Published, read_published
from odanon_assets.derived.folders import Derived
from odanon_assets.lake.files import to_json
from odanon_assets.lake.places import default_root
from odanon_assets.stores.interface import Store


class Format(StrEnum):
    """What an export can be made of."""

    geoparquet = "geoparquet"
    csv = "csv"
    gpkg = "gpkg"
    geojson = "geojson"
    flowmap = "flowmap"
    kepler = "kepler"
    omx = "omx"


_WRITERS: dict[Format, Callable[[Published, Path], None]] = {
    Format.geoparquet: geoparquet,
    Format.csv: csv,
    Format.gpkg: geopackage,
    Format.geojson: geojson,
    Format.flowmap: flowmap,
    Format.kepler: kepler,
}


def export(
    store: Store,
    product: str,
    out: Path,
    formats: list[Format],
    first: date | None,
    last: date | None,
    zones: OwnZones | None = None,
) -> int:
    """Write the visible releases of a product whose windows lie in [first, last]; how many there are.

    `zones` are those of the matrices of the format omx, which cannot be without.
    """
    if out.exists() and any(out.iterdir()):
        raise OdanonError(f"{out} is not empty; give a new folder, so that nothing is overwritten")
    windows = [date.fromisoformat(day) for day in store.windows(product)]
    chosen = [day for day in windows if (first is None or day >= first) and (last is None or day <= last)]
    found = {day: store.released(product, day) for day in chosen}
    shown = {day: release for day, release in found.items() if release is not None}
    if not shown:
        raise OdanonError(f"{product} has no published window in that range; `odanon summary {product}` shows them")
    published = read_published(store, product, list(shown.values()))
    with Derived(default_root()).elsewhere(store, product, out, shown) as folder:
        for kind in formats:
            _writer(kind, store, zones)(published, folder)
        (folder / "releases.json").write_text(to_json(published.manifests), encoding="utf-8")
        package = datapackage.described(folder, published.manifests)
        (folder / datapackage.NAME).write_text(to_json(package), encoding="utf-8")
        record = dcat.record(package, published.manifests, published.zones)
        (folder / dcat.NAME).write_text(to_json(record), encoding="utf-8")
    return len(shown)


def _writer(kind: Format, store: Store, zones: OwnZones | None) -> Callable[[Published, Path], None]:
    if kind != Format.omx:
        return _WRITERS[kind]
    if zones is None:
        raise OdanonError("the format omx is about zones of your own; give their file with --areas and --id")
    return partial(omx, store, zones)
