"""Trials of days: everything up to the gate's answer, and nothing of it published, kept as evidence or held against later runs."""

from pathlib import Path
from typing import Any

import gate_town as gate
import pytest
from gate_town import DAY, people, town
from typer.testing import CliRunner

from odanon import cli
from odanon.errors import OdanonError
from odanon.product import Product
from odanon_assets.chain.day import Event, Made, Stopped, Tried, run_day
from odanon_assets.chain.stages import STAGES
from odanon_assets.checks.catalogue import checks_of
from odanon_assets.checks.gate import auditor
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.lake.trials import Outcome, outcomes
from odanon_assets.stores.choice import open_store

pytestmark = pytest.mark.stores_in_turn

COARSE = {"plugin": "atg-joint", "k": 15, "suppression": 0.1}


def events(product: Product, *, trial: bool) -> list[Event]:
    plugins = {name: getattr(product, name).instance for stage in STAGES for name in stage.plugins}
    checks = {(check.stage, check.name) for check in checks_of(product)}
    return list(run_day(product, DAY, {stage.name for stage in STAGES}, checks, plugins, trial=trial))


def tried(product: Product) -> Outcome:
    ended = events(product, trial=True)[-1]
    assert isinstance(ended, Tried)
    assert outcomes(default_root(), product.product)[DAY] == ended.outcome
    return ended.outcome


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_trial_names_the_release_that_going_live_publishes(town_folder: Path, publish: dict[str, str]) -> None:
    product = town(town_folder, status="trial", publish=publish)
    store, outcome = open_store(product), tried(product)
    assert outcome.sentence == f"would be published as {outcome.release_id}"
    assert store.windows("town") == []
    assert store.ledger().empty
    assert store.audit_log().empty
    assert not (default_root() / "work" / "town" / "released").exists()
    assert outcome.report is not None
    assert outcome.report.is_relative_to(default_root() / "work")  # which other users cannot enter
    assert "<strong>Trial.</strong> Nothing of this is published" in outcome.report.read_text()
    with pytest.raises(OdanonError, match="town is on trial and publishes nothing; to go live write status: live"):
        gate.publish(product)
    live = events(town(town_folder, publish=publish), trial=False)
    assert not [event for event in live if isinstance(event, Stopped | Tried)]
    assert store.released("town", DAY) == outcome.release_id
    beside = tried(town(town_folder, "coarse", anonymize=COARSE, publish=publish))
    assert not beside.would_publish
    assert beside.report is None
    said = auditor(
        town(town_folder, "coarse", anonymize=COARSE, publish=publish), Lake(default_root(), trial=True), DAY
    )
    assert beside.sentence == f"would not be published: check auditor failed: {said.sentence}"
    assert str(outcome.release_id) in said.sentence


def test_no_trial_is_held_against_what_is_made_of_the_same_people_later(town_folder: Path) -> None:
    assert tried(town(town_folder, status="trial", anonymize=COARSE, od={"bin": "3h"})).would_publish
    assert not [event for event in events(town(town_folder), trial=False) if isinstance(event, Stopped)]


def test_a_trial_leaves_a_published_day_and_its_tables_as_they_are(town_folder: Path) -> None:
    product = town(town_folder)
    assert Made in map(type, events(product, trial=False))
    work = default_root() / "work" / "town"
    release, before = open_store(product).released("town", DAY), files(work)
    assert tried(product).sentence == f"is published as {release}, and nothing would change"
    gate.write(town_folder, people(200, seed=2))  # a real run would call it late data
    assert not tried(product).would_publish
    after = files(work)
    assert {name: after[name] for name in before} == before
    assert all(name.startswith("trial/") for name in after.keys() - before.keys())
    assert open_store(product).released("town", DAY) == release


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ({}, ["--date", str(DAY)]),
        ({"publish": {"retention": "60d"}}, ["--expired"]),
        ({"retention": "30d"}, ["--expired"]),
    ],
    ids=["a day", "past publish.retention", "past retention"],
)
def test_purge_takes_trials_away(town_folder: Path, kept: dict[str, Any], words: list[str]) -> None:
    product = town(town_folder, file_in=town_folder / "pipelines", status="trial", **kept)
    partition = Lake(default_root(), trial=True).new("town", "judged", DAY)
    with partition as receipt:
        (receipt / "figures.json").write_text('{"would_publish": false, "sentence": "no"}')
    assert Lake(default_root()).personal_days("town", product.data_sha256) == [DAY]
    purged = CliRunner().invoke(cli.main, ["purge", "town", *words, "--by", "Ada", "--reason", "asked to"])
    assert purged.exit_code == 0, purged.output
    assert list((default_root() / "work" / "town" / "trial").glob("*/*")) == []
    assert '"by_name": "Ada"' in (default_root() / "deletions.jsonl").read_text()
