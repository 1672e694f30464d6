"""What is verified is what is published: the bundle is built while the day is held, and held against its tables."""

import fcntl
import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gate_town as gate
import pandas as pd
import pytest
from gate_town import DAY, people, town

from odanon.errors import OdanonError
from odanon.product import Product
from odanon_assets.chain.stages import STAGES, run_stage
from odanon_assets.gate.facts import without_paths
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.publisher import act
from odanon_assets.stores.bundle import Bundle
from odanon_assets.stores.interface import Store

pytestmark = pytest.mark.stores_in_turn

MAKE = act.make_bundle


@pytest.fixture
def product(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Product:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    gate.write(workspace, people())
    made = town(workspace)
    gate.made(made)
    return made


def publish(product: Product, store: Store) -> None:
    act.publish_day(product, Lake(default_root()), DAY, store)


def fewer_trips(bundle: Bundle) -> Bundle:
    return replace(bundle, flows=bundle.flows.assign(trips=bundle.flows["trips"] - 1))


def a_flow_more(bundle: Bundle) -> Bundle:
    flows = bundle.flows
    known = set(zip(flows["origin_zone"], flows["destination_zone"], strict=True))
    ends = [(o, d) for o in flows["origin_zone"] for d in flows["destination_zone"] if (o, d) not in known]
    extra = flows.iloc[[0]].assign(origin_zone=ends[0][0], destination_zone=ends[0][1])
    return replace(bundle, flows=pd.concat([flows, extra], ignore_index=True))


def other_people(bundle: Bundle) -> Bundle:
    return replace(bundle, flows=bundle.flows.assign(persons_band="100+"))


def larger_zone(bundle: Bundle) -> Bundle:
    return replace(bundle, zones=bundle.zones.assign(n_tiles=bundle.zones["n_tiles"] + 1))


def a_zone_more(bundle: Bundle) -> Bundle:
    extra = bundle.zones.iloc[[0]].assign(zone_id="where somebody went")
    return replace(bundle, zones=pd.concat([bundle.zones, extra], ignore_index=True))


def other_tiles(bundle: Bundle) -> Bundle:
    shuffled = bundle.zones.assign(tiles=[*bundle.zones["tiles"][1:], bundle.zones["tiles"].iloc[0]])
    return replace(bundle, zones=shuffled)


def other_name(bundle: Bundle) -> Bundle:
    return replace(bundle, zones=bundle.zones.assign(name=pd.array(["Erika"] * len(bundle.zones), dtype="str")))


def softer_facts(bundle: Bundle) -> Bundle:
    parameters = {**bundle.manifest["parameters"], "k": 2}
    return replace(bundle, manifest={**bundle.manifest, "parameters": parameters})


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (fewer_trips, "published-flows"),
        (a_flow_more, "published-flows"),
        (other_people, "published-flows"),
        (larger_zone, "published-zones"),
        (other_tiles, "published-zones"),
        (a_zone_more, "unused-zones"),
        (other_name, "published-names"),
        (softer_facts, "facts"),
    ],
)
def test_a_bundle_that_shows_something_else_is_refused(
    product: Product,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Bundle], Bundle],
    rule: str,
) -> None:
    monkeypatch.setattr(act, "make_bundle", lambda *arguments: change(MAKE(*arguments)))
    with pytest.raises(OdanonError, match=f"is not published: .*{rule}"):
        publish(product, store)
    assert store.windows("town") == []
    assert store.ledger().empty


def test_the_honest_bundle_is_published(product: Product, store: Store) -> None:
    publish(product, store)
    assert store.windows("town") == [DAY.isoformat()]


def test_a_bundle_of_other_tables_is_refused(product: Product, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with a weaker k waited for the lock while an ordinary run replaced the tables."""
    lake = Lake(default_root())
    weaker = town(default_root().parent, anonymize={"plugin": "atg-joint", "k": 2, "suppression": 0.1})
    gate.made(weaker)
    waiting = MAKE(weaker, lake, DAY)
    gate.made(product)
    monkeypatch.setattr(act, "make_bundle", lambda *_: waiting)
    with pytest.raises(OdanonError, match=r"facts.*published-flows"):
        publish(product, store)
    assert store.windows("town") == []


def test_figures_of_other_tables_are_not_published(product: Product, store: Store) -> None:
    """Rows were read and anonymised again, and what is beside them was measured on the earlier ones."""
    gate.write(default_root().parent, people(n=500))
    for stage in STAGES[:-2]:
        run_stage(product, stage.name, DAY, {plugin: getattr(product, plugin).instance for plugin in stage.plugins})
    with pytest.raises(OdanonError, match="figures: figures of other tables; run the stage metrics again"):
        publish(product, store)
    assert store.windows("town") == []


def test_nobody_replaces_the_tables_of_a_day_while_it_is_built_judged_and_written(
    product: Product, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    free: list[str] = []

    def another_run_may_begin() -> bool:
        with Lake(default_root()).day_lock("town", DAY).open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    def looked_at(name: str) -> Callable[..., Any]:
        step = getattr(act, name)

        def watched(*arguments: Any) -> Any:
            free.append(f"{name}: {another_run_may_begin()}")
            return step(*arguments)

        return watched

    for name in ("make_bundle", "let_pass", "confirm"):
        monkeypatch.setattr(act, name, looked_at(name))
    publish(product, store)
    assert free == ["make_bundle: False", "let_pass: False", "confirm: False"]
    assert another_run_may_begin()


def test_the_early_check_asks_for_the_promise_too(product: Product) -> None:
    from odanon_assets.checks.gate import verifier

    stricter = town(default_root().parent, anonymize={"plugin": "atg-joint", "k": 20, "suppression": 0.1})
    assert verifier(product, Lake(default_root()), DAY).passed
    verdict = verifier(stricter, Lake(default_root()), DAY)
    assert not verdict.passed
    assert "weaker k" in verdict.sentence


def test_a_manifest_names_no_path_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layer = tmp_path / "zones of Erika.gpkg"
    layer.write_bytes(b"areas")
    digest = f"sha256:{hashlib.sha256(b'areas').hexdigest()}"
    told = {
        "plugin": "polygons",
        "path": str(layer),
        "zone": "Europe/Paris",
        "levels": [{"path": str(layer), "id": "n"}],
    }
    assert without_paths(told) == {**told, "path": digest, "levels": [{"path": digest, "id": "n"}]}
    monkeypatch.chdir(tmp_path)
    assert without_paths({"path": layer.name}) == {"path": digest}
    (tmp_path / "zones of Erika.gdb").mkdir()
    assert without_paths("zones of Erika.gdb").startswith("sha256:")
    assert without_paths(without_paths(told)) == without_paths(told)
    for gone in ("/srv/data/gone.gpkg", "s3://bucket/of/erika.gpkg"):
        assert without_paths(gone).startswith("sha256:")
