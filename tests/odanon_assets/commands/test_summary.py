"""`odanon summary` and the end of `odanon run`: always the figures of what is published, and advice that helps."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from bundles import DAY, accept, bundle
from product_example import small_product
from repository import REPOSITORY
from typer.testing import CliRunner, Result

from odanon import cli
from odanon.product import Product
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.interface import Act

RUN = CliRunner()
TINY: dict[str, Any] = {
    "source": {"plugin": "simulated", "people": 80, "seed": 3, "radius_km": 3},
    "engine": {"plugin": "local", "buckets": 1},
}


def called(*words: str) -> Result:
    return RUN.invoke(cli.main, list(words))


def made_with(workspace: Path, **anonymize: Any) -> Product:
    return small_product(workspace / "pipelines", **TINY, anonymize={"plugin": "atg-joint", **anonymize})


def figures(shown: str) -> str:
    """The lines from the title to what to do next."""
    return shown[shown.index("A small town") : shown.index("Next:")]


def test_a_refused_rerun_leaves_the_published_figures_and_advises_to_supersede(workspace: Path) -> None:
    made_with(workspace, k=5)
    first = called("run", "small")
    assert first.exit_code == 0, first.output
    made_with(workspace, k=60)  # one flow for all, which the auditor has nothing against
    again = called("run", "small")
    assert again.exit_code == 1
    assert figures(again.output) == figures(first.output)
    assert "at least 5 distinct persons" in again.output
    assert "--resume" not in again.output
    assert "2026-03-02: published before and left as it was" in again.output
    assert "odanon supersede small --date 2026-03-02" in again.output


def test_a_failed_day_is_resumed_and_a_purged_one_is_not(workspace: Path) -> None:
    made_with(workspace, k=10_000)
    failed = called("run", "small")
    assert failed.exit_code == 1
    assert "2026-03-02: once repaired, the same command with --resume tries again" in failed.output
    assert "supersede" not in failed.output
    made_with(workspace, k=5)
    assert called("run", "small", "--resume").exit_code == 0
    assert called("purge", "small", "--date", "2026-03-02", "--by", "Ada", "--reason", "asked to").exit_code == 0
    closed = called("run", "small")
    assert closed.exit_code == 1
    assert "2026-03-02: purged, and never published again" in closed.output
    assert "--resume" not in closed.output


def test_a_withdrawn_day_waits_for_a_person(workspace: Path) -> None:
    made_with(workspace, k=5)
    who = ("--by", "Ada", "--reason", "half of it was missing")
    assert "2026-03-02 was never published" in str(called("withdraw", "small", "--date", "2026-03-02", *who).exception)
    assert "is not published, so nothing can be replaced" in str(
        called("supersede", "small", "--date", "2026-03-02").exception
    )
    assert called("run", "small").exit_code == 0
    assert called("withdraw", "small", "--date", "2026-03-02", *who).exit_code == 0
    resumed = called("run", "small", "--resume")
    assert resumed.exit_code == 0
    assert "2026-03-02  withdrawn before, skipped" in resumed.output
    again = called("run", "small")
    assert again.exit_code == 1
    assert "was withdrawn and is not published again by itself" in again.output
    assert "2026-03-02: withdrawn before; what would take its place" in again.output


def summary_of(workspace: Path, **manifest: Any) -> str:
    store = open_store(small_product(workspace / "pipelines", product="town"))
    store.publish(bundle(**manifest), accept)
    shown = called("summary", "town")
    assert shown.exit_code == 0, shown.output
    return shown.output


def test_what_was_taken_away_is_told(workspace: Path) -> None:
    store = open_store(small_product(workspace / "pipelines", product="town"))
    assert called("summary", "town").output == "nothing is published yet for town\n"
    later, act = date(2026, 3, 3), Act("Ada", "half of it was missing")
    store.publish(bundle(), accept)
    store.publish(bundle(day=later), accept)
    store.withdraw("town", DAY, act)
    assert "1 day published, 1 withdrawn; the latest is 2026-03-03" in called("summary", "town").output
    store.purge("town", later, act)
    shown = called("summary", "town").output
    assert shown == "nothing is published any more for town; 1 withdrawn; 1 purged, see `odanon status`\n"


def test_a_headline_figure_of_another_package_is_shown_as_it_declares_itself(workspace: Path) -> None:
    declared = {
        "detour": {"label": "[m] of detour", "meaning": "on average", "headline": True, "unit": "m"},
        "noise": {"label": "of noise", "meaning": "for experts", "headline": False},
        "gbar": {"label": "tiles a trip", "meaning": "as it was said then", "headline": True},
    }
    metrics = {"flows": 3.0, "detour": 1234.5, "noise": 0.5, "gbar": 3.25, "trips_published": 120.0}
    shown = summary_of(workspace, metrics=metrics, figures=declared, input_counts={"points": 5000, "people": 0})
    assert "figures    1,234 [m] of detour (on average)" in shown
    assert "precision  3.25 tiles a trip (as it was said then)" in shown
    assert "in         about 5,000 points\n" in shown  # rounded down, so trips that are published may be more
    assert "published  3 flows, 120 trips" in shown
    assert "for experts" not in shown


def test_a_release_from_before_figures_were_declared_is_shown_too(workspace: Path) -> None:
    metrics = {"flows": 3.0, "origin_areas": 2.0, "destination_areas": 3.0, "suppressed_share": 0.05, "gbar": 3.25}
    shown = summary_of(workspace, metrics={**metrics, "persons_min_band": "10-19"}, promise="every flow holds ten")
    assert "published  3 flows between 2 origin and 3 destination areas (busiest time bin)" in shown
    assert "left out   5 % of trips left out" in shown
    assert "precision  3.25 tiles per trip" in shown
    assert "people     the smallest flow holds 10-19 people; every flow holds ten" in shown


def test_a_release_that_protects_trips_does_not_speak_of_people(workspace: Path) -> None:
    shown = summary_of(workspace, metrics={"flows": 3.0}, promise="every flow holds ten", parameters={"unit": "trips"})
    assert "promise    every flow holds ten" in shown
    assert "people" not in shown


def test_what_comes_next_can_be_done_where_one_stands(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever installed with pip has neither a Makefile nor the product file of the demo."""
    monkeypatch.chdir(workspace)
    shown = summary_of(workspace, metrics={"flows": 3.0})
    assert "dagster dev -m odanon_assets.definitions" in shown
    assert "make up" not in shown
    assert "demo.yaml" not in shown
    (workspace / "Makefile").write_text("up:\n")
    (workspace / "pipelines" / "demo.yaml").write_bytes((REPOSITORY / "pipelines" / "demo.yaml").read_bytes())
    shown = called("summary", "town").output
    assert "make up, then look at the Dagster UI" in shown
    assert "copy pipelines/demo.yaml" in shown
