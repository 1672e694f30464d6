"""The page about who did what, followed on both stores."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from bundles import accept, bundle
from repository import REPOSITORY
from store_databases import renamed, run_sql

from odanon_assets.stores import schema
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Act, Store
from odanon_assets.stores.postgis import PostgisStore

WHO = (REPOSITORY / "docs" / "how-to" / "who-did-what.md").read_text()


def withdrawn(store: Store) -> None:
    store.publish(published := bundle(), accept)
    store.withdraw(published.product, published.window_start, Act("Ada Example", "half a day was delivered"))


def told(program: str, folder: Path, **variables: str) -> str:
    """What the one line of the page that begins with a program prints."""
    (line,) = re.findall(rf"^    ({program} .+)$", WHO, re.MULTILINE)
    line = line.replace("my-city", bundle().product)
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_who_withdrew_a_day_of_a_folder_is_told(tmp_path: Path) -> None:
    withdrawn(EmbeddedStore(tmp_path / "odanon_data"))
    said = told("grep", tmp_path)
    assert '"by_name": "Ada Example"' in said
    assert '"reason": "half a day was delivered"' in said


@pytest.mark.thorough
def test_who_withdrew_a_day_of_a_database_is_told(postgis_url: str, tmp_path: Path) -> None:
    run_sql(postgis_url, "CREATE DATABASE odanon_acts")
    schema.init(url := renamed(postgis_url, "odanon_acts"))
    withdrawn(PostgisStore(url))
    said = told("psql", tmp_path, ODANON_DB_URL=url)
    run_sql(postgis_url, "DROP DATABASE odanon_acts WITH (FORCE)")
    assert "Ada Example | half a day was delivered" in said
