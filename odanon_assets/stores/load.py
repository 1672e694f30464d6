"""The rows of a release into PostGIS, in bulk by COPY."""

import io
import json
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv

from odanon.reconstruct.areas import ground
from odanon.reconstruct.readings import EVEN, WEIGHTED, ancestors, layered, spread_column, zone_weights
from odanon_assets.stores.answers.kept import part_rows, piece_rows, pulse_rows, rests_in, time_rows
from odanon_assets.stores.bundle import Bundle
from odanon_assets.stores.database import execute
from odanon_assets.stores.interface import zoning_version
from odanon_assets.stores.seal import shape_digests, zone_digests

if TYPE_CHECKING:
    from geopandas import GeoDataFrame
    from sqlalchemy import Connection

_TIME = ["time_start", "time_end"]
_CHUNK = 250_000  # rows in memory as bytes at a time
_EPOCH = date(2000, 1, 1)  # where PostgreSQL's dates and times begin
_BINARY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_BINARY_END = b"\xff\xff"
ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtextextended('odanon tiles', 0))"  # who changes tiles
_SIDE_OF = {"leaving": "origin", "entering": "destination"}
_BINARY_TYPES = {
    **dict.fromkeys(("time_start", "time_end", "trips"), ">i8"),
    **dict.fromkeys(("spread", "spread_fitted", "spread_prior"), ">f8"),
}


def release(connection: "Connection", bundle: Bundle, manifest: str) -> int:
    """All rows of a release; returns its number."""
    parsed = json.loads(manifest)
    parameters = parsed.get("parameters", {})
    version = zoning_version(parsed)
    execute(
        connection,
        "INSERT INTO published.zoning (version, zoning, hierarchy) VALUES (:v, :z, :h) ON CONFLICT DO NOTHING",
        {"v": version, "z": json.dumps(parameters.get("zoning")), "h": json.dumps(parameters.get("hierarchy"))},
    )
    prior_no = _prior(connection, parsed["weights"]["sha256"]) if len(bundle.tiles) else None
    release_no = execute(
        connection,
        "INSERT INTO published.release"
        " (release_id, product, window_start, zoning_version, data_sha256, manifest, report, reading, readings, prior_no)"
        " VALUES (:id, :product, :window, :version, :data, :manifest, :report, :reading, :readings, :prior)"
        " RETURNING release_no",
        {
            "id": bundle.release_id,
            "product": bundle.product,
            "window": bundle.window_start,
            "version": version,
            "data": parsed.get("data_sha256"),
            "manifest": manifest,
            "report": bundle.report,
            "reading": parsed.get("reading", EVEN),
            "readings": parsed.get("readings", [EVEN]),
            "prior": prior_no,
        },
    ).scalar_one()
    zone_no = zones(connection, bundle.zones, release_no)
    around = rests_in(bundle)
    flows(connection, bundle, release_no, zone_no, around)
    weights(connection, bundle, release_no, zone_no)
    pulses = pulse_rows(bundle, release_no, zone_no)
    copy(connection, "published.pulse", pulses)
    times(connection, parsed, pd.concat([bundle.flows[_TIME], pulses.select(_TIME).to_pandas()]), release_no)
    if (parts := part_rows(bundle, around, release_no, zone_no)) is not None:
        copy(connection, "published.part", parts)
    if prior_no is not None:
        tiles(connection, bundle, prior_no, zone_no)
    numbers = [
        {"no": release_no, "name": name, "value": value}
        for name, value in parsed.get("metrics", {}).items()
        if isinstance(value, int | float) and value == value
    ]
    if numbers:
        execute(connection, "INSERT INTO published.metric VALUES (:no, :name, :value)", numbers)
    return release_no


