"""Rows of people and pseudonym keys go when their declared time is over; what was published stays known (rule 14)."""

import json
import re
from pathlib import Path

import gate_town as gate
import pandas as pd
import pytest
from gate_town import DAY, people, published, town
from typer.testing import CliRunner

from odanon import cli
from odanon.errors import OdanonError
from odanon.product import Product
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.stores.choice import open_store

WHO = ["--by", "Ada", "--reason", "the law"]


@pytest.fixture
def product(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Product:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    gate.write(workspace, people())
    return town(workspace, file_in=workspace / "pipelines", retention="30d")


def purged() -> str:
    result = CliRunner().invoke(cli.main, ["purge", "town", "--expired", *WHO])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def files() -> list[Path]:
    return [path for path in default_root().rglob("*") if path.is_file() and "locks" not in path.parts]


def test_nothing_of_people_is_left_and_the_release_stays(product: Product) -> None:
    release = published(product)
    draft = Lake(default_root()).folder("town", "od", DAY).with_name(f".date={DAY}.killed")
    draft.mkdir()
    (draft / "person_rows.parquet").write_bytes(b"left by a process that was killed")
    assert any(path.name == "person_rows.parquet" for path in files())
    manifest = open_store(product).manifest_text(release)
    assert purged() == "0 windows purged\nrows of people and keys of 1 days deleted\n"
    left = [path for path in files() if path.suffix == ".parquet" and "published" not in path.parts]
    assert [path.parent.parent.name for path in left] == ["metrics"] * len(left)
    assert not any("keys" in path.parts for path in files())
    assert open_store(product).manifest_text(release) == manifest  # hashes of input and output included
    assert open_store(product).problems(release) == []
    assert open_store(product).ledger()["input_sha256"].str.fullmatch("[0-9a-f]{64}").all()
    (line,) = (default_root() / "deletions.jsonl").read_text().splitlines()
    assert {**json.loads(line), "at": ""} == {
        "at": "",
        "product": "town",
        "day": str(DAY),
        "by_name": "Ada",
        "reason": "the law",
    }
    assert purged().endswith("of 0 days deleted\n")


def test_young_days_stay(product: Product, workspace: Path) -> None:
    published(product)
    long, lake = town(workspace, file_in=workspace / "pipelines", retention="36500d"), Lake(default_root())
    assert purged().endswith("of 0 days deleted\n")
    assert lake.personal_days("town", long.data_sha256) == [DAY]


def test_a_key_that_is_gone_does_not_come_back(product: Product) -> None:
    """Whoever keeps a copy of rows and the master key cannot tell any more whose they are."""

    def pseudonyms() -> set[int]:
        rows = Lake(default_root()).read("town", "od", DAY) / "person_rows.parquet"
        return set(pd.read_parquet(rows)["person"])

    gate.made(product)
    before = pseudonyms()
    gate.made(product)
    assert pseudonyms() == before
    purged()
    gate.made(product)
    assert pseudonyms().isdisjoint(before)


def test_keys_are_for_their_owner_alone(product: Product) -> None:
    gate.made(product)
    (key,) = (path for path in files() if "keys" in path.parts)
    assert key.stat().st_mode & 0o077 == 0
    assert key.parent.stat().st_mode & 0o077 == 0
    assert len(key.read_bytes()) == 32


def test_products_of_one_data_set_have_the_same_pseudonyms_within_a_day(product: Product, workspace: Path) -> None:
    gate.made(product)
    gate.made(town(workspace, "other"))
    gate.made(town(workspace, "stranger", dataset="another"))
    rows = {
        name: set(pd.read_parquet(Lake(default_root()).read(name, "od", DAY) / "person_rows.parquet")["person"])
        for name in ("town", "other", "stranger")
    }
    assert rows["town"] == rows["other"]
    assert rows["town"].isdisjoint(rows["stranger"])


def test_without_a_declared_retention_there_is_nothing_to_expire(workspace: Path) -> None:
    town(workspace, file_in=workspace / "pipelines")
    with pytest.raises(OdanonError, match=re.escape("declares no retention nor publish.retention")):
        purged()
