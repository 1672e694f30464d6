"""A real browser without a window, for the pages that we write."""

import json
import os
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

# A browser without a window may draw no frame while its time runs ahead; the page's own time brings them.
FRAMES = "window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 16);"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")  # as in deploy/setup/chromium.sh
OPTIONS = (  # no sandbox: root cannot have one, and the pages are our own
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update"
    " --disable-sync --disable-quic --enable-logging=stderr --window-size=1280,1800 --dump-dom"
)


def find_browser() -> str:
    """The name of a browser that starts."""
    given = os.environ.get("CHROMIUM")
    for name in [given] if given else BROWSERS:
        if _starts(name):
            return name
    raise RuntimeError(
        f"these tests need a browser and {given or ' or '.join(BROWSERS)} does not start: run"
        " deploy/setup/chromium.sh as root, or set CHROMIUM to the path of Chromium or Chrome"
    )


def _starts(name: str) -> bool:
    try:
        return subprocess.run([name, "--version"], capture_output=True, timeout=60, check=False).returncode == 0
    except OSError:
        return False


def probed(browser: str, address: str, profile: Path, wait_ms: int = 4000) -> dict[str, Any]:
    """Open a page and return the JSON that a script leaves in an element with id `probe`."""
    own = [f"--virtual-time-budget={wait_ms}", f"--user-data-dir={profile}"]
    command = [browser, *OPTIONS.split(), *own, address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    assert "CONSOLE" not in done.stderr, done.stderr
    left = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.DOTALL)
    assert left is not None, f"the script did not finish within {wait_ms} ms of the page's time"
    found: dict[str, Any] = json.loads(unescape(left[1]))
    return found
