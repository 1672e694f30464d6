"""Rests in the stores: kept and given back, sealed, and spread over what no finer row covers, in SQL as on dense cells."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pytest
from bundles import accept, bundle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rested import SIDE, SIZE, between, dense, rested, rested_bundle
from shapely.geometry import box
from store_databases import emptied

from odanon.model.release import REST
from odanon.model.when import When
from odanon_assets.derived.exports.geopackage import desire_lines
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Store
from odanon_assets.stores.postgis import PostgisStore
from odanon_assets.stores.seal import content_problems, flows_digest, read_parts

DAYS = [date(2026, 3, 2), date(2026, 3, 3)]
SINCE, UNTIL = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 4, tzinfo=UTC)


@pytest.fixture(scope="module")
def stores(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Store]:
    found = EmbeddedStore(tmp_path_factory.mktemp("store")), PostgisStore(emptied(shared_database))
    for store in found:
        store.publish(rested_bundle(DAYS[0], 1), accept)
        store.publish(rested_bundle(DAYS[1], 2, split=True), accept)
    return found


def test_the_town_has_rests_inside_rests() -> None:
    releases = [*rested(1), *rested(2)]
    assert all((made.flows["kind"] == REST).sum() > 1 for made in releases)
    assert any(made.flows["origin"].nunique() > 5 for made in releases)


def test_rows_are_given_back_as_they_were(stores: tuple[Store, Store]) -> None:
    for store in stores:
        for day in DAYS:
            made = rested_bundle(day, 1) if day == DAYS[0] else rested_bundle(day, 2, split=True)
            found = store.flows(made.release_id)
            pd.testing.assert_frame_equal(found, made.flows, check_dtype=False)
            assert store.problems(made.release_id) == []


def test_a_changed_kind_or_spread_breaks_the_seal() -> None:
    flows = rested_bundle(DAYS[0], 1).flows
    sealed = flows_digest(flows)
    assert flows_digest(flows.assign(kind="flow")) != sealed
    assert flows_digest(flows.assign(spread=flows["trips"].astype(float))) != sealed
    plain = flows.assign(kind="flow", spread=flows["trips"].astype(float))
    assert flows_digest(plain.assign(spread=plain["spread"] + 1)) != flows_digest(plain)
    assert flows_digest(plain.assign(kind=["rest", *plain["kind"][1:]])) != flows_digest(plain)


corner = st.tuples(st.floats(-0.5, SIDE + 0.5), st.floats(-0.5, SIDE + 0.5))
rectangle = st.tuples(corner, corner).filter(lambda c: abs(c[0][0] - c[1][0]) > 0.05 and abs(c[0][1] - c[1][1]) > 0.05)
RECTANGLE = rectangle.map(
    lambda c: tuple(
        SIZE * value
        for value in (min(c[0][0], c[1][0]), min(c[0][1], c[1][1]), max(c[0][0], c[1][0]), max(c[0][1], c[1][1]))
    )
)


def expected(origin: tuple[float, ...], destination: tuple[float, ...]) -> Iterator[float]:
    for made in (*rested(1), *rested(2)):
        yield between(dense(made), origin, destination)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10, deadline=None)
@given(RECTANGLE, RECTANGLE)
def test_flows_between_drawn_areas_are_those_of_dense_cells(
    stores: tuple[Store, Store], origin: tuple[float, ...], destination: tuple[float, ...]
) -> None:
    total = sum(expected(origin, destination))
    for store in stores:
        found = store.flow("rested", box(*origin), box(*destination), When(SINCE, UNTIL))
        assert found.estimate == pytest.approx(total, rel=1e-3, abs=1e-2)


def test_a_partition_of_the_map_keeps_every_trip(stores: tuple[Store, Store]) -> None:
    """Cut through the middle of squares, and by whole quarters, which rests and flows share."""
    for cut in (2.0, 1.3):
        parts = [box(0, 0, cut * SIZE, SIDE * SIZE), box(cut * SIZE, 0, SIDE * SIZE, SIDE * SIZE)]
        areas = geopandas.GeoDataFrame(geometry=parts, index=["west", "east"], crs="EPSG:4326")
        shown = [made.flows["trips"].sum() for made in (*rested(1), *rested(2))]
        for store in stores:
            matrix = store.matrix("rested", areas, When(SINCE, UNTIL))
            assert matrix["estimate"].sum() == pytest.approx(sum(shown), rel=1e-6)
            west = matrix.set_index(["origin", "destination"])["estimate"]["west", "west"]
            rectangle = (0, 0, cut * SIZE, SIDE * SIZE)
            assert west == pytest.approx(sum(expected(rectangle, rectangle)), rel=1e-3)


def test_both_stores_answer_queries_about_kinds(stores: tuple[Store, Store]) -> None:
    asked = "select kind, count(*) as rows, sum(trips)::bigint as trips from flows group by 1 order by 1"
    embedded, postgis = (store.query(asked) for store in stores)
    assert embedded.values.tolist() == postgis.values.tolist()
    assert embedded["kind"].tolist() == ["flow", "rest"]


def test_spread_over_segments_leaves_finer_rows_to_all_of_them() -> None:
    """A finer row may be told of everybody and the rest around it by segment; all rows together are one reading."""
    whole, split = (rested_bundle(DAYS[0], 2, split=split) for split in (False, True))
    assert set(split.flows["segment"]) == {"F", "M", "all"}
    place = ["time_start", "origin_zone", "destination_zone"]
    sums = [made.flows.groupby(place)[["trips", "spread"]].sum() for made in (whole, split)]
    np.testing.assert_allclose(sums[0], sums[1])
    assert split.flows["spread"].sum() == pytest.approx(split.flows["trips"].sum())


def test_lines_say_which_are_rests() -> None:
    made = rested_bundle(DAYS[0], 1)
    zones = made.zones.assign(release_id=made.release_id)
    lines = desire_lines(made.flows, zones)
    assert set(lines["kind"]) == {"flow", "rest"}
    key = ["origin_zone", "destination_zone", "kind"]
    assert not lines.duplicated(key).any()


def test_files_that_are_older_than_rests_are_read_as_flows_and_keep_their_seal(tmp_path: Path) -> None:
    """Beside a release with rests, whose file has more columns."""
    store, plain = EmbeddedStore(tmp_path), bundle(product="rested", day=DAYS[0])
    store.publish(plain, accept)
    old = store.folder(plain.release_id) / "flows.parquet"
    pd.read_parquet(old).drop(columns=["kind", "spread"]).to_parquet(old, index=False)
    asked = "select distinct kind, spread = trips as whole from flows order by all"
    assert store.query(asked).values.tolist() == [["flow", True]]
    store.publish(rested_bundle(DAYS[1], 1), accept)
    assert store.query(asked).values.tolist() == [["flow", False], ["flow", True], ["rest", False]]
    pd.testing.assert_frame_equal(store.flows(plain.release_id), plain.flows, check_dtype=False)
    manifest = json.loads(store.manifest_text(plain.release_id))
    assert content_problems(manifest, read_parts(old.parent)) == []
