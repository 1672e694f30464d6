"""Ready tables of any size: repeated rows fall together as they come, and too many different ones are refused in time."""

from datetime import datetime
from pathlib import Path

import gate_town as gate
import numpy as np
import pandas as pd
import pytest
from gate_town import DAY, TILES, people, town

from odanon.errors import OdanonError
from odanon_assets.chain import traces
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root


@pytest.fixture
def folder(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(traces, "READY_BYTES", 4 << 20)
    return workspace


def read(folder: Path, rows: pd.DataFrame, **columns: str) -> dict[str, int]:
    gate.write(folder, rows)
    product = town(folder, columns={"person": "person", **columns})
    return traces.traces(
        product, Lake(default_root()), DAY, source=product.source.instance, engine=product.engine.instance
    )


def test_a_small_file_of_endless_repetitions_stays_small(folder: Path) -> None:
    one = people(20).head(1)
    rows = one.loc[np.repeat(one.index, 500_000)].reset_index(drop=True)
    figures = read(folder, rows)
    assert (folder / f"{DAY}.parquet").stat().st_size < 100_000
    assert (figures["points"], figures["duplicates"]) == (1, 499_999)


def test_different_rows_that_do_not_fit_are_refused_with_a_sentence(folder: Path) -> None:
    n = 400_000
    rows = pd.DataFrame(
        {
            "time_bin": pd.Timestamp(datetime(2026, 3, 2, 8), tz="UTC"),
            "origin": TILES[0],
            "destination": TILES[1],
            "trips": np.arange(1, n + 1),  # packs to almost nothing
            "person": "p",
        }
    )
    with pytest.raises(OdanonError, match="take more than 4 MiB of memory; give fewer columns"):
        read(folder, rows)


def test_a_row_of_too_many_trips_is_quarantined(folder: Path) -> None:
    rows = people(40)
    figures = read(folder, rows.assign(trips=rows["trips"].astype("int64").where(rows.index > 0, 2**31)))
    assert figures["reasons"]["out_of_range"] == 1


def test_a_weight_without_end_is_quarantined(folder: Path) -> None:
    rows = people(40)
    rows.loc[rows.index[:2], "weight"] = [np.inf, np.nan]
    assert read(folder, rows, weight="weight")["reasons"]["out_of_range"] == 2
