"""A real `dagster dev`, asked through GraphQL: ticks that fire, a red day among green ones, checks, a backfill.

The small test takes two days and the first sensor tick. With ODANON_STRESS the schedule's tick, a backfill of the
repaired day, a kill -9 of the daemon and of a run are added.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from dated_files import files_product, write_day
from repository import REPOSITORY

from odanon_assets.stores.embedded import EmbeddedStore

STRESS = bool(os.environ.get("ODANON_STRESS"))
LOCATION = 'repositoryName: "__repository__", repositoryLocationName: "odanon_assets.definitions"'
STATS = """{ assetNodeOrError(assetKey: {path: ["small", "published"]}) { ... on AssetNode {
    partitionStats { numPartitions numMaterialized numFailed } } } }"""
TICKS = (
    """{ %sOrError(%sSelector: {%s, %sName: "%s"}) { ... on %s { %sState { ticks(limit: 20) { status runIds } } } } }"""
)
CHECKS = """{ assetNodeOrError(assetKey: {path: ["small", "traces"]}) { ... on AssetNode {
    assetChecksOrError { ... on AssetChecks { checks { name blocking
        executionForLatestMaterialization { status evaluation { partition severity description } } } } } } } }"""
BACKFILL = """mutation { launchPartitionBackfill(backfillParams: {
    assetSelection: [%s], partitionNames: ["%s"]}) { __typename ... on LaunchBackfillSuccess { backfillId } } }"""
STAGES = ("traces", "staypoints", "trips", "od", "hierarchy", "anonymized", "metrics", "published")


class Platform:
    """A running `dagster dev` and its GraphQL address."""

    def __init__(self, workspace: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.workspace = workspace
        command = [Path(sys.executable).with_name("dagster"), "dev", "-m", "odanon_assets.definitions"]
        self.log = (workspace / "dev.log").open("ab")
        self.process = subprocess.Popen(
            [*command, "-h", "127.0.0.1", "-p", str(self.port)],
            cwd=REPOSITORY,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )

    def ask(self, query: str) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/graphql",
            data=json.dumps({"query": query}).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = json.load(answer)
        assert "errors" not in found, found
        return found["data"]

    def until(self, question: Callable[[], Any], what: str, seconds: int = 300) -> Any:
        """The first answer that is not empty."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if found := question():
                    return found
            except OSError:
                assert self.process.poll() is None, "dagster dev ended"
            time.sleep(0.5)
        raise AssertionError(f"{what} did not happen; {(self.workspace / 'dev.log').read_text()[-3000:]}")

    def stop(self, how: signal.Signals) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, how)
            try:
                self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)  # leave nothing running, and fail
                raise
        self.log.close()

    def days(self) -> tuple[int, int]:
        """(published, failed) days as the UI counts them."""
        stats = self.ask(STATS)["assetNodeOrError"]["partitionStats"]
        return stats["numMaterialized"], stats["numFailed"]

    def fired(self, kind: str, name: str) -> list[str]:
        """Runs that the ticks of a sensor or schedule asked for."""
        query = TICKS % (kind, kind, LOCATION, kind, name, kind.capitalize(), kind)
        ticks = self.ask(query)[f"{kind}OrError"][f"{kind}State"]["ticks"]
        return [run for tick in ticks if tick["status"] == "SUCCESS" for run in tick["runIds"]]


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
