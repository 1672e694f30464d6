"""The services of compose.yaml as real processes on a real server: what a deployment does, without Docker."""

import json
import os
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from compose_file import Host
from deployment import DEPLOY, Deployed
from product_example import small_product
from store_databases import emptied

from odanon_assets.recovery import WORKER_TAG
from odanon_assets.stores.postgis import PostgisStore

DAY = date(2026, 3, 2)
LOCATION = {"repositoryLocationName": "odanon", "repositoryName": "__repository__"}
LOADED = """{ workspaceOrError { ... on Workspace { locationEntries { name loadStatus
    locationOrLoadError { __typename ... on PythonError { message } } } } } }"""
LAUNCH = """mutation ($run: ExecutionParams!) { launchRun(executionParams: $run) {
    __typename ... on LaunchRunSuccess { run { runId status } } ... on PythonError { message } } }"""
RUNS = "{ runsOrError { ... on Runs { results { runId status parentRunId tags { key value } } } } }"


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

    def launch(self, day: date) -> str:
        selector = {**LOCATION, "jobName": "small"}
        tags = [{"key": "dagster/partition", "value": day.isoformat()}]
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


@pytest.fixture
def stack(deployed: Deployed, tmp_path: Path) -> Iterator[Stack]:
    emptied(deployed.url())  # the auditor would ask what the releases of other tests promise
    code, web = free_port(), free_port()
    places = {
        "/var/lib/odanon": str(tmp_path / "lib"),
        "/etc/odanon": str(tmp_path / "etc"),
        "/opt/odanon": str(DEPLOY),
        "@db:5432": f"@127.0.0.1:{deployed.port}",
        "5432": str(deployed.port),
        "4000": str(code),
        "3000": str(web),
        "0.0.0.0": "127.0.0.1",
    }
    made = Stack(tmp_path, deployed.secrets, places)
    for folder in ("lib/dagster", "lib/data", "etc/products"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "lib/dagster/dagster.yaml").write_text((DEPLOY / "dagster.yaml").read_text())
    (tmp_path / "etc/workspace.yaml").write_text((DEPLOY / "workspace.yaml").read_text())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ODANON_DB_URL", deployed.url())
        small_product(tmp_path / "etc/products", publish={"store": "postgis", "url": "${ODANON_DB_URL}"})
    yield made
    made.stop()


def test_a_day_goes_through_the_queue_into_postgis_and_a_killed_daemon_loses_nothing(
    stack: Stack, deployed: Deployed
) -> None:
    for name in ("code", "webserver", "daemon"):
        stack.start(name)
    stack.wait("the code location", stack.loaded)
    run = stack.launch(DAY)
    stack.kill("daemon")
    assert stack.runs()[run] in ("QUEUED", "STARTING", "STARTED")
    stack.start("daemon")
    stack.wait("the run", lambda: stack.runs()[run] in ("SUCCESS", "FAILURE"))
    assert stack.runs()[run] == "SUCCESS", stack.log("code")[-3000:]
    store = PostgisStore(deployed.login("odanon_app"))
    release = store.released("small", DAY)
    assert release is not None
    assert store.problems(release) == []


@pytest.mark.skipif(not os.environ.get("ODANON_STRESS"), reason="minutes of kills: set ODANON_STRESS=1")
@pytest.mark.parametrize("victim", ["code", "database"])
def test_a_killed_code_location_or_database_loses_nothing(stack: Stack, deployed: Deployed, victim: str) -> None:
    """The run dies with its service, is found dead, and is started again; readers see the whole release."""
    day = date(2026, 3, 3) if victim == "code" else date(2026, 3, 4)
    for name in ("code", "webserver", "daemon"):
        stack.start(name)
    stack.wait("the code location", stack.loaded)
    run = stack.launch(day)
    stack.wait("the work on the run", lambda: stack.at_work(run))
    if victim == "code":
        stack.kill("code")
        stack.start("code")
    else:
        deployed.server.crash()
        deployed.server.start()
    store = PostgisStore(deployed.login("odanon_app"))
    stack.wait("the end of the run", lambda: stack.ended(run) == "SUCCESS", restart=True)
    release = store.released("small", day)
    assert release is not None
    assert store.problems(release) == []
    assert [status for status in stack.runs().values() if status not in ("SUCCESS", "FAILURE")] == []
