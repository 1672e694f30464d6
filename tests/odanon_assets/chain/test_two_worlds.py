"""Few people in no flow look like none: everything shown is the same, to the digit, as if they had never travelled."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import gate_town as gate
import h3
import numpy as np
import pandas as pd
import pytest
from gate_town import DAY, TILES, published, town
from hypothesis import given, settings
from hypothesis import strategies as st

from odanon.errors import OdanonError
from odanon.metrics.left_out import LeftOut
from odanon.metrics.measure import measured_window
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.product import Product
from odanon.risk.bands import coarse, persons_band
from odanon.risk.public import public_metrics
from odanon.testing.trial.cities import random_city
from odanon_assets.chain.stages import STAGES
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.platform.metadata import stage_metadata
from odanon_assets.publisher.bundle import public_figures
from odanon_assets.stores.choice import open_store

K = 4


def released(rows: pd.DataFrame, tree: Hierarchy, places: dict[tuple[str, str], int], cap: int | None) -> Any:
    """The matrix of some rows and a release of it, each pair at the tree's node that `places` says, -1 for none."""
    od = ODMatrix.from_frame(rows, tree, tree, weight="weight")
    label = tree.label[tree.tiles]
    nodes = np.array(
        [places[o, d] for o, d in zip(label[od.pairs.origin], label[od.pairs.destination], strict=True)], dtype=np.int64
    )
    parameters = {"k": K, "unit": "persons", "contribution_cap": cap}
    return od, Release.from_nodes(od, tree, tree, nodes, nodes, parameters, contribution_cap=cap)


def shown(matrices: dict[int, ODMatrix], releases: dict[int, Release], rows: dict[int, pd.DataFrame]) -> dict[str, Any]:
    """What manifest and UI tell of the releases, with every metric there is; as the stages `metrics` and `published` do."""
    missing = LeftOut.of(matrices, releases, {name: np.unique(part["person"]) for name, part in rows.items()}, K)
    figures: dict[str, Any] = measured_window(*(missing.worlds if missing.hidden else (matrices, releases)))
    figures["left_out_people"] = missing.people
    flows = pd.concat([release.flows for release in releases.values()], ignore_index=True)
    flows = flows.assign(persons_band=pd.Series(persons_band(flows["persons"], K)).astype("str"))
    return {
        "manifest": public_metrics(figures, flows, K, public_figures(Path()), figures["left_out_people"]),
        "ui": stage_metadata("metrics", figures, K),
    }


@settings(max_examples=200 if os.environ.get("ODANON_STRESS") else 6, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    lonely=st.integers(1, K - 1),
    trips=st.integers(1, 500),
    cap=st.sampled_from([None, 1, 2]),
    strangers=st.booleans(),
)
def test_two_worlds_show_the_same_figures(seed: int, lonely: int, trips: int, cap: int | None, strangers: bool) -> None:
    tree, rows = random_city(seed)
    rng = np.random.default_rng(seed)
    if cap is not None:
        rows = rows.drop_duplicates("person").assign(trips=1)  # nobody is beyond the cap but the few
    rows["weight"] = rng.uniform(1, 9, len(rows)) * rows["trips"]
    pairs = pd.Series([*zip(rows["origin"], rows["destination"], strict=True)], index=rows.index)
    distinct = rows.drop_duplicates(["origin", "destination"])
    few = distinct.sample(min(lonely, len(distinct)), random_state=seed)
    hidden = set(pairs[few.index])
    rows = rows[~pairs.isin(hidden)]
    if rows.empty:
        return
    few = few.assign(person=few["person"] + 1000 * strangers, trips=trips, weight=trips * 1.5)
    places = {pair: -1 if pair in hidden else int(tree.root) for pair in pairs}
    told = []
    for world in (rows, pd.concat([rows, few], ignore_index=True)):
        od, made = released(world, tree, places, cap)
        told.append(shown({1: od}, {1: made}, {1: world}))
    assert told[0] == told[1]
    assert told[0]["ui"]["S"] == 0


