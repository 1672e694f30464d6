"""Digests of a release that do not depend on a file format, and the manifest they seal.

A table's digest covers every value in order, as Arrow keeps it in memory, so that rows read back from a database
and rows read from a file have the same one.
"""

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from odanon_assets.lake.files import to_json
from odanon_assets.stores.bundle import FLOW_COLUMNS, ZONE_COLUMNS, Bundle

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

SEAL = "manifest_sha256"
_FLOW_TYPES = {"window_start": pa.date32(), "time_bin": pa.timestamp("us", tz="UTC"), "trips": pa.int64()}
FLOW_SCHEMA = pa.schema([(name, _FLOW_TYPES.get(name, pa.large_string())) for name in FLOW_COLUMNS])


def sealed_manifest(bundle: Bundle, files: dict[str, str] | None = None) -> str:
    """The manifest's text with the digests of what was published and, last, its own."""
    manifest = {**bundle.manifest, "content": content_digests(bundle.flows, bundle.zones, bundle.report)}
    if files is not None:
        manifest["files"] = files
    return to_json({**manifest, SEAL: seal_of(manifest)})


def seal_of(manifest: dict[str, Any]) -> str:
    """The digest of a manifest, its own seal left out."""
    rest = {key: value for key, value in manifest.items() if key != SEAL}
    return hashlib.sha256(to_json(rest).encode()).hexdigest()


def content_digests(flows: pd.DataFrame, zones: "GeoDataFrame", report: str) -> dict[str, str]:
    """One digest for each of a release's three parts."""
    return {
        "flows": flows_digest(flows),
        "zones": hashlib.sha256(b"".join(zone_digests(zones))).hexdigest(),
        "report": hashlib.sha256(report.encode()).hexdigest(),
    }


def flows_digest(flows: pd.DataFrame) -> str:
    """Every value of the flows, column by column."""
    digest = hashlib.sha256(len(flows).to_bytes(8, "little"))
    table = pa.Table.from_pandas(flows[list(FLOW_COLUMNS)], schema=FLOW_SCHEMA, preserve_index=False)
    for column in table.columns:
        values = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        digest.update(values.is_null().cast(pa.uint8()).to_numpy())
        if pa.types.is_large_string(values.type):
            filled = values.fill_null("")
            _, offsets, texts = filled.buffers()
            ends = np.frombuffer(offsets, dtype="<i8", count=filled.offset + len(filled) + 1)[filled.offset :]
            digest.update(np.diff(ends).tobytes())
            digest.update(memoryview(texts or b"")[ends[0] : ends[-1]])
        else:
            width = pa.int32() if pa.types.is_date32(values.type) else pa.int64()
            digest.update(values.cast(width).to_numpy())
    return digest.hexdigest()


def zone_digests(zones: "GeoDataFrame") -> list[bytes]:
    """One digest a zone: the same area under the same name has the same one in every release."""
    plain = zones[list(ZONE_COLUMNS[:-1])].itertuples(index=False, name=None)
    shapes = zones.geometry.to_wkb()
    return [
        hashlib.sha256(json.dumps(_plain(values)).encode() + b"\n" + (shape or b"")).digest()
        for values, shape in zip(plain, shapes, strict=True)
    ]


def _plain(values: tuple[Any, ...]) -> list[Any]:
    zone_id, hierarchy, level, n_tiles, area_km2, tiles = values
    members = None if tiles is None else list(tiles)
    return [zone_id, hierarchy, int(level), int(n_tiles), float(area_km2), members]
