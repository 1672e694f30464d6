"""Windows of several days: what closes them, what is in them, and what becomes of them afterwards."""

import json
import os
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import gate_town as gate
import numpy as np
import pandas as pd
import pytest
from dagster import AssetKey
from gate_town import DAY, made_window, people, publish, published, town
from typer.testing import CliRunner

from odanon import cli
from odanon.errors import OdanonError
from odanon.product import Product
from odanon_assets.chain.stages import Stage, day_stages, run_stage, window_stages
from odanon_assets.gate.facts import other_origin
from odanon_assets.gate.verification import verify_day
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.platform.build import build_definitions
from odanon_assets.platform.launch import open_instance, run_days
from odanon_assets.status.days import day_statuses
from odanon_assets.stores.choice import open_store
from odanon_assets.windows import gather
from odanon_assets.windows.closing import day_lacks, stays_open, window_days

TUESDAY = DAY + timedelta(days=1)
FEW = {"weekend": ["wednesday", "thursday", "friday", "saturday", "sunday"]}
WHO = ["--by", "Ada", "--reason", "the law"]


def weekly(folder: Path, name: str = "weekly", columns: dict[str, str] | None = None, **changes: Any) -> Product:
    told = {"od": {"bin": "12h", "days": "working"}, "calendar": FEW, "publish": {"window": "week"}, **changes}
    return town(folder, name, columns, **told)


