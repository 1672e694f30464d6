"""The door as a whole: what a day's files come to in the buckets of the traces stage."""

import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from product_example import small_product

from odanon.errors import OdanonError
from odanon.reading.pseudonym import KEY_VARIABLE
from odanon.simulate.mode import Mode
from odanon.simulate.source import Simulated
from odanon.simulate.write import write_city
from odanon_assets.chain.stages import run_stage
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root

DAY = date(2026, 3, 29)  # 23 hours in Paris


def city(folder: Path, dirt: float) -> dict[str, Any]:
    """Points of the day and its neighbours, with so much dirt, as files."""
    source = Simulated(people=120, seed=6, dirt=dirt)
    return write_city(source, Mode.gps, date(2026, 3, 28), 3, folder, lambda _: None)


def through_the_door(workspace: Path, folder: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The figures of the traces stage and the bytes of its buckets."""
    source = {"plugin": "points", "path": f"{folder}/points", "date_zone": "Europe/Paris"}
    product = small_product(workspace, source=source, dataset="city", context="2h")
    plugins = {"source": product.source.instance, "engine": product.engine.instance}
    figures = run_stage(product, "traces", DAY, plugins)
    buckets = sorted(Lake(default_root()).read(product.product, "traces", DAY).glob("bucket-*.parquet"))
    return figures, {path.name: path.read_bytes() for path in buckets}


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "a key for the tests of the door, long enough")


def test_dirt_and_doubled_files_change_nothing(workspace: Path, key: None) -> None:
    city(workspace / "clean", 0.0)
    manifest = city(workspace / "soiled", 0.05)
    pristine, expected = through_the_door(workspace, workspace / "clean")
    figures, buckets = through_the_door(workspace, workspace / "soiled")
    assert buckets == expected
    assert figures["points"] == pristine["points"] > 10_000
    assert {reason for reason, count in figures["reasons"].items() if count} == {
        "no_time_zone", "not_finite", "out_of_range", "null_island", "before_2000", "in_the_future", "swapped", "teleport",
    }  # fmt: skip
    assert figures["points_read"] == manifest["rows"]["points"]
    for day in (workspace / "soiled" / "points").iterdir():
        for path in list(day.iterdir()):
            shutil.copy(path, day / f"copy-of-{path.name}")
    doubled, buckets = through_the_door(workspace, workspace / "soiled")
    assert buckets == expected
    assert doubled["points_read"] == 2 * figures["points_read"]
    for counted in (figures, doubled):
        parts = ("points", "duplicates", "outside_window", "quarantined")
        assert sum(counted[part] for part in parts) == counted["points_read"]


def test_real_people_need_a_key(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    city(workspace / "clean", 0.0)
    with pytest.raises(ValueError, match="export a secret key"):
        through_the_door(workspace, workspace / "clean")


def test_a_damaged_neighbour_is_reported_and_a_damaged_day_stops(workspace: Path, key: None) -> None:
    city(workspace / "clean", 0.0)
    before, today = (next((workspace / "clean" / "points" / f"date=2026-03-{n}").iterdir()) for n in (28, 29))
    sound, _ = through_the_door(workspace, workspace / "clean")
    assert sound["unreadable_neighbours"] == 0
    before.write_bytes(before.read_bytes()[:-50])
    figures, _ = through_the_door(workspace, workspace / "clean")
    assert figures["unreadable_neighbours"] == 1
    assert 0.9 * sound["points"] < figures["points"] < sound["points"]
    today.write_bytes(today.read_bytes()[:-50])
    with pytest.raises(OdanonError, match="truncated, damaged"):
        through_the_door(workspace, workspace / "clean")
