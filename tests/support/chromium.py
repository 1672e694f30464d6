"""A real browser without a window, driven over its debugging protocol: pages are opened, pressed, typed at and looked at."""

import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

OPTIONS = (  # no sandbox: root cannot have one, and the pages are our own
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update"
    " --disable-sync --disable-quic --hide-scrollbars --remote-debugging-port=0 --force-device-scale-factor=1"
)
KEYS = {"Enter": 13, "Escape": 27, "Backspace": 8, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39}
KEYS |= {"ArrowDown": 40, "Delete": 46}
PRESSED = {"button": "left", "buttons": 1, "clickCount": 1}


class Page:
    """One page of a running browser; `requests` are the addresses it asked for, `given_up` how many it no longer waited for, `complaints` what it wrote to its console."""

    def __init__(self, wire: ClientConnection) -> None:
        self._wire, self._last = wire, 0
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.given_up = 0
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            self.told(f"{domain}.enable")

    def told(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to one command of the protocol."""
        self._last += 1
        self._wire.send(json.dumps({"id": self._last, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._wire.recv(timeout=120))
            if answer.get("id") == self._last:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._hear(answer)

    def _hear(self, event: dict[str, Any]) -> None:
        told = event.get("params", {})
        if event["method"] == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif event["method"] == "Network.loadingFailed" and told.get("canceled"):
            self.given_up += 1
        elif event["method"] == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")
        elif event["method"] == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["exceptionDetails"]))

    def open(self, address: str) -> None:
        self.told("Page.navigate", url="about:blank")  # another hash alone would not load a page again
        self.told("Page.navigate", url=address)

    def run(self, script: str) -> Any:
        """The value of an expression, awaited where it is a promise."""
        found = self.told("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, script: str, seconds: float = 30) -> Any:
        """The first value of an expression that is not empty."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := self.run(script):
                return found
            time.sleep(0.05)
        shown = self.run("document.body.innerText")[-1500:]
        raise AssertionError(f"{script} stayed empty for {seconds} s; {self.complaints}; {shown}")

    def text(self, selector: str) -> str:
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def press(self, selector: str) -> None:
        """A real click in the middle of the first element that is found."""
        where = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{where}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = self.run(
            f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])({where}.getBoundingClientRect())"
        )
        self.drag([box])

    def drag(self, points: list[list[float]]) -> None:
        """The pointer goes down at the first point, over all others, and up at the last."""
        (x, y), *rest = points
        self.told("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.told("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **PRESSED)
        for x, y in rest:
            self.told("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, **PRESSED)
        self.told("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, **{**PRESSED, "buttons": 0})

    def keys(self, *names: str) -> None:
        """Keys pressed one after the other, by name or as the letter that they write."""
        for name in names:
            text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
            code = {"key": name, "windowsVirtualKeyCode": KEYS.get(name, ord(name[0].upper()))}
            self.told("Input.dispatchKeyEvent", type="keyDown", text=text, **code)
            self.told("Input.dispatchKeyEvent", type="keyUp", **code)

    def choose_file(self, selector: str, path: Path) -> None:
        root = self.told("DOM.getDocument")["root"]["nodeId"]
        node = self.told("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.told("DOM.setFileInputFiles", nodeId=node, files=[str(path)])

    def resize(self, width: int, height: int, *, dark: bool = False, phone: bool = False) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.told("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.told("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, whole: bool = False) -> bytes:
        return base64.b64decode(self.told("Page.captureScreenshot", captureBeyondViewport=whole)["data"])


@contextmanager
def chromium(width: int = 1440, height: int = 1000) -> Iterator[Page]:
    """A page of a fresh browser, which ends with the block."""
    given = os.environ.get("CHROMIUM")
    name = given or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert name, "there is no chromium: run deploy/setup/chromium.sh as root"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            name,
            *OPTIONS.split(),
            f"--user-data-dir={profile}",
            f"--window-size={width},{height}",
            "about:blank",
        ]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            with connect(_first_page(Path(profile)), max_size=None, open_timeout=60) as wire:
                page = Page(wire)
                page.resize(width, height)
                yield page
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _first_page(profile: Path) -> str:
    """Where the first page of a browser listens."""
    told = profile / "DevToolsActivePort"
    for _ in range(600):
        if told.exists() and "\n" in told.read_text():
            with urllib.request.urlopen(
                f"http://127.0.0.1:{told.read_text().split()[0]}/json/list", timeout=60
            ) as answer:
                return next(page["webSocketDebuggerUrl"] for page in json.load(answer) if page["type"] == "page")
        time.sleep(0.1)
    raise AssertionError("the browser did not start within a minute")
