"""What seals a release, and whether the release is still what was sealed; works offline, on a folder or through a store.

The manifest names digests that do not depend on a file format. A table's digest covers every value in order, as Arrow
keeps it in memory, so that rows read back from a database and rows read from a file have the same one.
"""

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from odanon.errors import OdanonError
from odanon.geo.ownfiles import read_outlines
from odanon.model.release import FLOW
from odanon.reconstruct.prior import no_tiles
from odanon.reconstruct.readings import TILE_COLUMNS, WEIGHT_COLUMNS
from odanon.reconstruct.weights import no_weights
from odanon_assets.lake.files import sha256, to_json
from odanon_assets.stores.bundle import FLOW_COLUMNS, ZONE_COLUMNS, Bundle

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

MANIFEST = "release.json"
WEIGHTS = "weights.parquet"  # where a release offers the reading fitted
TILES = "tiles.parquet"  # where it offers the reading prior
_PARTS = {"flows.parquet", "zones.parquet", "report.html"}
SEAL = "manifest_sha256"
NAMED = "named"  # in manifests of releases that have names of zones
_FLOW_TYPES = {
    "window_start": pa.date32(),
    "time_start": pa.timestamp("us", tz="UTC"),
    "time_end": pa.timestamp("us", tz="UTC"),
    "trips": pa.int64(),
    "spread": pa.float64(),
    "spread_fitted": pa.float64(),
    "spread_prior": pa.float64(),
}
_OF_RESTS = ("kind", "spread")
_OF_READINGS = ("spread_fitted", "spread_prior")
_LATER = (*_OF_READINGS, "time_end")  # columns without a value in releases that are older than they are
_WEIGHT_TYPES = {"time_bin": pa.timestamp("us", tz="UTC"), "weight": pa.float64()}
Parts = tuple[pd.DataFrame, "GeoDataFrame", str, pd.DataFrame, "GeoDataFrame"]
FLOW_SCHEMA = pa.schema([(name, _FLOW_TYPES.get(name, pa.large_string())) for name in FLOW_COLUMNS])
_WEIGHT_SCHEMA = pa.schema([(name, _WEIGHT_TYPES.get(name, pa.large_string())) for name in WEIGHT_COLUMNS])


def sealed_manifest(bundle: Bundle, files: dict[str, str] | None = None) -> str:
    """The manifest's text with the digests of what was published and, last, its own."""
    manifest = {
        **bundle.manifest,
        "content": content_digests(bundle.flows, bundle.zones, bundle.report, bundle.weights, bundle.tiles),
    }
    if bundle.zones["name"].notna().any():
        manifest[NAMED] = True
    if files is not None:
        manifest["files"] = files
    return to_json({**manifest, SEAL: seal_of(manifest)})


def seal_of(manifest: dict[str, Any]) -> str:
    """The digest of a manifest, its own seal left out."""
    rest = {key: value for key, value in manifest.items() if key != SEAL}
    return hashlib.sha256(to_json(rest).encode()).hexdigest()


def content_digests(
    flows: pd.DataFrame, zones: "GeoDataFrame", report: str, weights: pd.DataFrame, tiles: "GeoDataFrame"
) -> dict[str, str]:
    """One digest for each of a release's parts; weights and tiles are parts where there are any."""
    weighed = pa.Table.from_pandas(weights[list(WEIGHT_COLUMNS)], schema=_WEIGHT_SCHEMA, preserve_index=False)
    return {
        "flows": flows_digest(flows),
        "zones": hashlib.sha256(b"".join(zone_digests(zones))).hexdigest(),
        "report": hashlib.sha256(report.encode()).hexdigest(),
        **({"weights": _digest(weighed)} if len(weights) else {}),
        **({"tiles": hashlib.sha256(b"".join(_tile_digests(tiles))).hexdigest()} if len(tiles) else {}),
    }


def flows_digest(flows: pd.DataFrame) -> str:
    """Every value of the flows, column by column; of what was published before there were rests, readings or ends, what there was then."""
    table = pa.Table.from_pandas(flows[list(FLOW_COLUMNS)], schema=FLOW_SCHEMA, preserve_index=False)
    if (flows["kind"] == FLOW).all() and (flows["spread"] == flows["trips"]).all():
        table = table.drop_columns(list(_OF_RESTS))
    return _digest(table.drop_columns([name for name in _LATER if flows[name].isna().all()]))


def _digest(table: pa.Table) -> str:
    """Every value of a table, column by column."""
    digest = hashlib.sha256(len(table).to_bytes(8, "little"))
    for column in table.columns:
        values = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        digest.update(values.is_null().cast(pa.uint8()).to_numpy())
        if pa.types.is_large_string(values.type):
            filled = values.fill_null("")
            _, offsets, texts = filled.buffers()
            ends = np.frombuffer(offsets, dtype="<i8", count=filled.offset + len(filled) + 1)[filled.offset :]
            digest.update(np.diff(ends).tobytes())
            digest.update(memoryview(texts or b"")[ends[0] : ends[-1]])
        elif pa.types.is_floating(values.type):
            digest.update(values.fill_null(0.0).to_numpy().tobytes())
        else:
            width = pa.int32() if pa.types.is_date32(values.type) else pa.int64()
            digest.update(values.cast(width).to_numpy())
    return digest.hexdigest()


