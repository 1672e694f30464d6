"""What the checks after each stage see, and what the platform is shown of it."""

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from product_example import small_product

from odanon.model.figure import Figure
from odanon.product import Product
from odanon.risk.bands import rounded_down
from odanon_assets.chain import stages
from odanon_assets.checks.catalogue import CHECKS
from odanon_assets.checks.check import Verdict
from odanon_assets.checks.columns import TABLES
from odanon_assets.lake.lake import Lake
from odanon_assets.platform.metadata import report_metadata, stage_metadata, table_metadata

DAY = date(2026, 4, 1)


@pytest.fixture
def product(workspace: Path) -> Product:
    return small_product(workspace)


@pytest.fixture
def lake(workspace: Path) -> Lake:
    return Lake(workspace / "data")


def leave(lake: Lake, stage: str, day: date, **figures: Any) -> Path:
    folder = lake.folder("small", stage, day)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "figures.json").write_text(json.dumps(figures))
    return folder


def check(product: Product, lake: Lake, stage: str, name: str) -> Verdict:
    (found,) = [check for check in CHECKS if (check.stage, check.name) == (stage, name)]
    return found.run(product, lake, DAY)


def test_every_stage_is_checked_and_the_gate_blocks() -> None:
    assert {check.stage for check in CHECKS} >= {*TABLES, "metrics"}
    blocking = {(check.stage, check.name) for check in CHECKS if check.blocking}
    assert blocking >= {("anonymized", "verifier"), ("anonymized", "auditor"), ("traces", "quarantine")}
    assert not {name for stage, name in blocking if name in ("volume", "drift_S", "drift_Gbar", "late_data")}


@pytest.mark.parametrize(("today", "passed"), [(1000, True), (1400, True), (1600, False), (400, False)])
def test_a_volume_is_compared_with_the_same_weekday(product: Product, lake: Lake, today: int, passed: bool) -> None:
    for week in (1, 2, 3):
        leave(lake, "trips", DAY - timedelta(weeks=week), trips=1000)
    leave(lake, "trips", DAY - timedelta(days=1), trips=10)  # another weekday says nothing
    leave(lake, "trips", DAY, trips=today)
    assert check(product, lake, "trips", "volume").passed is passed


def test_what_one_person_adds_to_a_volume_does_not_show(product: Product, lake: Lake) -> None:
    for week in (1, 2):
        leave(lake, "trips", DAY - timedelta(weeks=week), trips=1000)
    told = []
    for today in (1000, 1012):
        leave(lake, "trips", DAY, trips=today)
        told.append(check(product, lake, "trips", "volume"))
    assert told[0] == told[1]


def test_a_first_day_has_nothing_to_be_compared_with(product: Product, lake: Lake) -> None:
    leave(lake, "trips", DAY, trips=5)
    assert check(product, lake, "trips", "volume").passed


def test_drift_of_precision_is_seen(product: Product, lake: Lake) -> None:
    for days in (1, 2, 3):
        leave(lake, "metrics", DAY - timedelta(days=days), Gbar=20.0, S_share=0.05)
    leave(lake, "metrics", DAY, Gbar=45.0, S_share=0.06)
    assert not check(product, lake, "metrics", "drift_Gbar").passed
    assert check(product, lake, "metrics", "drift_S").passed


def test_rows_that_vanish_are_seen(product: Product, lake: Lake) -> None:
    counts = {"points": 90, "quarantined": 5, "duplicates": 3, "outside_window": 2}
    leave(lake, "traces", DAY, points_read=100, **counts)
    assert check(product, lake, "traces", "conservation").passed
    leave(lake, "traces", DAY, points_read=101, **counts)
    assert not check(product, lake, "traces", "conservation").passed


def test_trips_that_vanish_are_seen(product: Product, lake: Lake) -> None:
    leave(lake, "trips", DAY, trips=100)
    leave(lake, "od", DAY, od_trips=93, unknown_zone_share=0.05, intrazonal_dropped=2)
    assert check(product, lake, "od", "conservation").passed
    leave(lake, "od", DAY, od_trips=92, unknown_zone_share=0.05, intrazonal_dropped=2)
    assert not check(product, lake, "od", "conservation").passed


def test_a_changed_table_is_seen(product: Product, lake: Lake) -> None:
    folder = leave(lake, "hierarchy", DAY, tiles=1)
    good = pd.DataFrame(
        {"label": ["a"], "parent": [-1], "n_tiles": [1], "level": [0], "lat": [45.0], "lon": [4.0], "more": [1]}
    )
    good.to_parquet(folder / "tree.parquet")
    assert check(product, lake, "hierarchy", "schema").passed
    good.drop(columns="lat").assign(level="low").to_parquet(folder / "tree.parquet")
    verdict = check(product, lake, "hierarchy", "schema")
    assert not verdict.passed
    assert verdict.sentence == "column lat is missing; column level is no integer"


@given(
    st.dictionaries(st.sampled_from(["people", "points", "points_read", "duplicates"]), st.integers(0, 40)),
    st.dictionaries(st.sampled_from(["teleport", "swapped"]), st.integers(0, 40)),
    st.integers(2, 20),
)
def test_fewer_than_k_bad_rows_look_like_none(counts: dict[str, int], reasons: dict[str, int], k: int) -> None:
    bad = sum(reasons.values())
    figures = {**counts, "reasons": reasons, "quarantined": bad, "quarantined_share": bad / 1000, "unheard_of": 77}
    shown = stage_metadata("traces", figures, k)
    assert shown.keys() == {"reasons", "quarantined"}  # what is left out is not known yet: no count of what went in
    assert shown["quarantined"] == (0 if bad < k else rounded_down(bad, k))
    assert shown["reasons"].value == {name: rounded_down(n, k) for name, n in reasons.items() if n >= k}


