"""Names of places in both stores: kept, shown, read from releases that have none; data, never code."""

import io
import json
from datetime import date, timedelta
from pathlib import Path

import pandas as pd
import psycopg2
import pytest
from bundles import DAY, accept, bundle, town_zones
from store_databases import as_role, run_sql

import odanon
from odanon.errors import OdanonError
from odanon.geo.placenames import LONGEST_JOINED
from odanon_assets.derived.export import Format, export
from odanon_assets.stores import schema
from odanon_assets.stores.bundle import Bundle
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Store
from odanon_assets.stores.postgis import PostgisStore

LATER = DAY + timedelta(days=1)
HOSTILE = [
    "'; DROP TABLE published.zone; --",
    '=HYPERLINK("http://x", "y")',
    "<script>alert(1)</script> ]]> &amp;",
]


def named(names: list[str | None], day: date = DAY, trips: int = 40) -> Bundle:
    zones = town_zones(["z1", "z2", "z3"])
    return bundle(trips, day=day, zones=zones.assign(name=pd.array(names, dtype="str")))


def test_names_come_back_beside_releases_without_any(store: Store) -> None:
    made = named(["Harbour", None, "Old Town"], LATER)
    store.publish(bundle(), accept)
    store.publish(made, accept)
    before, after = (store.zones(str(store.released("town", day))) for day in (DAY, LATER))
    assert list(before.columns) == list(after.columns) == list(made.zones.columns)
    assert before["name"].isna().all()
    assert after["name"].fillna("").tolist() == ["Harbour", "", "Old Town"]
    assert store.problems(made.release_id) == []
    told = store.query("select zone_id, name from zones where name is not null order by zone_id")
    assert told.to_numpy().tolist() == [["z1", "Harbour"], ["z3", "Old Town"]]
    assert not store.publish(made, accept)  # the same once more is no other release


def test_only_names_that_are_there_are_sealed(store: Store) -> None:
    plain, called = bundle(), named([None, "Quay", None], LATER)
    store.publish(plain, accept)
    store.publish(called, accept)
    zones = [json.loads(store.manifest_text(made.release_id))["content"]["zones"] for made in (plain, called)]
    assert zones[0] == "c4b49a56effbe98e007bf66b313488566c367f338af43a5b1f2bd257690ac6cf"  # as before there were names
    assert zones[1] != zones[0]


@pytest.mark.parametrize(
    "name", ["two\nlines", " begins with a space", "", "x" * (LONGEST_JOINED + 1), "a\0b", "\u202e"]
)
def test_names_that_are_no_plain_text_are_refused(store: Store, name: str) -> None:
    with pytest.raises(OdanonError, match="name is not one line of plain text"):
        store.publish(named([name, None, None]), accept)
    assert store.windows("town") == []


def test_hostile_names_are_data_in_tables_client_and_files(store: Store, tmp_path: Path) -> None:
    store.publish(named([*HOSTILE]), accept)
    assert store.zones(str(store.released("town", DAY)))["name"].tolist() == HOSTILE
    formats = [Format.csv, Format.geojson, Format.gpkg, Format.geoparquet, Format.flowmap, Format.kepler]
    export(store, "town", tmp_path / "out", formats, None, None)
    cells = pd.read_csv(tmp_path / "out" / "zones.csv")["name"].tolist()
    assert cells == [HOSTILE[0], f"'{HOSTILE[1]}", HOSTILE[2]]  # no cell is a formula
    places = pd.read_csv(tmp_path / "out" / "flowmap_locations.csv")
    assert places["name"].tolist()[1].startswith("'=")
    features = json.loads((tmp_path / "out" / "zones.geojson").read_text())["features"]
    assert [each["properties"]["name"] for each in features] == HOSTILE