def zones(connection: "Connection", table: "GeoDataFrame", release_no: int) -> pd.Series:
    """Add the areas that the database does not hold yet and list the release's; zone id -> zone number."""
    digests = zone_digests(table)
    known = _numbers(connection, digests)
    new = [at for at, digest in enumerate(digests) if digest not in known]
    if new:
        _add_zones(connection, table.iloc[new], [digests[at] for at in new])
        known = _numbers(connection, digests)
    numbers = np.array([known[digest] for digest in digests], dtype=np.int32)
    members = pa.table(
        {"release_no": np.full(len(numbers), release_no), "zone_no": numbers, "position": np.arange(len(numbers))}
    )
    copy(connection, "published.release_zone", members)
    return pd.Series(numbers, index=table["zone_id"].to_numpy())


def _numbers(connection: "Connection", digests: list[bytes]) -> dict[bytes, int]:
    rows = execute(
        connection,
        "SELECT digest, zone_no FROM published.zone WHERE digest = ANY(cast(:digests AS bytea[]))",
        {"digests": digests},
    )
    return {bytes(digest): number for digest, number in rows}


def _add_zones(connection: "Connection", table: "GeoDataFrame", digests: list[bytes]) -> None:
    execute(
        connection,
        "CREATE TEMPORARY TABLE new_zone (digest text, zone_id text, name text, hierarchy text, level smallint,"
        " n_tiles bigint, area_km2 double precision, tiles text[], shape geometry) ON COMMIT DROP",
    )
    rows = pa.table(
        {
            "digest": ["\\x" + digest.hex() for digest in digests],
            "zone_id": pa.array(table["zone_id"], pa.string()),
            "name": pa.array(table["name"], pa.string(), from_pandas=True),
            "hierarchy": pa.array(table["hierarchy"], pa.string()),
            "level": table["level"].to_numpy(),
            "n_tiles": table["n_tiles"].to_numpy(),
            # Python writes the shortest text that reads back as the same number.
            "area_km2": [repr(float(area)) for area in table["area_km2"]],
            "tiles": [None if tiles is None else _array(tiles) for tiles in table["tiles"]],
            "shape": table.geometry.to_wkb(hex=True).tolist(),
        }
    )
    copy(connection, "new_zone", rows)
    # In one order everywhere, so that two publishers that add the same zones wait and never deadlock.
    execute(
        connection,
        "INSERT INTO published.zone (digest, zone_id, name, hierarchy, level, n_tiles, area_km2, tiles, geometry)"
        " SELECT digest::bytea, zone_id, name, hierarchy, level, n_tiles, area_km2, tiles, ST_SetSRID(shape, 4326)"
        " FROM new_zone ORDER BY digest ON CONFLICT (digest) DO NOTHING",
    )


def _array(texts: list[str]) -> str:
    """A PostgreSQL array literal."""
    quoted = (value.replace("\\", "\\\\").replace('"', '\\"') for value in texts)
    return "{" + ",".join(f'"{value}"' for value in quoted) + "}"


def times(connection: "Connection", manifest: dict[str, Any], told: pd.DataFrame, release_no: int) -> None:
    """Add the pieces of time that a release is of, and the distinct ones of its rows and pulses."""
    copy(connection, "published.piece", piece_rows(manifest, release_no))
    copy(connection, "published.flow_time", time_rows(manifest, told, release_no))


