"""Rows of people and pseudonym keys go when their declared time is over; what was published stays known (rule 14)."""

import json
import re
from pathlib import Path

import gate_town as gate
import pandas as pd
import pytest
from dated_files import FIRST, files_product, write_day
from gate_town import DAY, people, published, town
from killing import die, killed
from typer.testing import CliRunner

from odanon import cli
from odanon.errors import OdanonError
from odanon.product import Product
from odanon_assets.chain import day, od
from odanon_assets.chain.stages import STAGES
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


def test_nothing_of_people_is_left_and_the_release_stays(product: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    release = published(product)
    with monkeypatch.context() as patch:
        patch.setattr(od, "tile_labels", die)
        killed(lambda: gate.made(product))
    assert list((default_root() / "work").glob(".odanon-*/draft/person_rows.parquet"))
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


def test_a_salt_that_a_kill_left_under_two_names_goes_under_both(
    product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", die)
        killed(lambda: Lake(default_root()).salt(product.data_sha256, DAY.isoformat()))
    salts = {path.read_bytes() for path in files() if "keys" in path.parts}
    assert [len(salts), len([path for path in files() if "keys" in path.parts])] == [1, 2]
    purged()
    assert not any("keys" in path.parts for path in files())


def test_a_purge_that_was_killed_leaves_no_key_of_data_that_have_another_name_by_now(
    product: Product, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate.made(product)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", die)
        killed(purged)
    town(workspace, file_in=workspace / "pipelines", retention="30d", dataset="others")
    purged()
    assert not any("keys" in path.parts for path in files())


def test_points_read_beside_a_published_day_are_swept_after_kill_9(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the next run, and by a purge that has nothing else to do."""
    write_day(workspace / "source", FIRST)
    monkeypatch.setenv(*next(iter(gate.SECRET.items())))
    late = files_product(workspace, retention="36500d")
    plugins = {name: getattr(late, name).instance for name in ("source", "engine", "staypoints", "zoning", "hierarchy")}
    plugins["anonymize"] = late.anonymize.instance

    def run() -> list[day.Event]:
        return list(day.run_day(late, FIRST, {stage.name for stage in STAGES}, set(), plugins))

    def points() -> list[Path]:
        kept = Lake(default_root()).folder("small", "traces", FIRST)
        return [path for path in files() if path.name.startswith("bucket-") and kept not in path.parents]

    run()
    assert open_store(late).released("small", FIRST) is not None
    before = set(points())

    def kill() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(day, "_same_tables", die)
            killed(run)
        assert set(points()) - before

    kill()
    CliRunner().invoke(cli.main, ["purge", "small", "--expired", *WHO], catch_exceptions=False)
    assert set(points()) == before
    kill()
    run()
    assert set(points()) == before


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
