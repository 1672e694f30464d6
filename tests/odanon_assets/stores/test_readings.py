"""Readings in the stores: weights kept, sealed and taken away with their release; SQL, DuckDB and Python are one estimate."""

import itertools
import json
import os
from datetime import UTC, date, datetime
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pytest
from bundles import accept, bundle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rested import PRIOR, SIDE, SIZE, TREE, between, dense, rested, rested_bundle
from shapely.geometry import Polygon, box
from store_databases import emptied, run_sql

from odanon.errors import OdanonError
from odanon.model.when import When
from odanon.reconstruct.areas import flow_between, reconstruct
from odanon.reconstruct.layout import Layout
from odanon_assets.stores.bundle import Bundle, check_bundle
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Act, Store
from odanon_assets.stores.postgis import PostgisStore

EXAMPLES = 200 if os.environ.get("ODANON_STRESS") else 5
DAYS = [date(2026, 3, 31), date(2026, 4, 1), date(2026, 4, 2)]
SINCE, UNTIL = datetime(2026, 3, 31, tzinfo=UTC), datetime(2026, 4, 3, tzinfo=UTC)
MEANS = ["fitted", "even", "fitted"]  # what auto means on each day


def made(number: int) -> Bundle:
    return rested_bundle(DAYS[number], number, split=number == 2, reading=MEANS[number])


@pytest.fixture(scope="module")
def bundles() -> list[Bundle]:
    return [made(number) for number in range(len(DAYS))]


@pytest.fixture(scope="module")
def stores(
    shared_database: str, tmp_path_factory: pytest.TempPathFactory, bundles: list[Bundle]
) -> tuple[Store, Store]:
    found = EmbeddedStore(tmp_path_factory.mktemp("store")), PostgisStore(emptied(shared_database))
    for store in found:
        for each in bundles:
            store.publish(each, accept)
    return found


