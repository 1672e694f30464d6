"""Estimates of the population in both stores: rounded by the rows behind them, and not to be compared with themselves."""

from pathlib import Path
from typing import Any

import gate_town as gate
import pandas as pd
import pytest
from gate_town import DAY, people, published, town, visible

from odanon.errors import OdanonError
from odanon.product import Product
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.publisher.act import publish_day
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.interface import Act

pytestmark = pytest.mark.stores_in_turn

WEIGHED = {"person": "person", "weight": "weight"}
ESTIMATE = {"plugin": "atg-joint", "k": 10, "unit": "population", "k_population": 50, "suppression": 0.1}


@pytest.fixture(params=["embedded", "postgis"])
def target(request: pytest.FixtureRequest, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Where to publish, with a day of weighed people in the workspace."""
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    gate.write(workspace, people())
    if request.param == "embedded":
        return {"store": "embedded"}
    monkeypatch.setenv("ODANON_DB_URL", request.getfixturevalue("database"))
    return {"store": "postgis", "url": "${ODANON_DB_URL}"}


def weighed(folder: Path, name: str, target: dict[str, Any], weight: str = "weight") -> Product:
    return town(folder, name, {**WEIGHED, "weight": weight}, anonymize=ESTIMATE, publish=target)


def one_person_heavier(rows: pd.DataFrame) -> pd.Series:
    return rows["weight"] + (rows["person"] == rows["person"].iloc[0])


def test_what_readers_get_is_rounded_by_the_heaviest_person_of_each_flow(workspace: Path, target: dict) -> None:
    product = weighed(workspace, "town", target)
    release = published(product)
    store, rows, flows = open_store(product), people(), visible(product)
    zones = store.zones(release).set_index("zone_id")["tiles"].map(set)
    for flow in flows.itertuples():
        here = rows["origin"].isin(zones[flow.origin_zone]) & rows["destination"].isin(zones[flow.destination_zone])
        mine = rows[here].groupby("person")["weight"].sum()
        step = next(step for step in (1, 2, 5, 10, 20, 50, 100) if step >= mine.max())
        assert flow.trips % step == 0
        assert abs(flow.trips - mine.sum()) <= step / 2
    assert len(flows) > 5
    total = flows["trips"].sum()
    assert float(store.query("select sum(trips) as n from flows")["n"].iloc[0]) == total
    assert "estimates, from people who stand for others" in store.report(release)


def test_one_persons_new_weight_is_refused_in_the_place_of_the_first_release(workspace: Path, target: dict) -> None:
    product = weighed(workspace, "town", target)
    first, rows = published(product), people()
    gate.write(workspace, rows.assign(weight=one_person_heavier(rows)))
    gate.made(product)
    act = Act("Ada", "a new weight")
    with pytest.raises(OdanonError, match=f"changed-input: .*{first}"):
        publish_day(product, Lake(default_root()), DAY, open_store(product), act)
    assert open_store(product).released("town", DAY) == first


def test_one_persons_new_weight_is_refused_in_a_second_product(workspace: Path, target: dict) -> None:
    rows = people()
    gate.write(workspace, rows.assign(other=one_person_heavier(rows)))
    first = published(weighed(workspace, "town", target))
    second = weighed(workspace, "second", target, weight="other")
    gate.made(second)
    with pytest.raises(OdanonError, match=f"changed-input: .*{first}"):
        gate.publish(second)
    same = weighed(workspace, "same", target)
    published(same)
    assert visible(same)["trips"].tolist() == visible(weighed(workspace, "town", target))["trips"].tolist()
