"""What the PostGIS store costs: publishing 1 M flows against a raw COPY, and drawn areas on a year of hourly releases.

Run it with `python tests/bench/bench_store.py`. Targets: publishing within 3 x the COPY; `odanon.flow` on 8,760 time
bins under a second once warm, by the indexes. A private server is used, with its durability settings on.
"""

import io
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path

import geopandas
import h3
import numpy as np
import pandas as pd
import psycopg2
from pyarrow import Table, csv
from shapely.geometry import MultiPolygon, Polygon

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from postgis_server import postgis_server

from odanon import registry
from odanon.model.zones import zones_table
from odanon.reconstruct.weights import weigh
from odanon_assets.stores import schema
from odanon_assets.stores.bundle import FLOW_COLUMNS, Bundle, release_id
from odanon_assets.stores.postgis import PostgisStore

ROWS = 1_000_000
CENTRE = h3.latlng_to_cell(45.75, 4.85, 8)
YEAR = [date(2025, 1, 1) + timedelta(days=n) for n in range(365)]
PAIRS = 300  # flows a time bin


def accept() -> None:
    """A gate that lets everything pass."""


def zones(rings: int) -> geopandas.GeoDataFrame:
    cells = sorted(h3.grid_disk(CENTRE, rings))
    shapes = [MultiPolygon([Polygon([(x, y) for y, x in h3.cell_to_boundary(cell)])]) for cell in cells]
    return geopandas.GeoDataFrame(
        {
            "zone_id": pd.array(cells, dtype="str"),
            "name": pd.Series(None, range(len(cells)), dtype="str"),
            "hierarchy": "h3",
            "level": np.int16(8),
            "n_tiles": 1,
            "area_km2": 0.7,
            "tiles": None,
        },
        geometry=shapes,
        crs="EPSG:4326",
    )


