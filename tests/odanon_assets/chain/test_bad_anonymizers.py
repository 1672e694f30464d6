"""Whatever an anonymiser does wrong, the pipeline publishes nothing and an earlier release stays (PRIVACY rule 2)."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import gate_town as gate
import pytest
from gate_town import DAY, people, town
from open_door import open_door

from odanon.anonymizers.atg.joint import AtgJoint
from odanon.errors import OdanonError
from odanon.model.release import Release
from odanon.product import Product
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.platform.launch import run_days
from odanon_assets.publisher.act import publish_day
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.interface import Act

HONEST = AtgJoint.anonymize


def below_k(self: Any, od: Any, origins: Any, destinations: Any) -> Release:
    """Every pair as it is."""
    tiles = origins.tiles[od.pairs.origin], destinations.tiles[od.pairs.destination]
    return Release.from_nodes(od, origins, destinations, *tiles, {})


def overlapping(self: Any, od: Any, origins: Any, destinations: Any) -> Release:
    """One flow a second time, from the whole map."""
    made = HONEST(self, od, origins, destinations)
    areas = replace(made.origins, members=made.origins.members.copy())
    whole = areas.from_nodes(origins, [origins.root])
    flows = made.flows.astype({"origin": "str", "destination": "str"})
    flows.loc[0, "origin"] = whole.label[0]
    return replace(made, flows=flows, origins=areas.followed_by(whole))


def losing_volume(self: Any, od: Any, origins: Any, destinations: Any) -> Release:
    made = HONEST(self, od, origins, destinations)
    return replace(made, flows=made.flows.assign(trips=made.flows["trips"] - 1))


def raising(self: Any, od: Any, origins: Any, destinations: Any) -> Release:
    raise RuntimeError("person 17 travels alone")


def never_ending(self: Any, od: Any, origins: Any, destinations: Any) -> Release:
    while True:
        time.sleep(0.01)


@pytest.fixture
def product(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Product:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    gate.write(workspace, people())
    return town(workspace, checks={"max_anonymize": "2s"})


@pytest.mark.parametrize("door", ["shut", "open"])
@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (below_k, "at-least-k"),
        (overlapping, "disjoint"),
        (losing_volume, "conservation"),
        (raising, "RuntimeError"),
        (never_ending, "took longer than checks.max_anonymize"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_bad_anonymiser_publishes_nothing(
    bad: Any, said: str, door: str, product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the library's door, and at the gate behind it should the door let it pass."""
    monkeypatch.setattr(AtgJoint, "anonymize", bad)
    if door == "open":
        open_door(monkeypatch)
    (result,) = run_days(product, [DAY], resume=False)
    assert said in result.error
    assert "person 17" not in result.error
    assert open_store(product).windows("town") == []
    assert open_store(product).ledger().empty


def test_a_bad_anonymiser_does_not_replace_a_release_by_a_named_act_either(
    product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, store, act = gate.published(product), open_store(product), Act("Ada", "the antennas were wrong")
    monkeypatch.setattr(AtgJoint, "anonymize", below_k)
    open_door(monkeypatch)
    gate.write(default_root().parent, people(seed=2))
    gate.made(product)
    with pytest.raises(OdanonError, match=r"at-least-k: .*the earlier release, if any, stays"):
        publish_day(product, Lake(default_root()), DAY, store, act)
    assert (store.released("town", DAY), store.problems(first)) == (first, [])
    assert store.audit_log()["act"].tolist() == ["publish"]
