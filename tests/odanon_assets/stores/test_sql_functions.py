"""flow, matrix, profile, shapes, areas of one's own and months in the SQL of both stores; what a session does not reach."""

import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import geopandas
import pandas as pd
import pytest
from bundles import accept, bundle, town_zones
from shapely.geometry import MultiPolygon, Point, Polygon, box
from store_databases import as_role, emptied

from odanon.errors import OdanonError
from odanon.model.when import When, clock_of
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import MATRIX_COLUMNS, PROFILE_COLUMNS, Store
from odanon_assets.stores.postgis import PostgisStore

STRESS = bool(os.environ.get("ODANON_STRESS"))
DAYS = [date(2026, 3, 2), date(2026, 3, 3), date(2026, 4, 1)]
MARCH = datetime(2026, 2, 28, 23, tzinfo=UTC), datetime(2026, 3, 31, 22, tzinfo=UTC)  # in Paris
AREAS = geopandas.GeoDataFrame(
    index=["half", "it's"], geometry=[box(0, 0, 0.5, 1), box(1, 0, 3, 1)], crs="EPSG:4326"
).to_crs("EPSG:3857")
ENDS = [*AREAS.geometry.to_crs("EPSG:4326")]
PAIR = "areas a, areas b, lateral {} f where a.name = 'half' and b.name <> a.name"