@pytest.fixture
def folder(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    for number, day in enumerate((DAY, TUESDAY)):
        rows, rng = people(200, hours=(8, 17), day=day), np.random.default_rng(number)
        gate.write(workspace, rows[rng.random(len(rows)) < 0.7], day)
    return workspace


def given(folder: Path) -> pd.DataFrame:
    return pd.concat([pd.read_parquet(folder / f"{day}.parquet").assign(day=day) for day in (DAY, TUESDAY)])


def test_a_person_counts_once_in_the_window_and_all_trips_count(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Held against a plain sum over the days, in batches of a few rows."""
    monkeypatch.setattr(gather, "BATCH_ROWS", 50)
    product = weekly(folder)
    made_window(product)
    lake = Lake(default_root())
    rows = pd.read_parquet(lake.read("weekly", "window", DAY) / "person_rows.parquet")
    expected = given(folder).assign(half=lambda t: t["time_bin"].dt.hour // 12)
    expected = expected.groupby(["half", "origin", "destination", "person"])["trips"].sum()
    assert len(rows) == len(expected)
    assert sorted(rows["trips"]) == sorted(expected)
    assert rows["person"].nunique() == given(folder)["person"].nunique()
    assert rows["time_bin"].unique().tolist() == [pd.Timestamp(DAY, tz="UTC") + pd.Timedelta(hours=h) for h in (0, 12)]
    assert not rows.duplicated(["time_bin", "origin", "destination", "person"]).any()
    assert verify_day(product, lake, DAY) == []
    whole = (lake.read("weekly", "window", DAY) / "person_rows.parquet").read_bytes()
    made_window(product)
    assert (lake.read("weekly", "window", DAY) / "person_rows.parquet").read_bytes() == whole


def test_a_person_has_the_segment_of_most_days(folder: Path) -> None:
    """Rows of people of two days that call somebody otherwise; ready rows, whose segments may be of trips, stay as they are."""
    frames = {
        DAY: pd.DataFrame({"person": [1, 2, 3], "segment": ["a", "b", "b"]}),
        TUESDAY: pd.DataFrame({"person": [1, 2, 3, 3], "segment": ["b", "b", "b", "b"]}),
    }
    paths = {day: folder / f"rows-{day}.parquet" for day in frames}
    for day, path in paths.items():
        frames[day].to_parquet(path)
    product = weekly(folder)
    assert gather._segments(product, paths) is None
    asked = product.model_construct(people=type("People", (), {"segments": ["sex"]}))
    assert gather._segments(asked, paths).to_dict() == {1: "a", 2: "b", 3: "b"}


def test_a_window_waits_for_its_days_and_says_for_which(folder: Path) -> None:
    product, lake = weekly(folder), Lake(default_root())
    (day, waiting) = run_days(product, [DAY], resume=False)
    assert day.error == ""
    assert waiting.waits.startswith("1 of 2 days are missing and publish.missing_days allows none: 2026-03-03")
    assert open_store(product).windows("weekly") == []
    with open_instance() as instance:
        (status,) = day_statuses(product, instance, DAY, DAY)
        assert (status.day, status.state) == (DAY, "waiting")
        assert "2026-03-03 is not made yet" in status.why
        assert instance.get_materialized_partitions(AssetKey(["weekly", "od"])) == {"2026-03-02"}
    with pytest.raises(OdanonError, match="the week from 2026-03-02 stays open: 1 of 2 days are missing"):
        gather.window(product, lake, DAY)
    *_, last = run_days(product, [TUESDAY], resume=True)
    assert (last.name, last.error) == ("week from 2026-03-02", "")
    assert open_store(product).windows("weekly") == ["2026-03-02"]
    with open_instance() as instance:
        assert instance.get_materialized_partitions(AssetKey(["weekly", "published"])) == {"2026-03-02"}


def test_days_that_the_file_allows_to_be_missing_are_told(folder: Path) -> None:
    (folder / f"{TUESDAY}.parquet").unlink()
    wednesday = {"weekend": FEW["weekend"][1:]}
    gate.write(folder, people(150, hours=(8,), day=DAY + timedelta(days=2)), DAY + timedelta(days=2))
    product = weekly(folder, calendar=wednesday, publish={"window": "week", "missing_days": 1})
    days = [DAY + timedelta(days=n) for n in range(3)]
    results = list(run_days(product, days, resume=False))
    assert [bool(result.error) for result in results] == [False, True, False, False]
    release = open_store(product).released("weekly", DAY)
    manifest = json.loads(open_store(product).manifest_text(str(release)))
    assert (manifest["days"], manifest["missing_days"]) == (2, ["2026-03-03"])
    assert {each["days"] for each in manifest["bins"]} == {2}


def test_a_window_that_is_not_over_is_not_published_with_days_missing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    product = weekly(folder)
    lax = product.model_copy(update={"publish": product.publish.model_copy(update={"missing_days": 1})})
    days = window_days(lax, Lake(default_root()), DAY)
    assert stays_open(lax, days).startswith("none of its days is there")
    today = date.today()
    coming = today - timedelta(days=today.weekday())
    half = type(days)(made=(coming,), lacking={today: "is not made yet"})
    assert stays_open(lax, half) == "it is not over, and lacks 1 of 2 days"


def run_again(product: Product, stages: Sequence[Stage]) -> None:
    for stage in stages:
        run_stage(product, stage.name, TUESDAY, {name: getattr(product, name).instance for name in stage.plugins})


def test_what_was_made_otherwise_or_read_again_since_is_not_there(folder: Path) -> None:
    product, lake = weekly(folder), Lake(default_root())
    made_window(product)
    assert window_days(product, lake, DAY).lacking == {}
    other = weekly(folder, od={"bin": "12h", "days": "working", "intrazonal": "drop"})
    assert day_lacks(other, lake, DAY) == "was made with another od than the product's file says; run it again"
    weekly(folder)
    gate.write(folder, people(100, hours=(8,), day=TUESDAY), TUESDAY)
    _, *others = day_stages(product)
    run_again(product, day_stages(product)[:1])
    assert day_lacks(product, lake, TUESDAY) == "was read again and not made since; run it again"
    # The rows of the window are still those of the day as it was; once the day is made again they are not.
    assert other_origin(product, lake, DAY) == []
    run_again(product, others)
    assert [finding.rule for finding in other_origin(product, lake, DAY)] == ["origin"]
    with pytest.raises(OdanonError, match="origin"):
        publish(product)


def test_a_calendar_that_has_changed_since_the_days_were_gathered_is_noticed(folder: Path) -> None:
    by_type = {"bin": "12h", "days": "working", "day_types": "weekday"}
    made_window(weekly(folder, od=by_type))
    off = weekly(folder, od=by_type, calendar={**FEW, "holidays": ["2026-03-03"]})
    with pytest.raises(OdanonError, match=r"origin: .* another bins than the product's file says"):
        publish(off)


def test_the_days_of_a_window_are_its_partitions_upstream(folder: Path) -> None:
    product = weekly(folder, end="2026-03-15")
    graph = build_definitions([product]).resolve_asset_graph()
    days, weeks = (graph.get(AssetKey(["weekly", name])).partitions_def for name in ("od", "window"))
    assert weeks.get_partition_keys() == ["2026-03-02", "2026-03-09"]
    mapping = graph.get(AssetKey(["weekly", "window"])).partition_mappings[AssetKey(["weekly", "od"])]
    found = mapping.get_upstream_mapped_partitions_result_for_partitions(
        weeks.subset_with_partition_keys(["2026-03-09"]), weeks, days
    )
    assert sorted(found.partitions_subset.get_partition_keys()) == ["2026-03-09", "2026-03-10"]
    stages = [stage.name for stage in window_stages(product)]
    assert stages == ["window", "hierarchy", "anonymized", "metrics", "published"]


def test_acts_take_any_day_of_a_window(folder: Path) -> None:
    product = weekly(folder, retention="30d")
    first = published(product)
    run = CliRunner()
    assert run.invoke(cli.main, ["report", "weekly", "--date", str(TUESDAY)]).exit_code == 0
    said = run.invoke(cli.main, ["supersede", "weekly", "--date", str(TUESDAY)])
    assert "which it shows" in str(said.exception)
    # Many more people on one day: a correction from which nothing follows of single ones.
    more = people(400, hours=(8, 17), day=TUESDAY, seed=9).assign(person=lambda t: "new " + t["person"])
    gate.write(folder, pd.concat([pd.read_parquet(folder / f"{TUESDAY}.parquet"), more]), TUESDAY)
    said = run.invoke(cli.main, ["supersede", "weekly", "--date", str(TUESDAY), *WHO])
    assert said.exit_code == 0 or "the auditor says no" in str(said.exception), said
    shown = open_store(product).released("weekly", DAY)
    assert (shown == first) == (said.exit_code != 0)
    assert run.invoke(cli.main, ["withdraw", "weekly", "--date", str(TUESDAY), *WHO]).exit_code == 0
    assert open_store(product).standings("weekly") == {"2026-03-02": "withdrawn"}
    (stopped, *_) = run_days(product, [TUESDAY], resume=False)
    assert "was withdrawn" in stopped.error
    keys = Path(os.environ["ODANON_ROOT"]) / "keys" / product.data_sha256
    assert [path.name for path in keys.iterdir()] == ["week=2026-03-02"]
    assert run.invoke(cli.main, ["purge", "weekly", "--expired", *WHO]).exit_code == 0
    assert list(keys.iterdir()) == []
    left = {path.parents[1].name for path in Path(os.environ["ODANON_ROOT"]).glob("work/weekly/*/date=*/*.parquet")}
    assert left == set()


def test_a_trial_of_a_window_says_what_publication_would_have_said(folder: Path) -> None:
    product = weekly(folder, status="trial")
    results = list(run_days(product, [DAY, TUESDAY], resume=False, trial=True))
    assert [result.error for result in results] == ["", "", ""]
    assert open_store(product).windows("weekly") == []
    with open_instance() as instance:
        (status,) = day_statuses(product, instance, DAY, DAY)
    assert status.state == "trial"
    assert status.why.startswith("would be published as weekly-20260302-")
