"""The risk report in the pipeline: tables of what is shown stay restricted, rounded figures go into the manifest."""

import json
import shutil
from pathlib import Path
from typing import Any

import gate_town as gate
import pandas as pd
import pytest
from gate_town import DAY, people, published, town, visible

from odanon.product import Product
from odanon.risk.figures import FIGURES, PREFIX
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.platform.metadata import stage_metadata
from odanon_assets.stores.choice import open_store

BY_SEX = {"person": "person", "segment": "sex"}


@pytest.fixture
def folder(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    gate.write(workspace, people(1500, hours=(8, 9)))
    return workspace


def told(product: Product, release: str) -> dict[str, Any]:
    """The public figures of the risk report of a release."""
    metrics = json.loads(open_store(product).manifest_text(release))["metrics"]
    return {name.removeprefix(PREFIX): value for name, value in metrics.items() if name.startswith(PREFIX)}


def tables(product: Product) -> tuple[pd.DataFrame, pd.DataFrame]:
    made = Lake(default_root()).read(product.product, "metrics", DAY)
    return pd.read_parquet(made / "risk_flows.parquet"), pd.read_parquet(made / "risk_origins.parquet")


def test_a_release_has_its_report(folder: Path) -> None:
    product = town(folder)
    release = published(product)
    flows, origins = tables(product)
    shown, figures = visible(product), told(product, release)
    keys = ["time_start", "origin_zone", "destination_zone", "trips"]
    names = {"time_bin": "time_start", "origin": "origin_zone", "destination": "destination_zone"}
    mine = flows.rename(columns=names)
    assert mine.merge(shown, on=keys).shape[0] == len(shown) == len(mine)
    assert figures["prosecutor_at_most"] == 0.1
    assert figures["prosecutor_mean"] == pytest.approx(len(flows) / flows["persons"].sum(), rel=0.05)
    assert figures["dominated_share"] == pytest.approx((flows["dominance"] > 0.25).mean(), rel=0.05)
    assert 0.5 < figures["membership_auc"] < 0.7
    restricted = Lake(default_root()).figures("town", "metrics", DAY)
    assert 0 < restricted["risk_minimality_mean"] < 1
    assert 0 < restricted["risk_total_variation_mean"] <= restricted["risk_total_variation_max"] <= 1
    assert figures.keys() == {figure.name.removeprefix(PREFIX) for figure in FIGURES if figure.public}
    assert figures["homogeneity_mean"] >= origins["homogeneity"].min()
    assert "Risk that remains" in open_store(product).report(release)
    assert list(default_root().rglob("risk_*.parquet"))
    assert not list((default_root() / "published").rglob("risk*"))


def test_the_report_by_segment_is_of_the_flows_as_shown(folder: Path) -> None:
    product = town(folder, "sexes", BY_SEX)
    release = published(product)
    flows, shown = tables(product)[0], visible(product)
    assert sorted(flows["segment"].value_counts().items()) == sorted(shown["segment"].value_counts().items())
    assert flows["trips"].sum() == shown["trips"].sum()
    assert (flows["persons"] >= 10).all()
    assert told(product, release)["prosecutor_mean"] == pytest.approx(len(flows) / flows["persons"].sum(), rel=0.05)


def test_a_table_without_people_is_measured_as_far_as_trips_tell(folder: Path) -> None:
    rows = people(1500, hours=(8, 9)).groupby(["time_bin", "origin", "destination"], as_index=False)["trips"].sum()
    gate.write(folder, rows)
    trips = {"plugin": "odkanon", "k": 10, "unit": "trips"}
    product = town(folder, columns={}, anonymize=trips, publish={"accept_unit_trips": True})
    figures = told(product, published(product))
    assert figures["prosecutor_at_most"] == 1.0
    assert figures["membership_auc"] > 0.5
    assert figures.keys() == {"prosecutor_at_most", "membership_auc"}


def test_the_attack_is_computed_once_for_the_parameters(folder: Path) -> None:
    place = default_root() / "work" / ".membership"
    shutil.rmtree(place)
    published(town(folder))
    (kept,) = place.iterdir()
    kept.write_text(json.dumps({"membership_auc": 0.123}))
    gate.made(town(folder))
    figures = Lake(default_root()).figures("town", "metrics", DAY)
    assert figures["risk_membership_auc"] == 0.123
    kept.unlink()


def test_the_platform_plots_the_figures() -> None:
    figures = {"risk_membership_auc": 0.61, "risk_homogeneous_tiles_mean": 4.0, "S": 3.0}
    assert stage_metadata("metrics", figures, 10) == {"risk_membership_auc": 0.61, "risk_homogeneous_tiles_mean": 4.0}