point = st.tuples(st.floats(-0.5, SIDE + 0.5), st.floats(-0.5, SIDE + 0.5)).map(lambda p: (p[0] * SIZE, p[1] * SIZE))
polygon = (
    st.lists(point, min_size=3, max_size=7)
    .map(lambda points: geopandas.GeoSeries([Polygon(points)]).convex_hull.iloc[0])
    .filter(lambda shape: shape.geom_type == "Polygon" and shape.area > 1e-7)
)
READING = st.sampled_from(["even", "fitted", "prior", "auto"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=EXAMPLES, deadline=None)
@given(origin=polygon, destination=polygon, reading=READING, hours=st.integers(0, 60), length=st.integers(1, 60))
def test_sql_duckdb_and_python_agree_on_every_reading(
    stores: tuple[Store, Store],
    bundles: list[Bundle],
    origin: Polygon,
    destination: Polygon,
    reading: str,
    hours: int,
    length: int,
) -> None:
    since, until = SINCE + pd.Timedelta(hours=hours), SINCE + pd.Timedelta(hours=hours + length)
    expected = 0.0
    for each, means in zip(bundles, MEANS, strict=True):
        flows, weights = (
            table[(table[start] >= since) & (table[start] < until)]
            for table, start in ((each.flows, "time_start"), (each.weights, "time_bin"))
        )
        if len(flows):
            how = means if reading == "auto" else reading
            told = each.tiles if how == "prior" else weights
            expected += flow_between(flows, each.zones, origin, destination, how, told)
    even = stores[0].flow("rested", origin, destination, When(since, until), "even")
    for store in stores:
        found = store.flow("rested", origin, destination, When(since, until), reading)
        assert found.estimate == pytest.approx(expected, rel=1e-7, abs=1e-6)
        # Bounds are the same by every reading, and hold what the readings say without them.
        assert (found.low, found.high) == (even.low, even.high)
        assert found.low - 1e-6 <= expected <= found.high + 1e-6


def beside(each: Bundle, reading: str) -> pd.DataFrame:
    return each.tiles if reading == "prior" else each.weights


@pytest.mark.parametrize("reading", ["even", "fitted", "prior", "auto"])
def test_matrices_agree_and_keep_every_trip(stores: tuple[Store, Store], bundles: list[Bundle], reading: str) -> None:
    cuts = [-1.0, 1.3, 4.0, 9.0]
    shapes = [box(a * SIZE, -SIZE, b * SIZE, 9 * SIZE) for a, b in itertools.pairwise(cuts)]
    areas = geopandas.GeoDataFrame(geometry=shapes, index=["west", "middle", "east"], crs="EPSG:4326")
    parts = [
        reconstruct(
            each.flows, each.zones, areas.geometry, means if reading == "auto" else reading, beside(each, reading)
        )
        for each, means in zip(bundles, MEANS, strict=True)
    ]
    expected = pd.concat(parts).groupby(["origin", "destination"])["trips"].sum()
    assert expected.sum() == pytest.approx(sum(each.flows["trips"].sum() for each in bundles))
    for store in stores:
        found = store.matrix("rested", areas, When(SINCE, UNTIL), reading).set_index(["origin", "destination"])[
            "estimate"
        ]
        assert found.sort_index().to_dict() == pytest.approx(expected.to_dict(), rel=1e-7)


def test_fitted_is_the_estimate_of_single_cells(stores: tuple[Store, Store]) -> None:
    """Against every row spread over pairs of squares by the weights that the metric of the manifest is measured with."""
    areas = (1.3 * SIZE, 0.2 * SIZE, 4.7 * SIZE, 5.1 * SIZE), (2 * SIZE, 2 * SIZE, 8 * SIZE, 7.1 * SIZE)
    expected, squares = 0.0, np.arange(TREE.n_leaves)
    for release in (*rested(0), *rested(1), *rested(2)):
        layout = Layout.of(release)
        assert layout is not None
        leave, enter = layout.fitted(release.flows["trips"].to_numpy(float))
        by_square = layout.by_tile(0, leave, squares), layout.by_tile(1, enter, squares)
        expected += between(dense(release, by_square), *areas)
    for store in stores:
        found = store.flow("rested", box(*areas[0]), box(*areas[1]), When(SINCE, UNTIL), "fitted")
        assert found.estimate == pytest.approx(expected, rel=1e-4)


def test_prior_is_the_estimate_of_single_squares_by_their_public_weights(stores: tuple[Store, Store]) -> None:
    areas = (1.3 * SIZE, 0.2 * SIZE, 4.7 * SIZE, 5.1 * SIZE), (2 * SIZE, 2 * SIZE, 8 * SIZE, 7.1 * SIZE)
    by_square = tuple(PRIOR.of_nodes(TREE)[side][TREE.tiles] for side in (0, 1))
    cells = [dense(release, by_square) for seed in range(3) for release in rested(seed)]
    expected = sum(between(each, *areas) for each in cells)
    evenly = sum(between(dense(release), *areas) for seed in range(3) for release in rested(seed))
    assert abs(expected - evenly) > 0.05 * evenly  # finer than zones, or the weights did not matter
    for store in stores:
        found = store.flow("rested", box(*areas[0]), box(*areas[1]), When(SINCE, UNTIL), "prior")
        assert found.estimate == pytest.approx(expected, rel=1e-4)


def test_weights_are_given_back_as_they_were_and_seen_in_sql(
    stores: tuple[Store, Store], bundles: list[Bundle]
) -> None:
    asked = (
        "select release_id, reading, side, count(*) as rows, count(around) as inner_ones, round(sum(weight)::numeric, 6) as w"
        " from weights group by 1, 2, 3 order by 1, 2, 3"
    )
    answers = []
    for store in stores:
        for each in bundles:
            pd.testing.assert_frame_equal(store.weights(each.release_id), each.weights)
            pd.testing.assert_frame_equal(store.flows(each.release_id), each.flows, check_dtype=False)
            tiles = store.tiles(each.release_id)
            assert [list(zones) for zones in tiles.pop("zones")] == each.tiles["zones"].tolist()
            pd.testing.assert_frame_equal(tiles, each.tiles.drop(columns="zones"))
            listed = store.query(f"select tile, zones from tiles where release_id = '{each.release_id}' order by tile")
            assert [list(zones) for zones in listed["zones"]] == each.tiles["zones"].tolist()
            assert store.problems(each.release_id) == []
        answers.append(store.query(asked.replace("numeric", "numeric" if store is stores[1] else "double")))
    assert answers[0].astype({"w": float}).values.tolist() == answers[1].astype({"w": float}).values.tolist()
    assert set(answers[0]["w"]) == {2.0}  # by time bin all that leaves, or enters
    assert (answers[0]["inner_ones"] > 0).all()


def test_a_reading_without_weights_is_refused_by_name_and_auto_is_even(tmp_path: Path, database: str) -> None:
    plain, area = bundle(), box(0, 0, 2, 1)
    for store in (EmbeddedStore(tmp_path), PostgisStore(database)):
        store.publish(plain, accept)
        for reading in ("fitted", "prior"):
            with pytest.raises(OdanonError, match=f"the reading {reading} has no weights in {plain.release_id}; ask"):
                store.flow("town", area, area, When(*_around(plain)), reading)
        with pytest.raises(OdanonError, match="the reading is none of auto, even"):
            store.flow("town", area, area, When(*_around(plain)), "odd")
        even, auto = (store.flow("town", area, area, When(*_around(plain)), reading) for reading in ("even", "auto"))
        assert even == auto
        assert even.estimate > 0
        assert not {"weights", "tiles"} & set(json.loads(store.manifest_text(plain.release_id))["content"])
        assert store.weights(plain.release_id).empty
        assert store.tiles(plain.release_id).empty


def _around(each: Bundle) -> tuple[datetime, datetime]:
    start = datetime.combine(each.window_start, datetime.min.time(), UTC)
    return start, start + pd.Timedelta(days=1)


def test_tiles_of_another_file_are_kept_apart(tmp_path: Path, database: str, bundles: list[Bundle]) -> None:
    """Two releases with the same zones and different public weights."""
    first, other = bundles[0], made(0)
    swapped = other.tiles.assign(leaving=other.tiles["entering"], entering=other.tiles["leaving"])
    later = {name: other.flows[name] + pd.Timedelta(days=1) for name in ("time_start", "time_end")}
    flows = other.flows.assign(
        window_start=DAYS[1], release_id=bundles[1].release_id, spread_prior=other.flows["spread"], **later
    )
    manifest = {**bundles[1].manifest, "weights": {"columns": ["jobs"], "sha256": "1" * 64}}
    told = {"window_start": DAYS[1], "release_id": bundles[1].release_id, "flows": flows, "manifest": manifest}
    second = Bundle(**{**vars(other), **told, "tiles": swapped})
    area, all_day = box(0, 0, 3.3 * SIZE, 4.4 * SIZE), (SINCE, UNTIL)
    expected = sum(flow_between(each.flows, each.zones, area, area, "prior", each.tiles) for each in (first, second))
    for store in (EmbeddedStore(tmp_path), PostgisStore(database)):
        for each in (first, second):
            store.publish(each, accept)
            assert store.problems(each.release_id) == []
        assert store.flow("rested", area, area, When(*all_day), "prior").estimate == pytest.approx(expected, rel=1e-7)


def test_changed_weights_break_the_seal(tmp_path: Path, database: str, bundles: list[Bundle]) -> None:
    embedded, postgis, each = EmbeddedStore(tmp_path), PostgisStore(database), bundles[0]
    for store in (embedded, postgis):
        store.publish(each, accept)
    path = embedded.folder(each.release_id) / "weights.parquet"
    path.rename(path.with_suffix(".old"))
    assert embedded.problems(each.release_id) != []
    assert path.name in json.loads(embedded.manifest_text(each.release_id))["files"]
    run_sql(database, "UPDATE published.weight SET weight = weight * 1.001 WHERE position = 3")
    assert postgis.problems(each.release_id) == ["the weights were changed"]
    run_sql(database, "DELETE FROM published.weight")
    assert postgis.problems(each.release_id) == ["the weights were changed"]
    run_sql(database, "UPDATE published.zone_tile SET entering = entering / 2 WHERE tile_no = 3")
    assert "the tiles were changed" in postgis.problems(each.release_id)


@pytest.mark.parametrize("act", ["withdraw", "purge"])
def test_weights_go_with_their_release(act: str, tmp_path: Path, database: str, bundles: list[Bundle]) -> None:
    for store in (EmbeddedStore(tmp_path), PostgisStore(database)):
        for each in bundles[:2]:
            store.publish(each, accept)
        getattr(store, act)("rested", DAYS[0], Act("somebody", "a test"))
        for table in ("weights", "tiles"):
            left = store.query(f"select distinct release_id from {table}")["release_id"].tolist()
            assert left == [bundles[1].release_id]
    lost = "select count(*) as n from zone_tile x left join zone z using (zone_no) where z.zone_no is null"
    assert PostgisStore(database).query(lost)["n"].tolist() == [0]
    assert not list(tmp_path.glob(f"published/rested/releases/{bundles[0].release_id}/*.parquet"))
    with pytest.raises(OdanonError, match="withdrawn or purged"):
        PostgisStore(database).weights(bundles[0].release_id)


def test_a_bundle_that_offers_what_it_does_not_hold_is_refused(bundles: list[Bundle]) -> None:
    whole = bundles[0]
    check_bundle(whole)
    parts = {
        "the better one": {"manifest": {**whole.manifest, "readings": ["even"]}},
        "in parts only": {"flows": whole.flows.assign(spread_prior=np.nan)},
        "does not have": {"weights": whole.weights.assign(zone_id="elsewhere")},
        "twice in one reading": {"weights": pd.concat([whole.weights, whole.weights.iloc[:1]])},
        "a tile is named twice": {"tiles": pd.concat([whole.tiles, whole.tiles.iloc[:1]])},
        "offered, weighed and spread": {"tiles": whole.tiles.iloc[:0]},
        "which file": {"manifest": {**whole.manifest, "weights": {}}},
    }
    for sentence, changed in parts.items():
        with pytest.raises(OdanonError, match=sentence):
            check_bundle(Bundle(**{**vars(whole), **changed}))
