"""A real `dagster dev` on a workspace of a test, asked through GraphQL and looked at in a browser."""

import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from repository import REPOSITORY
from websockets.sync.client import connect

LOCATION = 'repositoryName: "__repository__", repositoryLocationName: "odanon_assets.definitions"'
STATS = """{ assetNodeOrError(assetKey: {path: ["%s", "%s"]}) { ... on AssetNode {
    partitionStats { numPartitions numMaterialized numFailed } } } }"""
TICKS = """{ %sOrError(%sSelector: {%s, %sName: "%s"}) { ... on %s { %sState {
    ticks(limit: 20) { status runIds skipReason } } } } }"""
RUNS = "{ runsOrError { ... on Runs { results { runId status tags { key value } } } } }"
RELOAD = """mutation { reloadRepositoryLocation(repositoryLocationName: "odanon_assets.definitions") { __typename
    ... on WorkspaceLocationEntry { locationOrLoadError { __typename } } } }"""
LONGEST_S, SETTLED_S = 180, 15  # seconds until a page shows its first words, and then what else it has to show
BROWSER = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars")


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

    def days(self, product: str = "small", stage: str = "published") -> tuple[int, int]:
        """(made, failed) days of a stage as the UI counts them."""
        stats = self.ask(STATS % (product, stage))["assetNodeOrError"]["partitionStats"]
        return stats["numMaterialized"], stats["numFailed"]

    def ticks(self, kind: str, name: str) -> list[dict[str, Any]]:
        """The latest ticks of a sensor or schedule, newest first."""
        query = TICKS % (kind, kind, LOCATION, kind, name, kind.capitalize(), kind)
        return self.ask(query)[f"{kind}OrError"][f"{kind}State"]["ticks"]

    def fired(self, kind: str, name: str) -> list[str]:
        """Runs that the ticks of a sensor or schedule asked for."""
        return [run for tick in self.ticks(kind, name) if tick["status"] == "SUCCESS" for run in tick["runIds"]]

    def runs(self) -> dict[str, tuple[str, dict[str, str]]]:
        """Status and tags of every run, newest first."""
        found = self.ask(RUNS)["runsOrError"]["results"]
        return {run["runId"]: (run["status"], {tag["key"]: tag["value"] for tag in run["tags"]}) for run in found}

    def reload(self) -> None:
        """Read the product files again, as *Reload* in the UI does."""
        answer = self.ask(RELOAD)["reloadRepositoryLocation"]
        assert answer["locationOrLoadError"]["__typename"] == "RepositoryLocation", answer

    def picture(self, page: str, target: Path, words: str) -> None:
        """What a browser shows of a page some seconds after it shows some words: the UI never stops asking."""
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        assert chromium, "there is no chromium: run deploy/setup/chromium.sh"
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            own = [f"--user-data-dir={profile}", "--remote-debugging-port=0", "--window-size=1500,1000"]
            browser = subprocess.Popen(
                [chromium, *BROWSER, *own, f"http://127.0.0.1:{self.port}{page}"],
                stdout=self.log,
                stderr=self.log,
                start_new_session=True,
            )
            try:
                port = Path(profile) / "DevToolsActivePort"
                self.until(lambda: port.exists() and "\n" in port.read_text(), "a browser")
                target.write_bytes(_photographed(port.read_text().split()[0], words))
            finally:
                os.killpg(browser.pid, signal.SIGKILL)
                browser.wait()


def _photographed(port: str, words: str) -> bytes:
    """A picture of the first page of a browser once it shows some words, over its debugging protocol."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=60) as answer:
        (page,) = (found for found in json.load(answer) if found["type"] == "page")
    with connect(page["webSocketDebuggerUrl"], max_size=None, open_timeout=60) as browser:

        def told(method: str, **parameters: Any) -> dict[str, Any]:
            browser.send(json.dumps({"id": 1, "method": method, "params": parameters}))
            while True:
                answer = json.loads(browser.recv(timeout=120))
                if answer.get("id") == 1:
                    return answer["result"]

        for _ in range(LONGEST_S):
            if words in told("Runtime.evaluate", expression="document.body.innerText")["result"].get("value", ""):
                break
            time.sleep(1)
        time.sleep(SETTLED_S)
        return base64.b64decode(told("Page.captureScreenshot")["data"])
