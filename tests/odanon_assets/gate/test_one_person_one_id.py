"""Five people whose ids have another type in a second file stay five: their flow is not published."""

from pathlib import Path

import gate_town as gate
import numpy as np
import pandas as pd
import pytest
from gate_town import DAY, TILES, people

from odanon.errors import OdanonError
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.publisher.act import publish_day
from odanon_assets.stores.interface import Store

FIVE = pd.DataFrame(
    {
        "time_bin": pd.Timestamp(DAY, tz="UTC"),
        "origin": TILES[0],
        "destination": TILES[1],
        "trips": 2,
        "person": np.arange(9000, 9005),
    }
)


@pytest.fixture
def folder(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    (workspace / str(DAY)).mkdir()
    return workspace / str(DAY)


def flows(workspace: Path, store: Store) -> pd.DataFrame:
    """What readers get of the files in the day's folder."""
    product = gate.town(workspace, columns={"path": f"{workspace}/{{date}}", "person": "person"})
    gate.made(product)
    publish_day(product, Lake(default_root()), DAY, store)
    release = store.released("town", DAY)
    assert release is not None
    return store.flows(release)


def test_the_flow_of_five_people_is_not_published(folder: Path, store: Store) -> None:
    crowd = people(n=300).assign(person=lambda rows: rows["person"].str.removeprefix("person ").astype("int64"))
    crowd = crowd[(crowd["origin"] != TILES[0]) & (crowd["destination"] != TILES[1])]
    pd.concat([crowd, FIVE]).to_parquet(folder / "a.parquet")
    FIVE.assign(person=FIVE["person"].astype("float64"), trips=3).to_parquet(folder / "b.parquet")
    FIVE.assign(person=FIVE["person"].astype("str") + ".0", trips=4).to_csv(folder / "c.csv", index=False)
    shown = flows(folder.parent, store)
    hours = pd.to_datetime(shown["time_start"], utc=True).dt.hour
    assert set(hours) == {8}, "the five, alone in their hour, were taken for more"


def test_numbers_and_padded_texts_of_one_day_are_refused(folder: Path, store: Store) -> None:
    FIVE.to_parquet(folder / "a.parquet")
    FIVE.assign(person="0" + FIVE["person"].astype("str")).to_parquet(folder / "b.parquet")
    with pytest.raises(OdanonError, match="numbers beside others") as refused:
        flows(folder.parent, store)
    assert "900" not in str(refused.value)
    assert store.windows("town") == []