def zone_digests(zones: "GeoDataFrame") -> list[bytes]:
    """One digest a zone: the same area under the same id and name has the same one in every release."""
    plain = zones[list(ZONE_COLUMNS[:-1])].itertuples(index=False, name=None)
    shapes = zones.geometry.to_wkb()
    return [
        hashlib.sha256(json.dumps(_plain(values)).encode() + b"\n" + (shape or b"")).digest()
        for values, shape in zip(plain, shapes, strict=True)
    ]


def _tile_digests(tiles: "GeoDataFrame") -> list[bytes]:
    rows = zip(*(tiles[name] for name in TILE_COLUMNS[:-1]), shape_digests(tiles), strict=True)
    return [
        hashlib.sha256(json.dumps([tile, list(zones), leaving, entering]).encode() + shape).digest()
        for tile, zones, leaving, entering, shape in rows
    ]


def shape_digests(tiles: "GeoDataFrame") -> list[bytes]:
    """One digest a tile: the same one wherever it has the same name and ground."""
    named = zip(tiles["tile"], tiles.geometry.to_wkb(), strict=True)
    return [hashlib.sha256(str(tile).encode() + b"\n" + shape).digest() for tile, shape in named]


def _plain(values: tuple[Any, ...]) -> list[Any]:
    zone_id, name, hierarchy, level, n_tiles, area_km2, tiles = values
    members = None if tiles is None else list(tiles)
    told = [zone_id, hierarchy, int(level), int(n_tiles), float(area_km2), members]
    return (
        told if pd.isna(name) else [*told, name]
    )  # zones without a name have the digest that they had before there were any


def folder_problems(folder: Path) -> list[str]:
    """What differs between the files of a release's folder and its manifest; one changed byte is found."""
    path = folder / MANIFEST
    if not path.is_file():
        raise OdanonError(f"{folder} holds no {MANIFEST}; give the folder of a release")
    manifest, problems = read_sealed(path.read_bytes())
    if problems:
        return problems
    named = manifest.get("files", {})
    found = {entry.name for entry in folder.iterdir()} - {MANIFEST}
    problems = [f"{name} is missing" for name in sorted(named.keys() - found)]
    problems += [f"{name} is not part of the release" for name in sorted(found - named.keys())]
    problems += [f"{name} was changed" for name in sorted(named.keys() & found) if sha256(folder / name) != named[name]]
    if problems or not named.keys() >= _PARTS:
        return problems or ["the manifest does not name all files of a release"]
    return content_problems(manifest, read_parts(folder))


def refuse_unsealed(folder: Path) -> None:
    """Say what a folder is that nobody ever sealed: its manifest names neither a seal nor what there would be to seal."""
    try:
        told = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return  # `folder_problems` says what is wrong with it
    if isinstance(told, dict) and not told.keys() & {SEAL, "content", "files"}:
        raise OdanonError(
            f"{folder} has no seal; it is no published release: `odanon anonymize` and trials write such folders, and a store"
            " seals what it publishes"
        )


def read_parts(folder: Path) -> Parts:
    """Flows, zones, report, weights and tiles from the files of a release."""
    flows = with_all_columns(pd.read_parquet(folder / "flows.parquet"))
    zones = with_names(read_outlines(folder / "zones.parquet"))
    weights = pd.read_parquet(folder / WEIGHTS) if (folder / WEIGHTS).is_file() else no_weights()
    tiles = read_outlines(folder / TILES) if (folder / TILES).is_file() else no_tiles()
    return flows, zones, (folder / "report.html").read_text(encoding="utf-8"), weights, tiles


def with_names(zones: "GeoDataFrame") -> "GeoDataFrame":
    """The zones of a file, which has no column of names where none has one, or is older than names."""
    if "name" not in zones:
        zones.insert(1, "name", pd.Series(None, zones.index, dtype="str"))
    return zones


def with_all_columns(flows: pd.DataFrame) -> pd.DataFrame:
    """The flows of a file, which says nothing of rests, readings or ends of bins if it is older than they are."""
    flows = flows.rename(columns={"time_bin": "time_start"})
    old = {"kind": pd.Series(FLOW, flows.index, dtype="str"), "spread": flows["trips"].astype(float)}
    old |= dict.fromkeys(_OF_READINGS, np.nan)
    old["time_end"] = pd.Series(pd.NaT, flows.index, dtype="datetime64[us, UTC]")
    return flows.assign(**{name: value for name, value in old.items() if name not in flows})[list(FLOW_COLUMNS)]


def read_sealed(text: bytes) -> tuple[dict[str, Any], list[str]]:
    """A manifest and what is wrong with its seal."""
    try:
        manifest = json.loads(text.decode())
        whole = manifest.get(SEAL) == seal_of(manifest) and to_json(manifest).encode() == text
    except (ValueError, AttributeError):
        return {}, ["the manifest is not readable"]
    return manifest, [] if whole else ["the manifest was changed"]


def content_problems(manifest: dict[str, Any], parts: Parts) -> list[str]:
    """Which of a release's parts no longer have the digests that the manifest names."""
    found, named = content_digests(*parts), manifest["content"]
    return [f"the {part} were changed" for part in {**named, **found} if named.get(part) != found.get(part)]
