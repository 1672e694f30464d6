"""A real `dagster dev`, asked through GraphQL: ticks that fire, a red day among green ones, checks, a backfill.

The small test takes two days and the first sensor tick. With ODANON_STRESS the schedule's tick, a backfill of the
repaired day, a kill -9 of the daemon and of a run are added.
"""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from dagster_dev import Platform
from dated_files import files_product, write_day
from repository import REPOSITORY

from odanon_assets.stores.embedded import EmbeddedStore

STRESS = bool(os.environ.get("ODANON_STRESS"))
CHECKS = """{ assetNodeOrError(assetKey: {path: ["small", "traces"]}) { ... on AssetNode {
    assetChecksOrError { ... on AssetChecks { checks { name blocking
        executionForLatestMaterialization { status evaluation { partition severity description } } } } } } } }"""
BACKFILL = """mutation { launchPartitionBackfill(backfillParams: {
    assetSelection: [%s], partitionNames: ["%s"]}) { __typename ... on LaunchBackfillSuccess { backfillId } } }"""
STAGES = ("traces", "staypoints", "trips", "od", "hierarchy", "anonymized", "metrics", "published")


@pytest.fixture
def days() -> tuple[date, date]:
    today = datetime.now(UTC).date()
    return today - timedelta(days=3), today - timedelta(days=2)


@pytest.fixture
def town(workspace: Path, days: tuple[date, date], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A product of files whose second day is bad."""
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", "a secret of the tests, long enough to be one")
    (workspace / "dagster" / "dagster.yaml").symlink_to(REPOSITORY / "dagster.yaml")
    write_day(workspace / "source", days[0], people=80)
    write_day(workspace / "source", days[1], people=80, dirt=0.5)
    plan = {"cron": "* * * * *" if STRESS else "0 4 * * *", "lag": "2d", "on_arrival": True, "look_back": "4d"}
    files_product(workspace, start=(days[0] - timedelta(days=1)).isoformat(), schedule=plan)
    return workspace


@pytest.fixture
def platform(town: Path) -> Iterator[Platform]:
    made = Platform(town)
    yield made
    made.stop(signal.SIGTERM)


def test_days_that_arrive_are_published_and_the_bad_one_is_red(platform: Platform, days: tuple[date, date]) -> None:
    platform.until(lambda: platform.days() == (1, 1), "one green and one red day")
    assert len(platform.fired("sensor", "small_arrival")) == 2
    assert EmbeddedStore(platform.workspace / "data").windows("small") == [str(days[0])]
    node = platform.ask(CHECKS)["assetNodeOrError"]
    checks = {check["name"]: check for check in node["assetChecksOrError"]["checks"]}
    assert checks["quarantine"]["blocking"]
    assert not checks["volume"]["blocking"]
    if STRESS:
        platform.until(lambda: platform.fired("schedule", "small_daily"), "a tick of the schedule")
        backfill_after_kills(platform, days[1])


def backfill_after_kills(platform: Platform, bad: date) -> None:
    """The repaired day is backfilled although the daemon, the web server and the run are killed on the way."""
    workspace = platform.workspace
    shutil.rmtree(workspace / "source" / f"date={bad}")
    write_day(workspace / "source", bad, people=80)
    keys = ", ".join(f'{{path: ["small", "{stage}"]}}' for stage in STAGES)
    done = platform.ask(BACKFILL % (keys, bad))["launchPartitionBackfill"]
    assert done["__typename"] == "LaunchBackfillSuccess"
    time.sleep(5)
    platform.stop(signal.SIGKILL)
    again = Platform(workspace)
    try:
        again.until(lambda: again.days() == (2, 0), "the backfill after the kill", 600)
    finally:
        again.stop(signal.SIGTERM)
    assert EmbeddedStore(workspace / "data").windows("small")[-1] == str(bad)