@given(st.integers(1, 400), st.integers(2, 20))
def test_the_fewest_people_are_told_as_the_edge_of_their_band(smallest: int, k: int) -> None:
    shown = stage_metadata("metrics", {"min_persons": float(smallest), "Gbar": 2.5}, k)
    assert shown["Gbar"] == 2.5
    assert ("min_people" in shown) == (smallest >= k)
    assert shown.get("min_people", k) in (k, 2 * k, 5 * k, 10 * k)


def test_ratios_are_told_with_few_digits_and_none_of_fewer_than_k_flows() -> None:
    """All digits of E or GDM name the tiles of a small flow."""
    ratios = {"Gbar": 17.676923076923078, "G": 1149.0, "GDM": 1234.567, "E": 1.8053375, "absolute_error": 117.34693}
    rest = {"left_out_people": 0, "risk_total_variation_max": 0.31, "risk_minimality_mean": 0.08}
    shown = stage_metadata("metrics", {"flows": 10.0, **ratios, **rest}, 10)
    assert shown == {"flows": 10.0, "Gbar": 17.7, "G": 1150.0, "GDM": 1230.0, "E": 1.81, "absolute_error": 117.0}
    assert stage_metadata("metrics", {"flows": 9.0, **ratios, **rest}, 10) == {"flows": 9.0}


def test_what_follows_from_the_true_numbers_is_not_told_beside_noise() -> None:
    """Every one of these is a sum over flows; E compares with the matrix, which nobody else has."""
    true = {
        "Gbar": 17.7,
        "G": 1150.0,
        "GDM": 1230.0,
        "C_DM": 9e5,
        "min_persons": 30.0,
        "min_trips": 40.0,
        "published": 2677,
    }
    rest = {"flows": 40.0, "E": 1.8053375, "seconds": 3.0, "left_out_people": 10}
    shown = stage_metadata("metrics", {**true, **rest, "perturbed": True}, 10)
    assert shown == {"flows": 40.0, "E": 1.8, "seconds": 3.0, "perturbed": True}


def test_the_report_is_linked_and_what_is_not_a_number_is_left_out(
    product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = {"folder": "/data/published/small/releases/r1", "release_id": "r1", "Gbar": float("nan"), "fresh": True}
    assert "Gbar" not in stage_metadata("published", figures, 10)
    path = report_metadata(product, "published", DAY, figures)["report"]
    assert path.value == "/data/published/small/releases/r1/report.html"
    monkeypatch.setenv("ODANON_PUBLISHED_URL", "https://maps.example/published/")
    linked = report_metadata(product, "published", DAY, figures)["report"]
    assert linked.value == "https://maps.example/published/small/releases/r1/report.html"
    monkeypatch.setenv("ODANON_EXPLORE_URL", "https://maps.example/explore/")
    links = report_metadata(product, "published", DAY, figures)
    assert links["report"].value == f"{linked.value}#explore=/explore/"
    assert links["explore"].value == "https://maps.example/explore/#product=small"
    monkeypatch.setenv("ODANON_EXPLORE_URL", "https://elsewhere.example/")
    assert report_metadata(product, "published", DAY, figures)["report"].value == linked.value


def test_columns_come_from_columns_that_exist(product: Product) -> None:
    for stage, table in TABLES.items():
        for column in table.columns:
            for source in column.made_from:
                upstream, name = source.split(".")
                assert name in {column.name for column in TABLES[upstream].columns}, (stage, column.name)
        lineage = table_metadata(product, stage)["dagster/column_lineage"]
        assert set(lineage.deps_by_column) <= {column.name for column in table.columns}


def test_what_tells_of_the_suppressed_is_shown_coarsely_and_only_once_it_is_known_who_they_are() -> None:
    figures = {"S": 323, "S_share": 0.10766, "published": 2677, "E": 0.6123, "flows": 40, "Gbar": 2.0123}
    assert stage_metadata("metrics", figures, 10) == {"published": 2600, "flows": 40, "Gbar": 2.01}
    shown = stage_metadata("metrics", {**figures, "left_out_people": 10}, 10)
    assert (shown["S"], shown["S_share"], shown["E"]) == (300, 0.1, 0.6)


def test_a_stranger_cannot_declare_the_figures_of_a_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    harmless = Figure("points", "points", "no points at all", kind="size")
    monkeypatch.setattr(stages, "every_figure", lambda: {"points": harmless})
    assert stage_metadata("traces", {"points": 7}, 10) == {}


@pytest.mark.parametrize(("rows", "told"), [(0, 0), (9, 0), (10, 0.01), (12, 0.01), (18, 0.02)])
def test_a_share_of_few_rows_is_told_as_none_and_of_many_with_one_digit(
    product: Product, lake: Lake, rows: int, told: float
) -> None:
    k = product.anonymize.promise.k
    rows = rows * k // 10
    leave(lake, "traces", DAY, quarantined_share=rows / (100 * k), quarantined=rows)
    verdict = check(product, lake, "traces", "quarantine")
    assert verdict.figures == {"share": told}
    leave(lake, "od", DAY, unknown_zone_share=rows / (100 * k), unknown_zone_people=rows)
    assert check(product, lake, "od", "unknown_zones").figures == {"share": told}


def test_the_suppressed_share_of_the_checks_has_one_digit(product: Product, lake: Lake) -> None:
    leave(lake, "metrics", DAY, S_share=0.01234, left_out_people=product.anonymize.promise.k)
    verdict = check(product, lake, "metrics", "suppression")
    assert verdict.figures == {"S": 0.01}
    assert verdict.sentence.startswith("about 1% of the trips")