def release(
    day: date, bins: int, pairs: int, table: geopandas.GeoDataFrame, seed: int, product: str = "year"
) -> Bundle:
    """Random flows: `pairs` distinct pairs of zones in each of `bins` hours."""
    rng = np.random.default_rng(seed)
    name = release_id(product, day, {"seed": seed})
    n = len(table)
    chosen = np.concatenate([np.sort(rng.choice(n * n, pairs, replace=False)) for _ in range(bins)])
    labels = table["zone_id"].to_numpy()
    start, hours = pd.Timestamp(day, tz="UTC"), pd.to_timedelta(np.repeat(np.arange(bins), pairs), unit="h")
    flows = pd.DataFrame(
        {
            "product": product,
            "window_start": day,
            "time_start": (at := pd.DatetimeIndex(start + hours).as_unit("us")),
            "time_end": at + pd.Timedelta(hours=1),
            "segment": "all",
            "origin_zone": labels[chosen // n],
            "destination_zone": labels[chosen % n],
            "kind": "flow",
            "trips": (trips := rng.integers(10, 500, len(chosen))),
            "spread": trips.astype(float),
            "spread_fitted": np.nan,
            "spread_prior": np.nan,
            "persons_band": rng.choice(np.array(["10-19", "20-49", "50-99"]), len(chosen)),
            "release_id": name,
        }
    )[list(FLOW_COLUMNS)]
    facts = {"release_id": name, "product": product, "window_start": day.isoformat(), "timezone": "UTC"}
    return Bundle(product, day, name, flows, table, "", facts)


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def raw_copy(url: str, buffer: bytes) -> None:
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE raw_copy (product text, window_start date, time_start timestamptz, time_end timestamptz, segment text,"
            " origin_zone text, destination_zone text, kind text, trips bigint, spread double precision,"
            " spread_fitted double precision, spread_prior double precision, persons_band text, release_id text)"
        )
        cursor.copy_expert("COPY raw_copy FROM STDIN WITH (FORMAT csv)", io.BytesIO(buffer))
    connection.close()


def drop_copy(url: str) -> None:
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE raw_copy")
    connection.close()


def publishing(url: str) -> bool:
    store = PostgisStore(url)
    store.publish(release(date(2024, 2, 1), 1, 10, zones(2), 0), accept)  # connections and imports
    table = zones(20)
    copies, publications = [], []
    for attempt in range(3):
        made = release(date(2024, 1, 1) + timedelta(days=attempt), 24, ROWS // 24, table, attempt)
        out = io.BytesIO()
        csv.write_csv(Table.from_pandas(made.flows, preserve_index=False), out, csv.WriteOptions(include_header=False))
        text = out.getvalue()
        copies.append(seconds(partial(raw_copy, url, text)))
        drop_copy(url)
        publications.append(seconds(partial(store.publish, made, accept)))
    ratio = min(publications) / min(copies)
    print(
        f"publish {len(made.flows):,} flows    {min(publications):6.2f} s, raw COPY {min(copies):.2f} s:"
        f" {ratio:.2f} x (target 3)"
    )
    return ratio <= 3


def drawn_areas(url: str) -> bool:
    store, table = PostgisStore(url), zones(12)
    loading = seconds(lambda: [store.publish(release(day, 24, PAIRS, table, n), accept) for n, day in enumerate(YEAR)])
    print(f"a year: {len(YEAR) * 24:,} bins, {len(YEAR) * 24 * PAIRS:,} flows loaded in {loading:.0f} s")
    connection = psycopg2.connect(url)
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute("VACUUM ANALYZE")
    lat, lon = h3.cell_to_latlng(CENTRE)
    areas = [
        f"ST_Buffer(ST_SetSRID(ST_MakePoint({lon + dx}, {lat + dy}), 4326), 0.02)"
        for dx, dy in ((-0.04, 0), (0.03, 0.02))
    ]
    bounds = datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    question = f"SELECT * FROM odanon.flow({areas[0]}, {areas[1]}, %s, %s, 'year')"
    times = [seconds(lambda: cursor.execute(question, bounds)) for _ in range(4)]
    print(f"odanon.flow, two polygons, whole year  first {times[0]:.2f} s, warm {min(times[1:]):.2f} s (target 1)")
    print(f"  plan: {plan_nodes(cursor, question, bounds)}")
    cursor.execute(
        "CREATE TEMP TABLE town AS SELECT n AS id, ST_SetSRID(ST_MakeEnvelope("
        f"{lon} - 0.06 + 0.03 * (n % 4), {lat} - 0.04 + 0.02 * (n / 4),"
        f"{lon} - 0.03 + 0.03 * (n % 4), {lat} - 0.02 + 0.02 * (n / 4)), 4326) AS geom FROM generate_series(0, 15) n"
    )
    whole = "SELECT count(*) FROM odanon.matrix('town', 'id', 'geom', %s, %s, 'year')"
    times_matrix = [seconds(lambda: cursor.execute(whole, bounds)) for _ in range(2)]
    print(f"odanon.matrix, 16 polygons, whole year first {times_matrix[0]:.2f} s, warm {min(times_matrix[1:]):.2f} s")
    connection.close()
    return min(times[1:]) < 1


def readings(url: str) -> bool:
    """Two weeks of releases whose areas lie in each other, read evenly and by fitted weights."""
    store, days = PostgisStore(url), YEAR[:14]
    tiles = registry.create("zoning", "h3", {"resolution": 8}).tiles(sorted(h3.grid_disk(CENTRE, 9)))
    tree = registry.create("hierarchy", "h3", {"root": 5}).build(tiles)
    table = zones_table(tree, tiles, np.arange(len(tree)))
    first = release(days[0], 24, PAIRS, table, 0, "nested")
    weighted = weigh(first.flows, table, tree)
    for n, day in enumerate(days):
        made = release(day, 24, PAIRS, table, 0, "nested")
        at = (weighted.table["time_bin"] + pd.Timedelta(days=n)).astype("datetime64[us, UTC]")
        told = {**made.manifest, "reading": "fitted", "readings": ["even", "fitted"]}
        flows = made.flows.assign(spread_fitted=weighted.spread["fitted"])
        store.publish(replace(made, flows=flows, manifest=told, weights=weighted.table.assign(time_bin=at)), accept)
    connection = psycopg2.connect(url)
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute("VACUUM ANALYZE")
    lat, lon = h3.cell_to_latlng(CENTRE)
    area = f"ST_Buffer(ST_SetSRID(ST_MakePoint({lon}, {lat}), 4326), 0.02)"
    question = f"SELECT * FROM odanon.flow({area}, {area}, %s, %s, 'nested', %s)"
    bounds = datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    times = {
        how: min(seconds(partial(cursor.execute, question, (*bounds, how))) for _ in range(4))
        for how in ("even", "fitted")
    }
    connection.close()
    print(
        f"{len(days) * 24} bins, {len(weighted.table) * len(days):,} weights: read evenly {times['even']:.2f} s,"
        f" by fitted weights {times['fitted']:.2f} s (target 1)"
    )
    return times["fitted"] < 1


def plan_nodes(cursor: "psycopg2.extensions.cursor", question: str, bounds: tuple[datetime, datetime]) -> str:
    """Which index scans the queries inside the function really used."""
    cursor.execute("SET log_min_messages = fatal; LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0;")
    cursor.execute("SET auto_explain.log_nested_statements = on; SET client_min_messages = log;")
    del cursor.connection.notices[:]
    cursor.execute(question, bounds)
    cursor.execute("RESET client_min_messages; SET auto_explain.log_min_duration = -1")
    plans = "\n".join(cursor.connection.notices)
    found = sorted(
        {line.strip(" ->").split("  (")[0] for line in plans.splitlines() if "Scan" in line and "_2025_0" in line}
    )
    shapes = sorted({line.strip(" ->").split("  (")[0] for line in plans.splitlines() if "zone_geometry" in line})
    return "; ".join([*found[:2], *shapes[:1]])


if __name__ == "__main__":
    with postgis_server(durable=True) as address:
        schema.init(address)
        fine = [publishing(address), drawn_areas(address), readings(address)]
    sys.exit(0 if all(fine) else 1)
