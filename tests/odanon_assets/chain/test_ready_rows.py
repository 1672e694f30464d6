"""Ready tables and tables of people of any size: repeated rows fall together, and what does not fit is refused in time."""

from datetime import datetime
from pathlib import Path
from typing import Any

import gate_town as gate
import numpy as np
import pandas as pd
import pytest
from gate_town import DAY, TILES, people, town
from product_example import small_product

from odanon.errors import OdanonError
from odanon.product import Product
from odanon.product.sections import Population
from odanon.reading import table
from odanon_assets.chain import traces
from odanon_assets.chain.people import PEOPLE, describe_people, expanded, write_people
from odanon_assets.chain.stages import STAGES, run_stage
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


def trips_with(folder: Path, **described: Any) -> Product:
    """A product of two people's trips, described by tables."""
    rows = [
        (person, "2026-03-02T08:00:00Z", "2026-03-02T09:00:00Z", 45.75, 4.85, 45.76, 4.86) for person in ("01", "2")
    ]
    columns = ["person", "start", "end", "o_lat", "o_lon", "d_lat", "d_lon"]
    pd.DataFrame(rows, columns=columns).to_csv(folder / "trips.csv", index=False)
    return small_product(folder, source={"plugin": "trips", "path": str(folder / "trips.csv")}, **described)


def test_people_keep_the_zeros_of_their_ids_and_the_words_of_their_attributes(folder: Path) -> None:
    (folder / "people.csv").write_text("who,age,w\n01,007,2.5\n2,,\n1,9,3\n")
    people = {"table": str(folder / "people.csv"), "id": "who", "segments": ["age"], "weight": "w"}
    product = trips_with(folder, people=people)
    for stage in STAGES[:3]:
        run_stage(product, stage.name, DAY, {name: getattr(product, name).instance for name in stage.plugins})
    lake = Lake(default_root())
    described = describe_people(product, lake, DAY, product.zoning.instance)
    assert described is not None
    assert sorted(described[["segment", "weight"]].values.tolist()) == [["007", 2.5], ["unknown", 1.0]]
    kept = pd.read_parquet(lake.read("small", "traces", DAY) / PEOPLE)
    assert len(kept) == 3
    assert not {"1", "2", "01"} & set(kept["person"].astype("str"))


def test_a_small_file_that_unpacks_to_a_large_table_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "SMALL_BYTES", 1 << 20)
    path = folder / "bomb.parquet"
    pd.DataFrame({"person": "p", "zone": "z", "sex": "F", "inhabitants": 1.0}, index=range(400_000)).to_parquet(path)
    assert path.stat().st_size < 20_000
    product = trips_with(folder, people={"table": str(path), "segments": ["sex"]})
    too_large = r"bomb\.parquet: it takes more than 1 MiB of memory"
    with pytest.raises(OdanonError, match=too_large):
        write_people(product, product.source.instance, b"key", folder)
    homes = pd.DataFrame({"home_lat": [45.75], "home_lon": [4.85]})
    with pytest.raises(OdanonError, match=too_large):
        expanded(Population(table=str(path)), homes, product.zoning.instance)


def test_what_describes_people_is_refused_where_it_would_be_ignored_or_tell_ids(folder: Path) -> None:
    with pytest.raises(OdanonError, match="remove it, and name the columns with segment and weight under source"):
        town(folder, people={"table": "people.csv", "segments": ["sex", "age"]})
    with pytest.raises(OdanonError, match="the column 'who' names people"):
        trips_with(folder, people={"table": "people.csv", "id": "who", "segments": ["who"]})