def test_who_is_beyond_the_cap_is_left_out_too() -> None:
    tree, rows = random_city(5)
    rows = rows.drop_duplicates("person").assign(trips=1, weight=1.0)
    driver = rows.index[0]
    places = dict.fromkeys(rows[["origin", "destination"]].itertuples(index=False, name=None), int(tree.root))
    told = []
    for trips in (2, 500):
        world = rows.assign(trips=rows["trips"].mask(rows.index == driver, trips))
        world["weight"] = world["trips"].astype(float)
        od, made = released(world, tree, places, 2)
        assert LeftOut.of({1: od}, {1: made}, {1: np.unique(world["person"])}, K).everybody == (trips > 2)
        told.append(shown({1: od}, {1: made}, {1: world}))
    assert told[0] == told[1]


@pytest.mark.parametrize("trips", [1, 40])
def test_many_beyond_the_cap_do_not_show_one_who_is_in_no_flow(trips: int) -> None:
    tree, rows = random_city(5)
    rows = rows.drop_duplicates("person").assign(trips=5, weight=5.0)
    pairs = [*rows[["origin", "destination"]].itertuples(index=False, name=None)]
    places = dict.fromkeys(pairs, int(tree.root))
    label = tree.label[tree.tiles]
    lonely = next((o, d) for o in label for d in label if (o, d) not in places)
    places[lonely] = -1
    courier = pd.DataFrame(
        [[*lonely, trips, float(trips), 999]], columns=["origin", "destination", "trips", "weight", "person"]
    )
    told = []
    for world in (rows, pd.concat([rows, courier], ignore_index=True)):
        od, made = released(world, tree, places, 2)
        told.append(shown({1: od}, {1: made}, {1: world}))
    assert told[0] == told[1]


def test_what_k_people_left_out_is_told_with_one_digit() -> None:
    tree, rows = random_city(5)
    rows = rows.drop_duplicates("person").assign(weight=1.0)
    pairs = [*rows[["origin", "destination"]].drop_duplicates().itertuples(index=False, name=None)]
    places = {pair: -1 if number % 3 == 0 else int(tree.root) for number, pair in enumerate(pairs)}
    od, made = released(rows, tree, places, None)
    missing = LeftOut.of({1: od}, {1: made}, {1: np.unique(rows["person"])}, K)
    assert missing.people >= K
    bins = range(K)  # of one flow each: a ratio is told of k flows
    told = shown(dict.fromkeys(bins, od), dict.fromkeys(bins, made), dict.fromkeys(bins, rows))["ui"]
    for name in ("S_share", "E", "D", "C_DM", "C_AVG", "density_before"):
        assert told[name] == coarse(told[name]), name
    assert told["S"] % K == 0


# ---- through the pipeline ----


