"""deploy/sql/users.sql on a real server: who gets in, and who may do what."""

import psycopg2
import pytest
from deployment import Deployed, sql

from odanon_assets.stores import schema

MAY = {  # user: what it may do, what it may not
    "odanon_app": (
        [
            "SELECT * FROM published.flow",
            "INSERT INTO work.audit_log (act, product, window_start, release_id) VALUES ('publish', 'x', now(), 'x')",
        ],
        ["DELETE FROM published.flow", "CREATE TABLE raw.x ()", "CREATE ROLE x", "CREATE TABLE published.x ()"],
    ),
    "odanon_steward": (
        ["DELETE FROM published.flow", "CREATE TABLE raw.kept ()"],
        ["DELETE FROM work.audit_log", "CREATE ROLE x"],
    ),
    "odanon_explorer": (
        ["SELECT * FROM published.flows", "SELECT * FROM published.windows"],
        ["SELECT * FROM work.audit_log", "DELETE FROM published.flow", "CREATE TABLE published.x ()", "CREATE ROLE x"],
    ),
    "odanon_backup": (
        ["SELECT * FROM published.flow", "SELECT * FROM work.audit_log"],
        ["DELETE FROM published.flow", "INSERT INTO published.zoning (version) VALUES ('x')"],
    ),
}


@pytest.mark.parametrize("user", MAY)
def test_each_user_may_do_its_work_and_nothing_else(deployed: Deployed, user: str) -> None:
    allowed, forbidden = MAY[user]
    connection = psycopg2.connect(deployed.login(user))
    for statement in (*allowed, *forbidden):
        with connection.cursor() as cursor:
            if statement in allowed:
                cursor.execute(statement)
            else:
                with pytest.raises(psycopg2.errors.InsufficientPrivilege):
                    cursor.execute(statement)
        connection.rollback()
    connection.close()


def test_dagster_has_its_own_database_and_nothing_of_ours(deployed: Deployed) -> None:
    sql(deployed.login("dagster", "dagster"), "CREATE TABLE tried ()")
    sql(deployed.login("dagster", "dagster"), "DROP TABLE tried")
    with pytest.raises(psycopg2.OperationalError, match="permission denied for database"):
        sql(deployed.login("dagster"), "SELECT 1")
    with pytest.raises(psycopg2.OperationalError, match="permission denied for database"):
        sql(deployed.login("odanon_app", "dagster"), "SELECT 1")


def test_nobody_gets_in_without_the_password(deployed: Deployed) -> None:
    with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
        sql(deployed.url("odanon_app", "wrong"), "SELECT 1")


def test_repeating_it_changes_the_password_and_nothing_is_too_open(deployed: Deployed) -> None:
    before = deployed.login("odanon_steward")
    path = deployed.secrets / "steward_password"
    path.chmod(0o600)
    path.write_text('it\'s a "new" $(password) \\ with everything\n')
    deployed.run_users_sql()
    assert sql(deployed.login("odanon_steward"), "SELECT 1") == [1]
    with pytest.raises(psycopg2.OperationalError):
        sql(before, "SELECT 1")
    assert schema.check(deployed.url()) == []
