"""What `odanon anonymize` and `odanon compare` print of a figure is what the figure declares, whoever measures it."""

from functools import partial
from math import nan

import pandas as pd
import pytest
from rich.console import Console

from odanon.commands import anonymize, compare
from odanon.metrics.declared import every_figure
from odanon.model.figure import Figure
from odanon.report import compared_tables

DETOUR = Figure("detour", "of detour", "longer than the straight way", unit="share", symbol="Δ", headline=True)
VOLUMES = {"flows": 56.0, "published": 1803.0, "volume": 2000.0, "Gbar": 10.84, "S_share": 0.0985, "min_persons": 10.0}


@pytest.fixture(autouse=True)
def detour(monkeypatch: pytest.MonkeyPatch) -> None:
    """A metric of another package beside those that are installed."""
    declared = {**every_figure(), "detour": DETOUR}
    for reader in (anonymize, compare, compared_tables):
        monkeypatch.setattr(reader, "every_figure", lambda: declared)


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_headlines_are_told_with_label_and_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    anonymize._print_figures({**VOLUMES, "E": nan, "detour": 0.125}, noisy=False)
    told = lines(capsys)
    assert told[0] == "56 flows, 1,803 of 2,000 trips published"
    assert (
        "10.84 tiles per trip (mean size of origin plus destination of a trip in a flow; 2 means nothing was enlarged)"
        in told
    )
    assert "9.85 % of trips left out (too few went that way, even between large areas)" in told
    assert "12.5 % of detour (longer than the straight way)" in told
    assert "10 people, at the fewest (behind the smallest flow)" in told
    assert not [line for line in told if "reconstruction" in line]  # it could not be measured


def test_noise_hides_what_was_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    anonymize._print_figures(VOLUMES, noisy=True)
    told = lines(capsys)
    assert told[0].endswith("noise included")
    assert not [line for line in told if "left out" in line]


def test_figures_with_a_symbol_are_columns_when_they_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    done = {"algorithm": "atg-joint", "k": 5, "status": "done", "verifier": "passed"}
    row = {**done, "Gbar": 10.84, "Gbar_persons": 9.0, "detour": 0.125}
    refused = {"algorithm": "odkanon", "k": 5, "status": "refused"}
    table = pd.DataFrame([{**row, "GDM": nan, "cpu_s": 0.25}, refused])
    compare._print_tables({"comparison": table})
    head, first, second = lines(capsys)
    assert head.split() == ["algorithm", "k", "status", "verifier", "Gbar", "detour", "cpu_s"]
    assert first.split() == ["atg-joint", "5", "done", "passed", "10.84", "12.5", "%", "0.25"]
    assert second.split() == ["odkanon", "5", "refused", "–", "–", "–", "–"]


@pytest.mark.parametrize(("width", "whole"), [(400, True), (100, False)])
def test_a_terminal_without_room_gets_headlines_and_where_the_rest_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int, whole: bool
) -> None:
    monkeypatch.setattr(compare, "Console", partial(Console, force_terminal=True, color_system=None))
    monkeypatch.setenv("COLUMNS", str(width))
    row = {
        "algorithm": "atg-joint",
        "k": 5,
        "status": "done",
        "verifier": "passed",
        **dict.fromkeys(every_figure(), 1.5),
    }
    compare._print_tables({"comparison": pd.DataFrame([{**row, "detour": 0.125, "GDM": 3.0}])})
    told = lines(capsys)
    assert "Gbar" in told[0]
    assert "detour" in told[0]
    assert ("GDM" in told[0], "all columns are in comparison.csv" in told) == (whole, not whole)


def test_no_column_is_cut(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    wide = {"algorithm": "a" * 60, "k": 5, "status": "done", "verifier": "passed", **dict.fromkeys(every_figure(), 1.5)}
    compare._print_tables({"comparison": pd.DataFrame([wide])})
    assert "…" not in capsys.readouterr().out
