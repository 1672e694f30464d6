"""The schema of the PostGIS store: migrations, comments, partitions, roles."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from bundles import DAY, accept, bundle
from store_databases import as_role, run_sql

from odanon.errors import OdanonError
from odanon_assets.stores import schema
from odanon_assets.stores.database import engine_of, transaction
from odanon_assets.stores.interface import Act
from odanon_assets.stores.postgis import PostgisStore

GOLDEN = Path(__file__).parent / "role_matrix.json"


def ask(url: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        found = cursor.fetchall()
    connection.close()
    return found


@pytest.mark.parametrize("version", ["0001", "0002"])
def test_an_empty_database_and_earlier_versions_end_alike(version: str, fresh_database: str, database: str) -> None:
    assert "run `odanon db init`" in " ".join(schema.check(fresh_database))
    schema.init(fresh_database, version)
    run_sql(
        fresh_database,
        "INSERT INTO published.zoning (version) VALUES ('v');"
        "INSERT INTO published.release (release_id, product, window_start, zoning_version, manifest, report)"
        " VALUES ('r', 'town', '2026-03-02', 'v', '{\"data_sha256\": \"ab\"}', '');"
        "INSERT INTO published.release_window (product, window_start, release_no) VALUES ('town', '2026-03-02', 1);"
        "SELECT odanon.ensure_month('2026-03-02');"
        "INSERT INTO published.flow (window_start, release_no, time_bin, origin_no, destination_no, trips, position, segment)"
        " VALUES ('2026-03-02', 1, '2026-03-02', 1, 1, 12, 0, 'all')",
    )
    assert schema.check(fresh_database) != []
    schema.init(fresh_database)
    assert schema.check(fresh_database) == []
    assert ask(fresh_database, "SELECT release_id FROM published.releases") == [("r",)]
    assert ask(fresh_database, "SELECT data_sha256 FROM published.release") == [("ab",)]
    # Rows that are older than rests are flows, also in the view of the product.
    assert ask(fresh_database, "SELECT kind, spread FROM published.visible_flow") == [("flow", 12.0)]
    view = (
        "SELECT count(*) FROM information_schema.columns WHERE table_name = 'product_town' AND column_name = 'spread'"
    )
    assert ask(fresh_database, view) == [(1,)]
    schema.init(fresh_database)  # once more changes nothing
    assert schema.check(fresh_database) == []
    columns = (
        "SELECT table_schema, table_name, column_name, data_type FROM information_schema.columns"
        " WHERE table_schema IN ('work', 'published') AND table_name NOT LIKE 'flow\\_%'"
        " AND table_name NOT LIKE 'product\\_%' ORDER BY 1, 2, 3"
    )
    assert ask(fresh_database, columns) == ask(database, columns)


def test_every_table_and_column_has_a_comment(database: str) -> None:
    PostgisStore(database).publish(bundle(), accept)
    ours = (
        "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname IN ('work', 'published') AND c.relkind IN ('r', 'p', 'v')"
    )
    relations = f"SELECT c.relname {ours} AND NOT c.relispartition AND obj_description(c.oid, 'pg_class') IS NULL"
    assert ask(database, relations) == []
    columns = (
        f"SELECT c.relname, a.attname {ours.replace('WHERE', 'JOIN pg_attribute a ON a.attrelid = c.oid WHERE')}"
        " AND a.attnum > 0 AND NOT a.attisdropped AND col_description(c.oid, a.attnum) IS NULL"
    )
    assert ask(database, columns) == []


def test_flows_lie_in_monthly_partitions_with_indexes(database: str) -> None:
    PostgisStore(database).publish(bundle(), accept)
    placed = ask(database, "SELECT DISTINCT tableoid::regclass::text FROM published.flow")
    assert placed == [("published.flow_2026_03",)]
    indexes = ask(database, "SELECT indexdef FROM pg_indexes WHERE tablename IN ('flow_2026_03', 'zone')")
    text = " ".join(row[0] for row in indexes)
    assert "(origin_no, destination_no, time_start) INCLUDE (trips, spread, release_no)" in text
    assert "USING gist (geometry)" in text
    assert "USING brin (release_no)" in text


def test_roles_can_do_what_the_golden_matrix_says(database: str) -> None:
    PostgisStore(database).publish(bundle(), accept)
    run_sql(database, "CREATE TABLE IF NOT EXISTS raw.source (person text)")
    with transaction(database) as connection:
        matrix = schema.privilege_matrix(connection)
    run_sql(database, "DROP TABLE raw.source")
    found = {
        table: {role: sorted(privileges) for role, privileges in sorted(roles.items())}
        for table, roles in sorted(matrix.items())
    }
    assert found == json.loads(GOLDEN.read_text())


@pytest.mark.parametrize(
    ("role", "statement"),
    [
        ("odanon_reader", "SELECT * FROM raw.source"),
        ("odanon_reader", "SELECT * FROM work.audit_log"),
        ("odanon_reader", "SELECT * FROM published.flow"),
        ("odanon_reader", "SELECT odanon.ensure_month('2030-01-01')"),
        ("odanon_publisher", "SELECT * FROM raw.source"),
        ("odanon_publisher", "DELETE FROM published.flow"),
        ("odanon_publisher", "UPDATE published.release SET manifest = ''"),
        ("odanon_publisher", "UPDATE published.release_window SET release_no = 1"),
        ("odanon_publisher", "CREATE TABLE published.x (a int)"),
        ("odanon_admin", "UPDATE work.audit_log SET reason = ''"),
        ("odanon_admin", "DELETE FROM work.audit_log"),
        ("odanon_admin", "TRUNCATE work.audit_log"),
        ("odanon", "DELETE FROM work.audit_log"),
        ("odanon", "TRUNCATE work.audit_log"),
    ],
)
def test_what_roles_must_not_do_fails(database: str, role: str, statement: str) -> None:
    PostgisStore(database).publish(bundle(), accept)
    run_sql(database, "CREATE TABLE IF NOT EXISTS raw.source (person text)")
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        run_sql(as_role(database, role), statement)
    run_sql(database, "DROP TABLE raw.source")


def test_each_role_does_its_own_work(database: str) -> None:
    publisher, reader, admin = (
        PostgisStore(as_role(database, f"odanon_{name}")) for name in ("publisher", "reader", "admin")
    )
    assert publisher.publish(bundle(rows=20), accept) is True
    assert publisher.publish(bundle(rows=20), accept) is False
    assert len(reader.query("select * from flows")) == 20
    assert len(reader.query("select * from product_town")) == 20
    assert len(reader.query("select * from desire_lines")) > 0
    assert reader.windows("town") == ["2026-03-02"]
    assert reader.released("town", DAY) == bundle(rows=20).release_id
    assert reader.report(bundle(rows=20).release_id) == bundle(rows=20).report
    assert publisher.problems(bundle(rows=20).release_id) == []
    act = Act("Ada", "typo")
    with pytest.raises(OdanonError, match="lacks the role"):
        publisher.publish(bundle(trips=41), accept, act)
    with pytest.raises(OdanonError, match="lacks the role"):
        publisher.purge("town", DAY, act)
    with pytest.raises(OdanonError, match="lacks the role"):
        publisher.withdraw("town", DAY, act)
    assert admin.publish(bundle(trips=41), accept, act) is True
    with pytest.raises(OdanonError, match="lacks the role"):
        reader.report(bundle(rows=20).release_id)  # it was replaced
    assert admin.withdraw("town", DAY, act) is True
    assert reader.standings("town") == {"2026-03-02": "withdrawn"}
    assert reader.query("select * from reports").empty
    assert admin.publish(bundle(trips=42), accept, act) is True
    assert admin.purge("town", DAY, act) is True


def test_what_functions_of_a_query_write_does_not_stay(database: str) -> None:
    """A read-only transaction lets large objects be made in PostgreSQL up to 15."""
    store, stored = PostgisStore(database), "select count(*) as n from pg_largeobject_metadata"
    with suppress(OdanonError):
        store.query("select lo_from_bytea(0, 'left behind')")
    assert store.query(stored)["n"].tolist() == [0]
    with pytest.raises(OdanonError):  # no transaction takes a number back
        store.query("select setval(pg_get_serial_sequence('work.audit_log', 'entry_no'), 1000)")


@pytest.mark.parametrize(
    ("harm", "finding"),
    [
        ("GRANT SELECT ON published.flow TO odanon_reader", "published.flow is too open: odanon_reader has SELECT"),
        ("GRANT SELECT (trips) ON published.flow TO PUBLIC", "published.flow is too open: public has SELECT"),
        ("GRANT USAGE ON SCHEMA raw TO odanon_publisher", "the schema raw is too open: odanon_publisher may use it"),
        ("GRANT CREATE ON SCHEMA public TO PUBLIC", "the schema public is too open"),
        ("GRANT UPDATE ON work.audit_log TO odanon_admin", "work.audit_log is too open: odanon_admin has UPDATE"),
        ("ALTER TABLE work.audit_log DISABLE TRIGGER append_only", "append-only trigger is missing or disabled"),
        ("REVOKE SELECT ON published.zones FROM odanon_reader", "odanon_reader lacks SELECT on published.zones"),
        ("GRANT EXECUTE ON FUNCTION odanon.ensure_month TO odanon_reader", "function odanon.ensure_month is too open"),
        ("DROP VIEW published.desire_lines", "published.desire_lines is missing"),
        ("UPDATE work.schema_version SET version_num = '0001'", "the schema is at version 0001"),
    ],
)
def test_check_says_what_is_missing_or_too_open(shared_database: str, harm: str, finding: str) -> None:
    # The harm is judged inside its own transaction and rolled back, so that no other test meets it.
    with engine_of(shared_database).connect() as connection:
        connection.exec_driver_sql(harm)
        found = schema.findings(connection)
        connection.rollback()
    assert any(finding in sentence for sentence in found), found


def test_a_role_with_too_much_power_is_found(shared_database: str) -> None:
    run_sql(shared_database, "ALTER ROLE odanon_reader CREATEDB; GRANT odanon_admin TO odanon_publisher")
    try:
        found = schema.check(shared_database)
    finally:
        run_sql(shared_database, "ALTER ROLE odanon_reader NOCREATEDB; REVOKE odanon_admin FROM odanon_publisher")
    assert any("odanon_reader is too powerful" in sentence for sentence in found)
    assert "the role odanon_publisher is a member of odanon_admin and should not be" in found
    assert schema.check(shared_database) == []


@pytest.mark.parametrize("role", ["", "odanon_publisher", "odanon_admin"])
def test_a_question_has_the_rights_of_readers_whoever_asks(role: str, database: str) -> None:
    PostgisStore(database).publish(bundle(), accept)
    store = PostgisStore(as_role(database, role) if role else database)
    assert len(store.query("select * from flows", "town"))
    for beyond in (
        "select * from work.audit_log",
        "select * from published.flow",
        "select pg_read_file('/etc/passwd')",
    ):
        with pytest.raises(OdanonError):
            store.query(beyond)
