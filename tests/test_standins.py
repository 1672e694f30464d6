"""The stand-ins for the papers' data sets have their sizes, and volumes that go with place."""

import importlib
from pathlib import Path
from types import ModuleType

import h3
import numpy as np
import pandas as pd
import pytest
from repository import REPOSITORY


@pytest.fixture
def standins(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for folder in ("results", "."):
        monkeypatch.syspath_prepend(REPOSITORY / "tests" / "bench" / folder)
    return importlib.import_module("standins")


def test_a_city_has_the_rows_that_are_left_of_it_after_the_filter(standins: ModuleType, tmp_path: Path) -> None:
    assert {name: city[1] for name, city in standins.CITIES.items()} == {
        "paris": 23_264,
        "turin": 458_918,
        "porto": 501_472,
    }
    made = pd.read_parquet(standins.hexagons(tmp_path, "paris").path)
    assert len(made) == pytest.approx(23_264, rel=0.01)  # a few tiles share a cell
    assert made["trips"].sum() == pytest.approx(standins.CITIES["paris"][0], rel=0.05)


def test_larger_volumes_lie_between_places_that_are_close(standins: ModuleType, tmp_path: Path) -> None:
    made = pd.read_parquet(standins.hexagons(tmp_path, "paris").path)
    ends = [made[side].map(h3.cell_to_latlng).tolist() for side in ("origin", "destination")]
    apart = np.hypot(*(np.array(ends[0]) - np.array(ends[1])).T)
    busy = made["trips"] > 1
    assert apart[busy].mean() < 0.8 * apart[~busy].mean()
