"""What a person at a terminal sees of `odanon run`: the stages as they go, each day, the summary; nothing of Dagster's own."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from product_example import small_product
from rich.console import Console
from rich.status import Status

from odanon_assets.commands.run import _Progress

TINY = {
    "source": {"plugin": "simulated", "people": 80, "seed": 3, "radius_km": 3},
    "engine": {"plugin": "local", "buckets": 1},
}


def at_a_terminal(*words: str) -> str:
    """What a command writes to a terminal, without its colours and movements."""
    ours, theirs = pty.openpty()
    command = [str(Path(sys.executable).with_name("odanon")), *words]
    running = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            seen += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    assert running.wait() == 0, seen.decode()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())


def test_a_range_shows_its_progress_and_what_it_made(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_product(workspace / "pipelines", **TINY)
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", "a secret of the tests, long enough to be one")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    seen = at_a_terminal("run", "small", "--from", "2026-03-02", "--to", "2026-03-03")
    assert re.search(r"small 2026-03-03: \w+ ... \(1 of 2 done, about \d+ s left\)", seen)
    assert "✓ 2026-03-03  published" in seen
    assert "2 days published; the latest is 2026-03-03:" in seen
    for foreign in ("Telemetry", "dagster.yaml", "Slack"):
        assert foreign not in seen
    settings = yaml.safe_load((workspace / "dagster" / "dagster.yaml").read_text())
    assert settings["telemetry"] == {"enabled": False}


def test_why_a_day_failed_is_shown_letter_by_letter(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(width=200)
    _Progress(console, Status("", console=console), 1).day("town", "2026-03-02", "nothing in [/data/day]\nat all", "")
    assert capsys.readouterr().out == "✗ 2026-03-02  nothing in [/data/day] at all\n"