def flows(
    connection: "Connection", bundle: Bundle, release_no: int, zone_no: pd.Series, around: np.ndarray | None
) -> None:
    """Add the flows of a release in PostgreSQL's binary format, which needs no text made and parsed.

    The texts of a row have few distinct values, so rows of equal texts share one record type.
    """
    table = bundle.flows
    numbers = {
        "release_no": np.full(len(table), release_no),
        "time_start": _microseconds(table["time_start"]),
        "time_end": _microseconds(table["time_end"]),
        "origin_no": _numbered(table["origin_zone"], zone_no),
        "destination_no": _numbered(table["destination_zone"], zone_no),
        "trips": table["trips"].to_numpy(),
        "spread": table["spread"].to_numpy(),
        "position": np.arange(len(table)),
        "window_start": np.full(len(table), (bundle.window_start - _EPOCH).days),
    }
    for reading in WEIGHTED:
        if (spread := table[spread_column(reading)]).notna().all():
            numbers[spread.name] = spread.to_numpy()
    if around is not None:
        numbers["around"] = around
    # In the order of the index, whose pages are then filled one after the other; `position` keeps the release's own.
    order = np.lexsort([numbers[name] for name in ("time_start", "destination_no", "origin_no")])
    texts = table[["segment", "kind", "persons_band"]].iloc[order]
    columns = ", ".join([*numbers, *texts.columns])
    cursor = connection.connection.cursor()
    for pair, rows in texts.groupby(list(texts.columns), dropna=False, sort=False).indices.items():
        for start in range(0, len(rows), _CHUNK):
            chosen = order[rows[start : start + _CHUNK]]
            records = _records({name: values[chosen] for name, values in numbers.items()}, pair)
            stream = io.BytesIO(_BINARY_HEADER + records + _BINARY_END)
            cursor.copy_expert(f"COPY published.flow ({columns}) FROM STDIN WITH (FORMAT binary)", stream)
    cursor.close()


def weights(connection: "Connection", bundle: Bundle, release_no: int, zone_no: pd.Series) -> None:
    """Add the weights of a release, with what functions multiply shares of zones with (`readings.layered`)."""
    if bundle.weights.empty:
        return
    shapes = bundle.zones
    size = pd.Series(ground(shapes.geometry.to_numpy()), index=shapes["zone_id"].to_numpy())
    table = layered(bundle.weights, size)
    zone = _numbered(table["zone_id"], zone_no)
    exact = {name: [repr(value) for value in table[name].tolist()] for name in ("weight", "inner", "outer", "total")}
    rows = pa.table(
        {
            "release_no": np.full(len(table), release_no),
            "time_bin": pa.array(table["time_bin"], pa.timestamp("us", tz="UTC")),
            "reading": pa.array(table["reading"], pa.string()),
            "side": pa.array(table["side"], pa.string()),
            "zone_no": zone,
            "chain": _chains(zone, table["up"].to_numpy()),
            "weight": exact["weight"],
            "inner_weight": exact["inner"],
            "outer_weight": exact["outer"],
            "total_weight": exact["total"],
            "position": np.arange(len(table)),
        }
    )
    copy(connection, "published.weight", rows)


def _prior(connection: "Connection", digest: str) -> int:
    """The number of a file of public weights."""
    execute(connection, "INSERT INTO published.prior (sha256) VALUES (:d) ON CONFLICT DO NOTHING", {"d": digest})
    return execute(connection, "SELECT prior_no FROM published.prior WHERE sha256 = :d", {"d": digest}).scalar_one()


def tiles(connection: "Connection", bundle: Bundle, prior_no: int, zone_no: pd.Series) -> None:
    """Add the tiles that the database does not hold yet, and the weights of areas that it has not weighed by this file."""
    execute(connection, ONE_AT_A_TIME)  # two that add the same areas must not add their tiles twice
    found = execute(connection, "SELECT zone_no FROM published.zone_prior WHERE prior_no = :no", {"no": prior_no})
    new = zone_no[~zone_no.isin([*found.scalars()])]
    shapes, digests = bundle.zones, shape_digests(bundle.tiles)
    size = pd.Series(ground(shapes.geometry.to_numpy()) / 1e6, index=shapes["zone_id"].to_numpy())
    whole = zone_weights(bundle.tiles, size).loc[new.index]
    exact = {name: [repr(value) for value in whole[side].tolist()] for name, side in _SIDE_OF.items()}
    copy(
        connection,
        "published.zone_prior",
        pa.table({"prior_no": np.full(len(new), prior_no), "zone_no": new.to_numpy(), **exact}),
    )
    tile_no = _tile_numbers(connection, bundle.tiles, digests)
    rows = bundle.tiles.drop(columns="geometry").assign(tile_no=tile_no).explode("zones")
    rows = rows[rows["zones"].isin(new.index)]
    exact = {name: [repr(value) for value in rows[name].tolist()] for name in _SIDE_OF}
    numbers = {"zone_no": zone_no[rows["zones"]].to_numpy(), "tile_no": rows["tile_no"].to_numpy()}
    copy(connection, "published.zone_tile", pa.table({"prior_no": np.full(len(rows), prior_no), **numbers, **exact}))


