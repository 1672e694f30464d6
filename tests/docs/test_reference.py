"""The generated pages: nothing of the code is missing in them, and their examples are right."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import geopandas
import psycopg2
import pytest
import yaml
from psycopg2 import sql
from repository import REPOSITORY
from shapely.geometry import box
from store_databases import renamed, run_sql

from odanon.demand.settings import Demand
from odanon.product import load_product
from odanon_assets.stores import schema

BUILD = REPOSITORY / "docs" / "build"
DATABASE = BUILD / "database.json"
FUNCTIONS = """
SELECT p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), obj_description(p.oid, 'pg_proc')
FROM pg_proc p WHERE p.pronamespace = 'odanon'::regnamespace AND has_function_privilege('odanon_reader', p.oid, 'EXECUTE')
ORDER BY 1, 2"""
AUDIT_LOG = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), col_description(a.attrelid, a.attnum)
FROM pg_attribute a WHERE a.attrelid = 'work.audit_log'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""
VIEWS = """
SELECT c.relname, obj_description(c.oid, 'pg_class'), a.attname, format_type(a.atttypid, a.atttypmod), col_description(c.oid, a.attnum)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'published'::regnamespace AND c.relkind = 'v' AND has_table_privilege('odanon_reader', c.oid, 'SELECT')
ORDER BY c.relname, a.attnum"""


def described(url: str) -> dict[str, Any]:
    """What may be asked of a database, as the database itself describes it: by readers, and the audit log."""
    connection = psycopg2.connect(url)
    with connection.cursor() as cursor:
        cursor.execute(FUNCTIONS)
        functions = [dict(zip(("name", "arguments", "result", "comment"), row, strict=True)) for row in cursor]
        cursor.execute(VIEWS)
        views: dict[str, Any] = {}
        for name, comment, *column in cursor:
            views.setdefault(name, {"comment": comment, "columns": []})["columns"].append(column)
        cursor.execute(AUDIT_LOG)
        log = [list(row) for row in cursor]
    connection.close()
    return {"functions": functions, "views": views, "audit_log": log}


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


def test_the_examples_of_the_page_of_product_files_are_products(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every key of theirs is one that a product file may have, and means something there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ODANON_DB_URL", "postgresql://publisher@localhost/odanon")
    (tmp_path / "tile-weights.csv").write_text("tile,residents\n881f9022abfffff,120\n")
    square = geopandas.GeoDataFrame({"district": ["a"]}, geometry=[box(4, 45, 5, 46)], crs="EPSG:4326")
    square.to_file(tmp_path / "districts.gpkg")
    texts = (BUILD / "every-key.yaml").read_text().split("\n---\n")
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.yaml").write_text(text)
        load_product(tmp_path / f"{number}.yaml")
    assert len(texts) == 3


def test_the_examples_of_the_page_of_demand_files_are_demand_files() -> None:
    """And every key of theirs stands on the page, since building it asks for an example of each."""
    texts = (BUILD / "every-demand-key.yaml").read_text().split("\n---\n")
    found = [Demand.model_validate(yaml.safe_load(text)) for text in texts]
    assert [each.inputs.od.published is None for each in found] == [True, True, False]


def test_every_key_of_a_demand_file_has_its_row(built: Path) -> None:
    page = re.sub(r"<[^>]+>", "", (built / "reference" / "demand-file.html").read_text())
    schema = Demand.model_json_schema()
    below = {"inputs": "InputFiles", "inputs.od": "OdInput", "filter": "Filter", "match": "Match"}
    wanted = [
        *schema["properties"],
        *(f"{name}.{key}" for name, each in below.items() for key in schema["$defs"][each]["properties"]),
    ]
    assert [key for key in wanted if not re.search(rf"^{re.escape(key)}$", page, re.MULTILINE)] == []


@pytest.mark.thorough  # seconds, and pictures change when an algorithm does
def test_the_pictures_are_those_that_the_code_draws(tmp_path: Path) -> None:
    """After a wanted change: `make pictures`, look at them, commit them."""
    subprocess.run([sys.executable, BUILD / "draw.py", tmp_path], check=True)
    for path in tmp_path.iterdir():
        assert path.read_text() == (REPOSITORY / "docs" / "pictures" / path.name).read_text()