@pytest.fixture(scope="module", params=["embedded", "postgis"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Two products, with the rights of a reader."""
    if request.param == "embedded":
        writer = reader = EmbeddedStore(tmp_path_factory.mktemp("store"))
    else:
        url = emptied(request.getfixturevalue("shared_database"))
        writer, reader = PostgisStore(url), PostgisStore(as_role(url, "odanon_reader"))
    for day in DAYS:
        writer.publish(bundle(day=day, rows=9, timezone="Europe/Paris"), accept)
    writer.publish(bundle(product="village", rows=3), accept)
    return reader


def test_flow_is_that_of_python(store: Store) -> None:
    told = (
        "flow(a.geometry, b.geometry, month => '2026-03', days => 'tuesday', clock => '01:00-02:00', reading => 'even')"
    )
    found = store.query(f"select f.* from {PAIR.format(told)}", "town", AREAS)
    expected = store.flow("town", *ENDS, When(*MARCH, "tuesday", clock_of("01:00-02:00")), "even")
    assert expected.estimate > 0
    assert tuple(found.iloc[0]) == pytest.approx(expected)
    every = "flow(a.geometry, b.geometry, product => 'town', segment => 'all')"
    found = store.query(f"select f.* from {PAIR.format(every)}", areas=AREAS)
    assert found["high"].item() == pytest.approx(3 * expected.high)
    none = "flow(a.geometry, b.geometry, '2026-03-02', '2026-03-03', 'town', 'auto', 'nobody')"
    assert store.query(f"select f.* from {PAIR.format(none)}", areas=AREAS)["high"].item() == 0


def test_matrix_and_profile_are_those_of_python(store: Store) -> None:
    found = store.query("select * from matrix('areas', month => '2026-03') order by 1, 2", "town", AREAS)
    expected = store.matrix("town", AREAS, When(*MARCH))
    assert tuple(found.columns) == MATRIX_COLUMNS
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    told = "profile(a.geometry, b.geometry, '2026-03-02', '2026-03-04', interval '6 hours', 'town')"
    found = store.query(f"select f.* from {PAIR.format(told)} order by f.time_start", areas=AREAS)
    span = (datetime(2026, 3, day, tzinfo=UTC) for day in (2, 4))
    expected = store.profile("town", *ENDS, When(*span), timedelta(hours=6))
    assert tuple(found.columns) == PROFILE_COLUMNS
    numbers = list(PROFILE_COLUMNS[2:])
    pd.testing.assert_frame_equal(found[numbers].astype(float), expected[numbers])


def test_zones_have_shapes(store: Store) -> None:
    told = "select distinct z.zone_id from zones z, areas a where a.name = 'half' and st_intersects(z.geometry, a.geometry)"
    assert store.query(told, "town", AREAS)["zone_id"].tolist() == ["z1"]


def test_a_product_alone_is_shown_and_asked(store: Store) -> None:
    for view in ("flows", "zones", "releases", "metrics", "windows"):
        told = f"select count(distinct release_id) as n from {view}"
        assert store.query(told)["n"].item() == 4
        assert store.query(told, "village")["n"].item() == 1
    asked = f"select f.high from {PAIR.format('flow(a.geometry, b.geometry)')}"
    assert store.query(asked, "village", AREAS)["high"].item() > 0
    with pytest.raises(OdanonError, match="several products are published; name one"):
        store.query(asked, areas=AREAS)


def test_months_are_sums_of_their_windows_by_local_clock(store: Store) -> None:
    told = "select cast(month as text) as month, since, until, sum(trips) as trips, max(windows) as windows from months"
    found = store.query(f"{told} where product = 'town' group by 1, 2, 3 order by 1", "town")
    day = int(bundle(rows=9).flows["trips"].sum())
    assert found["month"].str[:10].tolist() == ["2026-03-01", "2026-04-01"]
    assert found["since"].tolist() == ["01:00", "02:00"]  # midnight in UTC, before and in summer time
    assert found["trips"].astype(int).tolist() == [2 * day, day]
    assert found["windows"].tolist() == [2, 1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("days => 'holiday'", "days is none of monday, tuesday"),
        ("clock => '7-9'", "write 07:00-09:00"),
        ("month => '2026'", "write 2026-03"),
        ("month => '2026-03', since => '2026-03-01'", "a month stands for since and until"),
        ("since => '2026-03-02', until => '2026-03-01'", "not longer than nothing"),
        ("reading => 'odd'", "the reading is none of auto, even"),
        ("month => '2026-03', product => 'twon'", "no published product of this name"),
    ],
)
def test_mistakes_are_one_sentence(store: Store, arguments: str, sentence: str) -> None:
    with pytest.raises(OdanonError, match=sentence):
        store.query(f"select f.* from {PAIR.format(f'flow(a.geometry, b.geometry, {arguments})')}", "town", AREAS)


def test_areas_are_asked_for_only_if_they_can_be_told_apart(store: Store) -> None:
    told, twice = "select * from matrix('areas')", AREAS.set_axis(["half", "half"])
    for ask in (lambda: store.query(told, "town", twice), lambda: store.matrix("town", twice, When(*MARCH))):
        with pytest.raises(OdanonError, match="two drawn areas have the same name"):
            ask()
    nowhere = geopandas.GeoDataFrame(geometry=ENDS)
    for ask in (lambda: store.query(told, "town", nowhere), lambda: store.matrix("town", nowhere, When(*MARCH))):
        with pytest.raises(OdanonError, match="no coordinate reference system"):
            ask()
    assert store.query(told, "town", AREAS.iloc[:0]).empty
    assert store.matrix("town", AREAS.iloc[:0], When(*MARCH)).empty


def test_a_place_that_an_area_lacks_or_has_of_a_large_zone_is_seen(store: Store) -> None:
    """Sides that are oblique, as those of hexagons, move where they are cut: by more than the place."""
    tall = Polygon([(0, 44), (3, 46), (0, 48)])
    place, spot = Point(1.5, 47).buffer(0.001), Point(1, 46).buffer(1e-5)  # the one on a border
    writer = store if isinstance(store, EmbeddedStore) else PostgisStore(store.url.split("?")[0])
    zones = town_zones(["z1", "z2", "z3"])
    zones.loc[0, "geometry"] = MultiPolygon([tall])
    writer.publish(bundle(product="oblique", zones=zones), accept)
    there, every = box(1, 0, 3, 1), When(datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
    whole = store.flow("oblique", tall, there, every)
    assert whole.low == whole.high > 0
    for area in (box(-9, 40, 9, 50) - place, spot):
        found = store.flow("oblique", area, there, every)
        assert (found.low, found.high) == (0, whole.high)


def test_neighbours_whose_outlines_overlap_by_less_than_a_millimetre_are_neighbours(store: Store) -> None:
    """As those of maps do that are told in feet: an area is all of its zone, and touches no other."""
    writer = store if isinstance(store, EmbeddedStore) else PostgisStore(store.url.split("?")[0])
    zones = town_zones(["z1", "z2", "z3"])
    zones.loc[1, "geometry"] = MultiPolygon([box(1 - 3e-9, 0, 2 + 3e-9, 1)])
    writer.publish(bundle(product="rounded", zones=zones), accept)
    every = When(datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
    first, others = box(0, 0, 1, 1), box(1, 0, 3, 1)
    found = {ends: store.flow("rounded", *ends, every) for ends in ((first, first), (first, others), (others, others))}
    assert all(each.low == each.high for each in found.values())
    assert 0 < found[(first, others)].high < store.flow("rounded", box(0, 0, 3, 1), box(0, 0, 3, 1), every).low


@pytest.fixture
def closed(tmp_path: Path) -> tuple[EmbeddedStore, Path]:
    """A store, and a file beside it that nobody asked for."""
    store, secret = EmbeddedStore(tmp_path / "store"), tmp_path / "secret.geojson"
    store.publish(bundle(rows=3), accept)
    secret.write_text(
        '{"type": "Feature", "properties": {"a": 1}, "geometry": {"type": "Point", "coordinates": [1, 2]}}'
    )
    return store, secret


def test_shapes_and_functions_open_no_way_out(closed: tuple[EmbeddedStore, Path]) -> None:
    store, secret = closed
    folder = store.window_folder("town", DAYS[0])
    vrt = f'<OGRVRTDataSource><OGRVRTLayer name="a"><SrcDataSource>{secret}</SrcDataSource></OGRVRTLayer></OGRVRTDataSource>'
    ways = [
        *(f"select * from {name}('{secret}')" for name in ("st_read", "st_read_meta", "st_readosm", "st_readshp")),
        *(f"select * from st_read('{way}')" for way in (vrt, f"GeoJSON:{secret}", "PG:host=localhost", "/vsistdin/")),
        *(
            f"select st_asgeojson(geom) from st_read('/vsi{way}/{secret}')"
            for way in ("zip", "gzip", "curl", "mem", "cached")
        ),
        f"select * from st_read('{folder}/release.json', sibling_files := ['{secret}'])",
        f"select * from read_text('{secret}'), st_drivers()",
        f"copy (select st_point(1, 2)) to '{secret}.out' with (format gdal, driver 'GeoJSON')",
        f"select * from query('copy (select st_point(1, 2) as g) to ''{secret}.out''')",
        f"attach '{secret}.db'; select st_point(1, 2)",
        "load spatial",
        "install spatial",
        "pragma enable_external_access -- st_",
        "set enable_external_access = true -- st_",
        "reset enable_external_access -- st_",
        "create table geometry (a int)",
        "select getenv('HOME'), st_point(1, 2)",
        f"select * from matrix('{secret}', 'a', 'geom')",
        f"select * from matrix('read_text(''{secret}'')')",
    ]
    ways = ways if STRESS else ways[::2]  # half a second each
    for way in ways:
        with pytest.raises(OdanonError):
            store.query(way)
    assert not [*secret.parent.glob("*.out"), *secret.parent.glob("*.db")]
    assert store.query("select st_astext(st_point(1, 2)) as a")["a"].tolist() == ["POINT (1 2)"]
