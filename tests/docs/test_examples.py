"""The examples of the documentation run as they stand there, on a sample of the real data."""

import runpy
import sys
from pathlib import Path

import pandas as pd
import pytest
from repository import REPOSITORY

EXAMPLES = REPOSITORY / "docs" / "examples"
SAMPLES = {"nyc_taxi_zones": 4_000, "gps_logs": 200_000, "weighted_survey": 1_000}
LEAST = {"nyc_taxi_zones": ("trips", 10), "gps_logs": ("persons", 3), "weighted_survey": ("persons", 5)}


def run(name: str, monkeypatch: pytest.MonkeyPatch, *options: object) -> None:
    """As a program of its own would, without the start of one."""
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setattr(sys, "argv", [name, *map(str, options)])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")


def test_every_example_is_tried() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SAMPLES, "example"}


@pytest.mark.parametrize("name", SAMPLES)
def test_an_example_publishes_what_it_says(
    name: str,
    shared_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(name, monkeypatch, "--data", shared_data, "--out", tmp_path / "out", "--sample", SAMPLES[name])
    column, least = LEAST[name]
    flows = pd.read_parquet(tmp_path / "out" / "release" / "keep" / "flows.parquet")
    assert len(flows) > 5
    assert flows[column].min() >= least
    told = capsys.readouterr().out
    assert "$ odanon anonymize" in told
    assert f"every flow holds at least {least} " in told


@pytest.mark.parametrize("name", SAMPLES)
def test_an_example_without_its_data_says_what_is_missing_and_where_to_get_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit, match=r"is missing: [\s\S]+--data"):
        run(name, monkeypatch, "--data", tmp_path, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()
