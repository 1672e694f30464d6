"""The SQL functions and the Python reconstruction are the same estimate."""

import os
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

import geopandas
import h3
import numpy as np
import pandas as pd
import pytest
import shapely
from bundles import accept, bundle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shapely.geometry import MultiPolygon, Polygon
from store_databases import emptied

from odanon.model.when import When
from odanon.reconstruct.areas import flow_between, reconstruct
from odanon_assets.stores.bundle import Bundle
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Store
from odanon_assets.stores.postgis import PostgisStore

EXAMPLES = 200 if os.environ.get("ODANON_STRESS") else 6
CENTRE = 45.75, 4.85
DAYS = [date(2026, 3, 30) + timedelta(days=n) for n in range(4)]  # across a month
SINCE, UNTIL = datetime(2026, 3, 30, tzinfo=UTC), datetime(2026, 4, 9, tzinfo=UTC)


def rugged(shape: MultiPolygon) -> MultiPolygon:
    """With an outline of hundreds of points, which PostGIS compares only near the area drawn."""
    rng = np.random.default_rng(0)
    ring = shapely.get_coordinates(shapely.segmentize(shape, 0.001))[:-1]
    return MultiPolygon([Polygon(ring + rng.uniform(-0.0002, 0.0002, ring.shape))])


@lru_cache
def city(day: date, seed: int) -> Bundle:
    """Flows among H3 cells of two levels; the cells change from day to day, as releases do."""
    rng = np.random.default_rng(seed)
    cells = [*h3.grid_disk(h3.latlng_to_cell(*CENTRE, 8), 4)]
    coarse = [*h3.grid_disk(h3.latlng_to_cell(45.80, 4.95, 6), 1)]
    names = sorted([*rng.permutation(cells)[:30].tolist(), *coarse])
    shapes = [MultiPolygon([Polygon([(x, y) for y, x in h3.cell_to_boundary(name)])]) for name in names]
    shapes = [rugged(shape) if name in coarse else shape for name, shape in zip(names, shapes, strict=True)]
    zones = geopandas.GeoDataFrame(
        {
            "zone_id": pd.array(names, dtype="str"),
            "name": pd.Series(None, range(len(names)), dtype="str"),
            "hierarchy": "h3",
            "level": np.array([h3.get_resolution(name) for name in names], dtype=np.int16),
            "n_tiles": 1,
            "area_km2": 1.0,
            "tiles": None,
        },
        geometry=shapes,
        crs="EPSG:4326",
    )
    return bundle(trips=10 + seed, product="city", day=day, rows=600, zones=zones)


@pytest.fixture(scope="module")
def stores(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Store]:
    found = EmbeddedStore(tmp_path_factory.mktemp("store")), PostgisStore(emptied(shared_database))
    for store in found:
        for seed, day in enumerate(DAYS):
            store.publish(city(day, seed), accept)
    return found


point = st.tuples(st.floats(4.6, 5.2), st.floats(45.6, 45.95))
area = st.lists(point, min_size=3, max_size=8).map(lambda points: shapely.convex_hull(shapely.multipoints(points)))
polygon = area.filter(lambda shape: shape.geom_type == "Polygon" and shape.area > 1e-6)
kinked = st.lists(point, min_size=4, max_size=7, unique=True).map(lambda p: shapely.make_valid(Polygon(p)))
drawn = st.one_of(polygon, kinked.filter(lambda shape: shape.geom_type in ("Polygon", "MultiPolygon")))


def by_hand(origin: Polygon, destination: Polygon, since: datetime, until: datetime) -> float:
    total = 0.0
    for seed, day in enumerate(DAYS):
        made = city(day, seed)
        inside = made.flows[(made.flows["time_start"] >= since) & (made.flows["time_start"] < until)]
        total += flow_between(inside, made.zones, origin, destination)
    return total


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=EXAMPLES)
@given(origin=drawn, destination=drawn, hours=st.integers(0, 100), length=st.integers(0, 100))
def test_sql_duckdb_and_python_agree(
    stores: tuple[Store, Store], origin: Polygon, destination: Polygon, hours: int, length: int
) -> None:
    since = SINCE + timedelta(hours=hours)
    until = since + timedelta(hours=length)
    expected = by_hand(origin, destination, since, until)
    for store in stores:
        found = store.flow("city", origin, destination, When(since, until))
        assert found.estimate == pytest.approx(expected, rel=1e-7, abs=1e-6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=EXAMPLES // 2)
@given(shapes=st.lists(drawn, min_size=1, max_size=6))
def test_whole_matrices_agree(stores: tuple[Store, Store], shapes: list[Polygon]) -> None:
    areas = geopandas.GeoDataFrame(geometry=shapes, index=[f"area {n}" for n in range(len(shapes))], crs="EPSG:4326")
    parts = [reconstruct(city(day, seed).flows, city(day, seed).zones, areas.geometry) for seed, day in enumerate(DAYS)]
    expected = pd.concat(parts).groupby(["origin", "destination"])["trips"].sum().to_dict()
    for store in stores:
        found = (
            store.matrix("city", areas, When(SINCE, UNTIL)).set_index(["origin", "destination"])["estimate"].to_dict()
        )
        for pair in expected.keys() | found.keys():
            assert found.get(pair, 0) == pytest.approx(expected.get(pair, 0), rel=1e-7, abs=1e-6)


def test_several_products_need_a_name(stores: tuple[Store, Store], shared_database: str) -> None:
    import psycopg2

    PostgisStore(shared_database).publish(bundle(product="second"), accept)
    connection = psycopg2.connect(shared_database)
    with connection, connection.cursor() as cursor, pytest.raises(psycopg2.Error, match="several products"):
        cursor.execute("SELECT odanon.flow(a, a, now(), now()) FROM ST_MakeEnvelope(0, 0, 1, 1, 4326) a")
    connection.close()


def test_gis_layers_are_typed_and_have_unique_keys(stores: tuple[Store, Store]) -> None:
    """QGIS lists layers by geometry_columns and needs one key column."""
    postgis = stores[1]
    typed = postgis.query(
        "select f_table_name, type, srid from geometry_columns where f_table_schema = 'published' and"
        " f_table_name in ('zones', 'desire_lines', 'product_city') order by 1, 2"
    )
    assert typed.values.tolist() == [
        ["desire_lines", "LINESTRING", 4326],
        ["product_city", "MULTIPOLYGON", 4326],
        ["product_city", "MULTIPOLYGON", 4326],
        ["zones", "MULTIPOLYGON", 4326],
    ]
    for layer, key in (("zones", "zone_key"), ("desire_lines", "line_key")):
        (row,) = postgis.query(f"select count(*) as n, count(distinct {key}) as d from {layer}").to_dict("records")
        assert row["n"] == row["d"] > 0
