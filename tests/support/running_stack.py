"""The services of compose.yaml as running processes with their data in a folder, asked through GraphQL."""

import json
import re
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import pytest
from compose_file import Host
from dagster._core.storage.tags import (
    ASSET_PARTITION_RANGE_END_TAG,
    ASSET_PARTITION_RANGE_START_TAG,
    PARTITION_NAME_TAG,
)
from deployment import DEPLOY, Deployed
from product_example import small_product
from store_databases import emptied

from odanon_assets.chain.stages import STAGES
from odanon_assets.platform.recovery import WORKER_TAG

LOCATION = {"repositoryLocationName": "odanon", "repositoryName": "__repository__"}
LOADED = """{ workspaceOrError { ... on Workspace { locationEntries { name loadStatus
    locationOrLoadError { __typename ... on PythonError { message } } } } } }"""
LAUNCH = """mutation ($run: ExecutionParams!) { launchRun(executionParams: $run) {
    __typename ... on LaunchRunSuccess { run { runId status } } ... on PythonError { message } } }"""
BACKFILL = """mutation ($backfill: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $backfill) {
    __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
BACKFILL_STATUS = """query ($id: String!) { partitionBackfillOrError(backfillId: $id) {
    ... on PartitionBackfill { status } } }"""
RUNS = """{ runsOrError { ... on Runs { results { runId status parentRunId creationTime startTime endTime
    tags { key value } } } } }"""
TICKS = """query ($sensor: SensorSelector!) { sensorOrError(sensorSelector: $sensor) { ... on Sensor {
    sensorState { ticks(limit: 50) { status runIds } } } } }"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Stack(Host):
    """The services with their data in a folder, asked through GraphQL."""

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.places['3000']}/graphql",
            json.dumps({"query": query, "variables": variables}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            found = json.load(answer)
        assert "errors" not in found, found["errors"]
        return found["data"]

    def wait(self, what: str, ready: Callable[[], bool], seconds: float = 300, restart: bool = False) -> None:
        """Until something is so; with `restart`, services that end are started again, as compose.yaml says."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                if ready():
                    return
            except OSError:
                pass  # not listening yet
            dead = [name for name, process in self.started.items() if process.poll() is not None]
            for name in dead if restart else ():
                self.start(name)
            if (dead and not restart) or time.monotonic() > deadline:
                logs = "\n".join(f"--- {name}\n{self.log(name)[-3000:]}" for name in self.started)
                pytest.fail(f"waited for {what}, ended meanwhile: {dead}\n{logs}")
            time.sleep(0.3)

    def loaded(self) -> bool:
        entries = self.ask(LOADED)["workspaceOrError"]["locationEntries"]
        return [entry["locationOrLoadError"]["__typename"] for entry in entries] == ["RepositoryLocation"]

    def launch(self, day: date, last: date | None = None) -> str:
        """Ask for a run of a day, or of all days up to the last one."""
        selector = {**LOCATION, "jobName": "small"}
        span = {ASSET_PARTITION_RANGE_START_TAG: day, ASSET_PARTITION_RANGE_END_TAG: last}
        wanted = {PARTITION_NAME_TAG: day} if last is None else span
        tags = [{"key": key, "value": str(value)} for key, value in wanted.items()]
        run = {"selector": selector, "mode": "default", "executionMetadata": {"tags": tags}}
        answer = self.ask(LAUNCH, run=run)["launchRun"]
        assert answer["__typename"] == "LaunchRunSuccess", answer
        assert answer["run"]["status"] == "QUEUED"
        return answer["run"]["runId"]

    def runs(self) -> dict[str, str]:
        return {run["runId"]: run["status"] for run in self.ask(RUNS)["runsOrError"]["results"]}

    def at_work(self, run: str) -> bool:
        """Whether a process has taken the run."""
        (found,) = (other for other in self.ask(RUNS)["runsOrError"]["results"] if other["runId"] == run)
        return any(tag["key"] == WORKER_TAG for tag in found["tags"])

    def ended(self, run: str) -> str | None:
        """How a run ended, or the last run that was started again for it."""
        for other in self.ask(RUNS)["runsOrError"]["results"]:
            if other["parentRunId"] == run:
                return self.ended(other["runId"])
        status = self.runs()[run]
        return status if status in ("SUCCESS", "FAILURE") else None

    def backfill(self, days: list[date]) -> str:
        """Ask for all stages of days as the UI does."""
        keys = [{"path": ["small", stage.name]} for stage in STAGES]
        asked = {"assetSelection": keys, "partitionNames": [day.isoformat() for day in days]}
        answer = self.ask(BACKFILL, backfill=asked)["launchPartitionBackfill"]
        assert answer["__typename"] == "LaunchBackfillSuccess", answer
        return answer["backfillId"]

    def backfill_status(self, backfill: str) -> str:
        return self.ask(BACKFILL_STATUS, id=backfill)["partitionBackfillOrError"]["status"]

    def fired(self, sensor: str) -> list[str]:
        """Runs that the ticks of a sensor asked for."""
        found = self.ask(TICKS, sensor={**LOCATION, "sensorName": sensor})["sensorOrError"]["sensorState"]["ticks"]
        return [run for tick in found if tick["status"] == "SUCCESS" for run in tick["runIds"]]

    def tagged_runs(self) -> dict[str, dict[str, Any]]:
        """Every run with its tags by name."""
        results = self.ask(RUNS)["runsOrError"]["results"]
        return {run["runId"]: {**run, "tags": {tag["key"]: tag["value"] for tag in run["tags"]}} for run in results}

    def product(self, deployed: Deployed, **changes: Any) -> None:
        """The small product, published to PostGIS."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ODANON_DB_URL", deployed.url())
            publish = {"store": "postgis", "url": "${ODANON_DB_URL}"}
            small_product(self.folder / "etc/products", publish=publish, **changes)

    def places_to_work(self, number: int) -> None:
        """How many runs may work at a time; the daemon reads it when it starts."""
        path = self.folder / "lib/dagster/dagster.yaml"
        path.write_text(re.sub(r"max_concurrent_runs: \d+", f"max_concurrent_runs: {number}", path.read_text()))

    def start_all(self) -> None:
        for name in ("code", "webserver", "daemon"):
            self.start(name)
        self.wait("the code location", self.loaded)


Started = TypeVar("Started", bound=Stack)


@contextmanager
def stack_in(deployed: Deployed, folder: Path, kind: type[Started] = Stack) -> Iterator[Started]:
    """The services, not started yet, with the small product."""
    emptied(deployed.url())  # the auditor would ask what the releases of other tests promise
    code, web = free_port(), free_port()
    places = {
        "/var/lib/odanon": str(folder / "lib"),
        "/etc/odanon": str(folder / "etc"),
        "/opt/odanon": str(DEPLOY),
        "@db:5432": f"@127.0.0.1:{deployed.port}",
        "5432": str(deployed.port),
        "4000": str(code),
        "3000": str(web),
        "0.0.0.0": "127.0.0.1",
    }
    made = kind(folder, deployed.secrets, places)
    for part in ("lib/dagster", "lib/data", "etc/products"):
        (folder / part).mkdir(parents=True)
    (folder / "lib/dagster/dagster.yaml").write_text((DEPLOY / "dagster.yaml").read_text())
    (folder / "etc/workspace.yaml").write_text((DEPLOY / "workspace.yaml").read_text())
    made.product(deployed)
    try:
        yield made
    finally:
        made.stop()