def _tile_numbers(connection: "Connection", table: "GeoDataFrame", digests: list[bytes]) -> list[int]:
    execute(connection, "CREATE TEMPORARY TABLE new_tile (digest text, tile text, shape geometry) ON COMMIT DROP")
    names = ["\\x" + digest.hex() for digest in digests]
    shapes = table.geometry.to_wkb(hex=True).tolist()
    copy(
        connection,
        "new_tile",
        pa.table({"digest": names, "tile": pa.array(table["tile"], pa.string()), "shape": shapes}),
    )
    execute(
        connection,
        "INSERT INTO published.tile (digest, tile, geometry) SELECT digest::bytea, tile, ST_SetSRID(shape, 4326)"
        " FROM new_tile ORDER BY digest ON CONFLICT (digest) DO NOTHING",
    )
    rows = execute(
        connection, "SELECT t.digest, t.tile_no FROM published.tile t JOIN new_tile n ON t.digest = n.digest::bytea"
    )
    known = {bytes(digest): number for digest, number in rows}
    return [known[digest] for digest in digests]


def _chains(zone: np.ndarray, up: np.ndarray) -> np.ndarray:
    """As array literals, every zone and those around it, from the inside out."""
    name = zone.astype(str).astype(object)
    text = "{" + name
    for above in ancestors(up):
        text = np.where(above >= 0, text + "," + name[above], text)
    return text + "}"


def _microseconds(times: pd.Series) -> np.ndarray:
    since_1970 = times.astype("datetime64[us, UTC]").to_numpy(dtype="datetime64[us]").astype(np.int64)
    return since_1970 - (_EPOCH - date(1970, 1, 1)).days * 86_400_000_000


def _records(numbers: dict[str, np.ndarray], texts: tuple[Any, ...]) -> bytes:
    """Rows as PostgreSQL reads them: how many fields, then each field's length and big-endian value."""
    fields: list[tuple[str, str]] = [("fields", ">i2")]
    for name in numbers:
        fields += [(f"{name}_size", ">i4"), (name, _BINARY_TYPES.get(name, ">i4"))]
    encoded = [None if pd.isna(value) else str(value).encode() for value in texts]
    for place, value in enumerate(encoded):
        fields += [(f"size{place}", ">i4"), (f"text{place}", f"V{len(value or b'')}")]
    dtype = np.dtype(fields)
    rows = np.zeros(len(numbers["position"]), dtype=dtype)
    rows["fields"] = len(numbers) + len(encoded)
    for name, values in numbers.items():
        rows[f"{name}_size"] = dtype[name].itemsize
        rows[name] = values
    for place, value in enumerate(encoded):
        rows[f"size{place}"] = -1 if value is None else len(value)
        if value:
            rows[f"text{place}"] = np.void(value)
    return rows.tobytes()


def _numbered(names: pd.Series, zone_no: pd.Series) -> np.ndarray:
    codes, unique = pd.factorize(names)
    return zone_no[unique].to_numpy()[codes] if len(codes) else np.empty(0, dtype=np.int32)


def copy(connection: "Connection", table: str, rows: pa.Table) -> None:
    """COPY rows into a table of ours whose first columns they are."""
    columns = ", ".join(rows.column_names)
    cursor = connection.connection.cursor()
    for start in range(0, len(rows), _CHUNK):
        buffer = io.BytesIO()
        csv.write_csv(rows.slice(start, _CHUNK), buffer, csv.WriteOptions(include_header=False))
        buffer.seek(0)
        cursor.copy_expert(f"COPY {table} ({columns}) FROM STDIN WITH (FORMAT csv)", buffer)
    cursor.close()
