"""How days stand: `odanon status` from the ledger, the lake and Dagster's records, on both stores."""

import json
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from bundles import accept, bundle
from dagster import AssetCheckEvaluation, AssetCheckSeverity, DagsterInstance
from dated_files import files_product
from typer.testing import CliRunner

from odanon import cli
from odanon.product import Product
from odanon_assets.lake.lake import Lake, write_figures
from odanon_assets.lake.places import default_root
from odanon_assets.lake.trials import write_judged, write_refused
from odanon_assets.platform.launch import run_days
from odanon_assets.platform.partitions import asset_key
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.interface import Act

pytestmark = pytest.mark.stores_in_turn

PLAN = {"cron": "0 4 * * *", "lag": "2d", "look_back": "3d"}


def shown(*words: str) -> str:
    result = CliRunner().invoke(cli.main, ["status", "small", *words], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.output


def told(*words: str) -> dict[str, dict[str, Any]]:
    return {each.pop("day"): each for each in json.loads(shown("--json", *words))}


def late(product: Product, day: date) -> AssetCheckEvaluation:
    return AssetCheckEvaluation(
        check_name="late_data",
        asset_key=asset_key(product, "traces"),
        passed=False,
        severity=AssetCheckSeverity.WARN,
        partition=day.isoformat(),
    )


def test_every_day_says_how_it_stands_and_why(
    workspace: Path, publish: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", "a secret of the tests, long enough to be one")
    start = date(2026, 3, 2)
    product = files_product(workspace, schedule=PLAN, publish=publish, arrival={"marker": "_SUCCESS"})
    days = [start + timedelta(days=number) for number in range(7)]
    store, today = open_store(product), datetime.now(product.zone).date()
    for day in days[:4]:
        store.publish(bundle(product="small", day=day), accept)
    store.purge("small", days[3], Act("Ada", "asked to"))
    (workspace / "source" / f"date={days[4]}").mkdir(parents=True)
    (workspace / "source" / f"date={days[4]}" / "points.csv").touch()
    (failed,) = run_days(product, [days[4]], resume=False)
    assert [result.error for result in run_days(product, [days[4]], resume=False, trial=True)] == [
        f"trial: would not be published: {failed.error}"
    ]  # which changes nothing about it
    trials = Lake(default_root(), trial=True)
    write_refused(trials, "small", days[5], "small 2026-03-07: the auditor says no")
    for day, release in ((days[0], store.released("small", days[0])), (days[1], "another")):
        with trials.new("small", "published", day) as folder:
            figures = write_judged(folder, {"release_id": release}, "", fresh=True)
            write_figures(folder, {**figures, "release_id": release})
    with DagsterInstance.get() as instance:
        instance.report_runless_asset_event(late(product, days[2]))
    found = told()
    assert {day: each["state"] for day, each in found.items() if date.fromisoformat(day) < days[6]} == {
        str(days[0]): "published",
        str(days[1]): "published",
        str(days[2]): "late",
        str(days[3]): "purged",
        str(days[4]): "failed",
        str(days[5]): "trial",
    }
    assert found[str(days[0])]["release_id"] == store.released("small", days[0])
    assert found[str(days[0])]["trial"] is None  # it was done since
    assert found[str(days[1])]["trial"] == "would be published as another"
    assert found[str(days[4])]["why"] == failed.error.removeprefix(f"small {days[4]}: ")
    assert found[str(days[4])]["trial"] == f"would not be published: {failed.error.removeprefix(f'small {days[4]}: ')}"
    assert "there is no _SUCCESS beside the files" in failed.error
    assert found[str(days[5])]["why"] == "would not be published: the auditor says no"
    yesterday, oldest = found[str(today - timedelta(days=1))], found[str(today - timedelta(days=3))]
    assert yesterday["state"] == oldest["state"] == "waiting"
    assert yesterday["why"] == f"the data of {today - timedelta(days=1)} have not arrived"
    assert oldest["why"].startswith("overdue: ")
    assert list(told("--from", str(days[5]), "--to", str(days[6]))) == [str(days[5]), str(days[6])]
    table = shown()
    assert "2026-03-03  published  in a trial it would be published as another" in table
    assert "2026-03-04  late " in table


def test_a_product_of_which_nothing_is_known_says_how_to_begin(workspace: Path) -> None:
    files_product(workspace, status="trial")
    assert "nothing is known of small yet; `odanon run small` tries its first day" in shown()
    write_refused(Lake(default_root(), trial=True), "small", date(2026, 3, 2), "why not")
    assert "small is on trial and publishes nothing" in shown()