def test_readers_get_names_from_the_client(tmp_path: Path, database: str) -> None:
    made = named(["Harbour", None, "Old Town"])
    told = []
    for store, place in (
        (EmbeddedStore(tmp_path), str(tmp_path)),
        (PostgisStore(database), as_role(database, "odanon_reader")),
    ):
        store.publish(made, accept)
        town = odanon.open(place)["town"]
        zones, flows = town.zones(), town.flows(names=True)
        assert [*zones.columns][zones.columns.get_loc("zone_id") + 1] == "name"
        assert zones["name"].fillna("").tolist() == ["Harbour", "", "Old Town"]
        assert "origin_name" not in town.flows()
        told.append(flows)
    shared = ["origin_zone", "origin_name", "destination_zone", "destination_name", "trips"]
    pd.testing.assert_frame_equal(told[0][shared], told[1][shared])
    ends = told[0].set_index("origin_zone")["origin_name"].fillna("")
    assert ends.to_dict() == {"z1": "Harbour", "z2": "", "z3": "Old Town"}


def test_views_for_maps_name_both_ends(database: str) -> None:
    PostgisStore(database).publish(named(["Harbour", None, "Old Town"]), accept)
    for view in ("desire_lines", "product_town"):
        rows = ask(
            as_role(database, "odanon_reader"),
            f"SELECT DISTINCT origin_name, destination_name FROM published.{view} WHERE origin_zone = 'z3'",
        )
        assert rows == [("Old Town", None)]


@pytest.mark.parametrize("version", ["0011", "0012"])
def test_a_filled_database_takes_names(version: str, fresh_database: str, database: str) -> None:
    old, new = bundle(), named(["Harbour", None, "Old Town"], LATER)
    PostgisStore(database).publish(old, accept)
    schema.init(fresh_database, version)
    copied(database, fresh_database)
    run_sql(
        fresh_database,
        "SELECT odanon.ensure_product_view('town'); CREATE VIEW raw.mine AS SELECT * FROM published.zones",
    )
    schema.init(fresh_database)
    assert schema.check(fresh_database) == []
    store = PostgisStore(fresh_database)
    assert store.problems(old.release_id) == []
    assert store.zones(old.release_id)["name"].isna().all()
    store.publish(new, accept)
    reader = as_role(fresh_database, "odanon_reader")
    names = ask(reader, "SELECT zone_id, name FROM published.zones WHERE name IS NOT NULL ORDER BY 1")
    assert names == [("z1", "Harbour"), ("z3", "Old Town")]
    assert ask(reader, "SELECT count(*), count(origin_name) FROM published.product_town") == [(6, 2)]
    assert ask(fresh_database, "SELECT count(*) FROM raw.mine") == [(6,)]  # what others made of the view still works


def copied(source: str, target: str) -> None:
    """The rows of our tables, in another database whose tables may be older."""
    listed = (
        "SELECT table_schema || '.' || table_name, array_agg(column_name::text) FROM information_schema.columns"
        " JOIN information_schema.tables USING (table_schema, table_name) WHERE table_schema = 'published'"
        " AND table_type = 'BASE TABLE' AND table_name NOT LIKE 'flow\\_2%' AND is_generated = 'NEVER' GROUP BY 1"
    )
    here, there = dict(ask(source, listed)), dict(ask(target, listed))
    run_sql(target, f"SELECT odanon.ensure_month('{DAY}')")
    for table in here.keys() & there.keys():
        columns, rows = ", ".join(sorted({*here[table]} & {*there[table]})), io.StringIO()
        for url, statement in (
            (source, f"COPY (SELECT {columns} FROM {table}) TO STDOUT"),
            (target, f"COPY {table} ({columns}) FROM STDIN"),
        ):
            with psycopg2.connect(url) as connection, connection.cursor() as cursor:
                if url == target:
                    cursor.execute(
                        "SET session_replication_role = replica"
                    )  # no foreign keys: tables come in any order
                cursor.copy_expert(statement, rows)
            connection.close()
            rows.seek(0)
    for table, number in (("release", "release_no"), ("zone", "zone_no")):
        serial = f"pg_get_serial_sequence('published.{table}', '{number}')"
        run_sql(target, f"SELECT setval({serial}, max({number})) FROM published.{table}")


def ask(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        found = cursor.fetchall()
    connection.close()
    return found
