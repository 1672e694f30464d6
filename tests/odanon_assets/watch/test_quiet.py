"""What plugins print, also while they are removed, is in no log."""

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from gate_town import DAY
from product_example import small_product

from odanon_assets.chain import day
from odanon_assets.watch.quiet import hush_destructors, quiet

SECRET = "person 17 at 45.123456"


class Leaky:
    def __del__(self) -> None:
        print(SECRET)
        raise ValueError(SECRET)


def hushed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hush destructors until the end of the test."""
    for name in ("unraisablehook", "stdout", "stderr", "__stdout__", "__stderr__"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    hush_destructors()


def test_a_stage_that_prints_is_not_heard(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def noisy(*_: Any, **__: Any) -> dict[str, Any]:
        print(SECRET)
        Leaky()
        return {}

    hushed(monkeypatch)
    monkeypatch.setattr(day, "run_stage", noisy)
    product = small_product(workspace)
    plugins = {"source": None, "engine": None, "staypoints": None}
    made = [*day.run_day(product, DAY, {"traces", "staypoints"}, set(), plugins)]
    assert [type(event) for event in made] == [day.Made, day.Made]
    out, err = capfd.readouterr()
    assert SECRET not in out + err


AFTERWARDS = f"""
import sys
from odanon_assets.watch.quiet import hush_destructors

class Leaky:
    def __del__(self):
        print("{SECRET}")
        print("{SECRET}", file=sys.stderr)
        sys.stdout.writelines(["{SECRET}"])

hush_destructors()
hush_destructors()
first, last = Leaky(), Leaky()
del first
print("heard", sys.stdout.isatty())
"""


def test_a_destructor_is_not_heard_after_its_stage_nor_at_the_end_of_the_process() -> None:
    ended = subprocess.run([sys.executable, "-c", AFTERWARDS], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("heard False\n", "")


def test_what_is_logged_is_heard_without_a_message_of_its_own(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hushed(monkeypatch)
    with quiet():
        logging.getLogger("odanon").warning("the metric x is left out")
        Leaky()
    assert "the metric x is left out" in caplog.text
    assert "ValueError while an object was being removed" in caplog.text
    assert SECRET not in caplog.text