@pytest.fixture
def folder(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    return workspace


def crowd(origin: str, destination: str, names: list[str], hour: int = 8, trips: int = 3) -> pd.DataFrame:
    at = datetime(DAY.year, DAY.month, DAY.day, hour, tzinfo=UTC)
    return pd.DataFrame({"time_bin": at, "origin": origin, "destination": destination, "trips": trips, "person": names})


NEAR = h3.cell_to_parent(TILES[0], 2)  # a root that is given, so that nobody's tiles lie outside it


def town_of(
    folder: Path, name: str, extra: list[pd.DataFrame], root: str = NEAR, **rules: Any
) -> tuple[Product, dict[str, Any], list[dict[str, Any]]]:
    """A town of a dozen flows and some more rows: its product, its manifest and what the UI shows of its stages."""
    rows = [crowd(TILES[n], TILES[n + 1], [f"p{n} {m}" for m in range(10 + n)]) for n in range(12)]
    place = folder / name
    place.mkdir()
    everybody = pd.concat([*rows, *extra])
    gate.write(place, everybody.assign(person=f"{name} " + everybody["person"]))  # or the auditor would compare the two
    promise = {"plugin": "suppression", "k": 10, "suppression": 0.9}
    tree, metrics = {"plugin": "h3", "root": root}, ["reconstruction", "classes", "sizes"]
    product = town(place, name, anonymize=promise, hierarchy=tree, metrics=metrics, **rules)
    manifest = json.loads(open_store(product).manifest_text(published(product)))
    lake = Lake(default_root())
    ui = [stage_metadata(stage.name, lake.figures(name, stage.name, DAY), 10) for stage in STAGES]
    return product, manifest, ui


def plain(shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what names the run and where it lies."""
    named = {"release_id", "folder", "report", "source_state"}
    return [{name: value for name, value in stage.items() if name not in named} for stage in shown]


COURIER = [crowd(TILES[50], TILES[n], ["courier"], hour, 1) for n, hour in enumerate((3, *[8] * 11), 20)]
NEIGHBOURS = [crowd(TILES[50 + n], TILES[5], [f"p{n} 0"], trips=40) for n in range(9)]


@pytest.mark.parametrize("few", [COURIER, NEIGHBOURS], ids=["courier", "neighbours"])
def test_a_release_shows_nothing_of_few_people(folder: Path, few: list[pd.DataFrame]) -> None:
    _, without, ui_without = town_of(folder, "town", [])
    product, manifest, ui = town_of(folder, "other", few)
    assert manifest["metrics"] == without["metrics"]
    assert manifest["metrics"]["suppressed_share"] == 0
    assert manifest["input_counts"] == without["input_counts"]
    assert plain(ui) == plain(ui_without)
    exact = json.loads((Lake(default_root()).folder("other", "metrics", DAY) / "exact.json").read_text())
    assert exact["S"] == sum(part["trips"].sum() for part in few)
    assert exact["left_out_people"] == len({name for part in few for name in part["person"]})
    assert product.metrics[0].plugin == "reconstruction"  # the guard does not depend on the metrics that are chosen


JAPAN = h3.latlng_to_cell(35.68, 139.69, 8)
TOURISTS = [crowd(TILES[n], JAPAN, [f"tourist {n}"], trips=90) for n in range(9)]
AT_HOME = [crowd(TILES[n], TILES[n], [f"hermit {n}"], trips=90) for n in range(9)]


@pytest.mark.parametrize("few", [COURIER, NEIGHBOURS, TOURISTS, AT_HOME])
def test_nor_of_few_people_whose_trips_are_not_in_the_matrix(folder: Path, few: list[pd.DataFrame]) -> None:
    rules = {"od": {"bin": "1h", "intrazonal": "drop"}, "checks": {"max_unknown_zone": 0.9}}
    shown = [town_of(folder, name, extra, "auto", **rules)[1:] for name, extra in {"town": [], "other": few}.items()]
    (without, ui_without), (manifest, ui) = shown
    assert manifest["metrics"] == without["metrics"]
    assert manifest["input_counts"] == without["input_counts"]
    assert plain(ui) == plain(ui_without)


def test_what_many_left_out_is_coarse_everywhere(folder: Path) -> None:
    many = [crowd(TILES[50 + n % 8], TILES[n], [f"m{n}"], trips=7) for n in range(20)]
    _, manifest, ui = town_of(folder, "town", many)
    flows, share = 12, 140 / (140 + 3 * sum(10 + n for n in range(12)))
    assert manifest["metrics"]["flows"] == flows
    assert manifest["metrics"]["suppressed_share"] == float(f"{share:.0e}")
    assert manifest["metrics"]["reconstruction_loss"] == coarse(manifest["metrics"]["reconstruction_loss"])
    told = dict(zip((stage.name for stage in STAGES), ui, strict=True))
    assert told["metrics"]["S"] == 100
    assert not {"od_trips", "trips", "points", "people"} & (
        told["od"].keys() | told["trips"].keys() | told["traces"].keys()
    )
    assert told["published"]["people"] % 10 == 0


def test_a_day_that_an_earlier_version_measured_is_measured_again_first(folder: Path) -> None:
    gate.write(folder, gate.people())
    product = town(folder)
    gate.made(product)
    path = Lake(default_root()).folder("town", "metrics", DAY) / "figures.json"
    figures = json.loads(path.read_text())
    del figures["left_out_people"]
    path.write_text(json.dumps(figures))
    with pytest.raises(OdanonError, match="an earlier version measured this day; run its stage metrics again"):
        gate.publish(product)
