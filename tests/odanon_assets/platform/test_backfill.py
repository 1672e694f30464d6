"""Ranges of days: many days a run, a bad day alone, kills, retries and data that comes late."""

import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import date, timedelta
from pathlib import Path

import pandas as pd
import pytest
from dagster import AssetKey, DagsterInstance, DagsterRunStatus, RunsFilter
from dated_files import FIRST, day_of, files_product, write_day
from hypothesis import given
from hypothesis import strategies as st
from product_example import small_product

from odanon.errors import OdanonError
from odanon_assets.chain import day
from odanon_assets.lake.lake import Lake
from odanon_assets.platform import assets
from odanon_assets.platform.launch import chunks, complete_months, days_between, run_days
from odanon_assets.platform.prometheus import failed_days
from odanon_assets.stores.embedded import EmbeddedStore

CANARY = "canary-" + "17-at-somewhere"
STRESS = bool(os.environ.get("ODANON_STRESS"))
TINY = {
    "source": {"plugin": "simulated", "people": 80, "seed": 3, "radius_km": 3},
    "engine": {"plugin": "local", "buckets": 1},
}


def releases(root: Path) -> dict[str, bytes]:
    """Every published file by its path; the pointers beside them carry the time of publication."""
    home = root / "published" / "small" / "releases"
    return {str(path.relative_to(home)): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", "a secret of the tests, long enough to be one")


@given(st.sets(st.integers(0, 200)), st.integers(1, 40))
def test_chunks_hold_consecutive_days_and_every_day_once(numbers: set[int], size: int) -> None:
    days = [date(2026, 1, 1) + timedelta(days=n) for n in sorted(numbers)]
    made = chunks(days, size)
    assert [day for chunk in made for day in chunk] == days
    for chunk in made:
        assert len(chunk) <= size
        assert chunk == days_between(chunk[0], chunk[-1])


def test_a_range_is_one_run_and_equals_day_by_day_runs(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    product = small_product(workspace, **TINY)
    days = days_between(FIRST, day_of(1))
    assert [result.error for result in run_days(product, days, resume=False)] == ["", ""]
    with DagsterInstance.get() as instance:
        assert instance.get_runs_count() == 1
    together = releases(workspace / "data")
    monkeypatch.setenv("ODANON_ROOT", str(workspace / "other"))
    monkeypatch.setenv("DAGSTER_HOME", str(workspace / "other"))
    (workspace / "other").mkdir()
    for one in days:
        assert next(run_days(product, [one], resume=False)).error == ""
    assert releases(workspace / "other") == together

    # A new Dagster instance learns of published days without running them.
    monkeypatch.setenv("DAGSTER_HOME", str(workspace / "new"))
    assert all(result.skipped for result in list(run_days(product, days, resume=True)))
    with DagsterInstance.get() as instance:
        assert instance.get_runs_count() == 0
        for stage in ("traces", "published"):
            assert instance.get_materialized_partitions(AssetKey(["small", stage])) == {str(day) for day in days}


def test_a_bad_day_fails_alone_and_is_retried_alone(workspace: Path) -> None:
    source = workspace / "source"
    for number in range(3):
        write_day(source, day_of(number), dirt=0.5 if number == 1 else 0.0)
    product = files_product(workspace)
    results = list(run_days(product, days_between(FIRST, day_of(2)), resume=False))
    assert [bool(result.error) for result in results] == [False, True, False]
    assert "of the input rows are bad" in results[1].error
    store, lake = EmbeddedStore(workspace / "data"), Lake(workspace / "data")
    assert store.windows("small") == [str(day_of(n)) for n in (0, 2)]
    assert not lake.folder("small", "staypoints", day_of(1)).exists()  # later stages did not run
    with DagsterInstance.get() as instance:
        assert instance.get_materialized_partitions(AssetKey(["small", "published"])) == {
            str(day_of(n)) for n in (0, 2)
        }
        assert failed_days(product, instance) == [str(day_of(1))]
        assert instance.get_runs_count(RunsFilter(statuses=[DagsterRunStatus.FAILURE])) == 1
    before = releases(workspace / "data")

    shutil.rmtree(source / f"date={day_of(1)}")
    write_day(source, day_of(1))
    retried = list(run_days(product, days_between(FIRST, day_of(2)), resume=True))
    assert sorted(result.day for result in retried if not result.skipped) == [day_of(1)]
    assert not any(result.error for result in retried)
    after = releases(workspace / "data")
    assert before.items() <= after.items()
    with DagsterInstance.get() as instance:
        assert failed_days(product, instance) == []


def start(workspace: Path, last: date) -> subprocess.Popen:
    command = [
        Path(sys.executable).with_name("odanon"),
        *("run", "small", "--from", str(FIRST), "--to", str(last), "--resume"),
    ]
    return subprocess.Popen(command, cwd=workspace, stdout=subprocess.DEVNULL, start_new_session=True)


def test_a_killed_backfill_goes_on_where_it_was(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed with -9 and resumed; the releases equal those of an uninterrupted run, and no run hangs."""
    last = day_of(364 if STRESS else 1)
    kills = (100, 200) if STRESS else (1,)
    product = small_product(workspace / "pipelines", **TINY)
    store = EmbeddedStore(workspace / "data")
    for published in kills:
        running = start(workspace, last)
        while len(store.windows("small")) < published:
            assert running.poll() is None
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    done = len(store.windows("small"))
    assert done < (last - FIRST).days + 1
    resumed = list(run_days(product, days_between(FIRST, last), resume=True))
    assert sum(result.skipped for result in resumed) == done
    assert not any(result.error for result in resumed)
    with DagsterInstance.get() as instance:
        assert instance.get_runs_count(RunsFilter(statuses=[DagsterRunStatus.STARTED])) == 0
        assert instance.get_runs_count(RunsFilter(statuses=[DagsterRunStatus.FAILURE])) == len(kills)
    interrupted = releases(workspace / "data")
    monkeypatch.setenv("ODANON_ROOT", str(workspace / "whole"))
    (workspace / "whole").mkdir()
    list(run_days(product, days_between(FIRST, last), resume=False))
    assert releases(workspace / "whole") == interrupted


def test_a_retried_run_leaves_finished_days_alone(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the platform's own retry does: a run with a parent takes only the days that its parent did not publish."""
    from odanon_assets.platform.build import build_definitions

    product = small_product(workspace, **TINY)
    list(run_days(product, [FIRST], resume=False))
    job = build_definitions([product]).resolve_job_def("small")
    span = {"dagster/asset_partition_range_start": str(FIRST), "dagster/asset_partition_range_end": str(day_of(1))}
    with DagsterInstance.get() as instance:
        (parent,) = instance.get_runs()
        family = {"dagster/parent_run_id": parent.run_id, "dagster/root_run_id": parent.run_id}
        ran: list[str] = []
        monkeypatch.setattr(assets, "run_day", lambda product, day, *rest, **options: ran.append(str(day)) or iter(()))
        run = instance.create_run_for_job(
            job, tags={**span, **family}, parent_run_id=parent.run_id, root_run_id=parent.run_id
        )
        from dagster._core.definitions.job_base import InMemoryJob
        from dagster._core.execution.api import execute_run

        execute_run(InMemoryJob(job), run, instance)
    assert ran == [str(day_of(1))]


def test_only_transient_trouble_is_tried_again(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    product = small_product(workspace, **TINY)
    monkeypatch.setattr(assets, "RETRY_AFTER", (0, 0))
    tries: dict[str, int] = {"2026-03-02": 0, "2026-03-03": 0}
    real = day.run_stage

    def shaky(product, name, when, plugins, **options):  # type: ignore[no-untyped-def]
        if name == "staypoints":
            tries[str(when)] += 1
            if when == FIRST and tries[str(when)] < 3:
                raise ConnectionResetError(CANARY)
            if when != FIRST:
                raise OdanonError("a mistake that no repetition repairs")
        return real(product, name, when, plugins, **options)

    monkeypatch.setattr(day, "run_stage", shaky)
    results = list(run_days(product, [FIRST, day_of(1)], resume=False))
    assert [result.error for result in results] == ["", "a mistake that no repetition repairs"]
    assert tries == {"2026-03-02": 3, "2026-03-03": 1}
    written = b"".join(path.read_bytes() for path in (workspace / "dagster").rglob("*") if path.is_file())
    assert b"ConnectionResetError" in written
    assert CANARY.encode() not in written


def test_late_data_is_counted_and_not_published(workspace: Path) -> None:
    write_day(workspace / "source", FIRST)
    product = files_product(workspace)
    assert next(run_days(product, [FIRST], resume=False)).error == ""
    before = releases(workspace / "data")
    lake = Lake(workspace / "data")
    points = lake.figures("small", "traces", FIRST)["points"]
    town = workspace / "source"
    write_day(town, FIRST, people=170, name="late")
    assert next(run_days(product, [FIRST], resume=False)).error == ""
    assert releases(workspace / "data") == before
    assert lake.figures("small", "traces", FIRST)["points"] == points  # the evidence of the release stays
    with DagsterInstance.get() as instance:
        from dagster import AssetCheckKey

        (record,) = instance.event_log_storage.get_asset_check_execution_history(
            AssetCheckKey(AssetKey(["small", "traces"]), "late_data"), limit=1
        )
    evaluation = record.event.dagster_event.asset_check_evaluation_data
    assert not evaluation.passed
    assert evaluation.metadata["late_points"].value > 100
    assert not list((workspace / "data").rglob(".odanon-*"))


def test_a_rewritten_file_of_a_published_day_changes_nothing(workspace: Path) -> None:
    """As many points, other ones: the day does not turn red, and what it was made from stays."""
    write_day(workspace / "source", FIRST)
    product = files_product(workspace)
    assert next(run_days(product, [FIRST], resume=False)).error == ""
    before = releases(workspace / "data")
    traces = Lake(workspace / "data").folder("small", "traces", FIRST)
    kept = {path.name: path.read_bytes() for path in traces.glob("*.parquet")}
    for path in (workspace / "source").rglob("*.parquet"):
        pd.read_parquet(path).assign(lat=lambda rows: rows["lat"] + 0.001).to_parquet(path)
    assert next(run_days(product, [FIRST], resume=False)).error == ""
    assert releases(workspace / "data") == before
    assert {path.name: path.read_bytes() for path in traces.glob("*.parquet")} == kept


def test_a_month_is_complete_when_every_day_of_it_is_published(workspace: Path) -> None:
    product = small_product(workspace, od={"bin": "12h", "days": "working"})
    march = [str(day) for day in days_between(date(2026, 3, 2), date(2026, 3, 31)) if day.weekday() < 5]
    wanted = [date(2026, 3, 9), date(2026, 4, 1)]
    assert complete_months(product, wanted, march) == [date(2026, 3, 1)]
    assert complete_months(product, wanted, march[:-1]) == []
