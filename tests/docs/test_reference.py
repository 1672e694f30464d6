"""The generated pages: nothing of the code is missing in them, and their examples are right."""

import json
from typing import Any

import psycopg2
from psycopg2 import sql
from repository import REPOSITORY
from store_databases import renamed, run_sql

from odanon_assets.stores import schema

BUILD = REPOSITORY / "docs" / "build"
DATABASE = BUILD / "database.json"
FUNCTIONS = """
SELECT p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), obj_description(p.oid, 'pg_proc')
FROM pg_proc p WHERE p.pronamespace = 'odanon'::regnamespace AND has_function_privilege('odanon_reader', p.oid, 'EXECUTE')
ORDER BY 1, 2"""
VIEWS = """
SELECT c.relname, obj_description(c.oid, 'pg_class'), a.attname, format_type(a.atttypid, a.atttypmod), col_description(c.oid, a.attnum)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'published'::regnamespace AND c.relkind = 'v' AND has_table_privilege('odanon_reader', c.oid, 'SELECT')
ORDER BY c.relname, a.attnum"""


def described(url: str) -> dict[str, Any]:
    """What readers of a database may ask, as the database itself describes it."""
    connection = psycopg2.connect(url)
    with connection.cursor() as cursor:
        cursor.execute(FUNCTIONS)
        functions = [dict(zip(("name", "arguments", "result", "comment"), row, strict=True)) for row in cursor]
        cursor.execute(VIEWS)
        views: dict[str, Any] = {}
        for name, comment, *column in cursor:
            views.setdefault(name, {"comment": comment, "columns": []})["columns"].append(column)
    connection.close()
    return {"functions": functions, "views": views}


def test_the_page_of_sql_tells_what_a_real_database_does(postgis_url: str) -> None:
    """After a wanted change: delete docs/build/database.json, run this test once, look at the difference, commit it."""
    run_sql(postgis_url, sql.SQL("CREATE DATABASE odanon_described"))
    schema.init(url := renamed(postgis_url, "odanon_described"))
    found = described(url)
    run_sql(postgis_url, sql.SQL("DROP DATABASE odanon_described WITH (FORCE)"))
    if not DATABASE.exists():
        DATABASE.write_text(json.dumps(found, indent=1) + "\n")
    assert json.loads(DATABASE.read_text()) == found
    assert {"flow", "matrix", "profile"} <= {each["name"] for each in found["functions"]}
