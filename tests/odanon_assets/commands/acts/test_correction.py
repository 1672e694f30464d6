"""A day that was published wrong: `odanon supersede` says what would change and whether it may, `odanon withdraw` takes it back."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import gate_town as gate
import pandas as pd
import pytest
from dagster import AssetKey, DagsterEventType, DagsterInstance
from dagster._core.storage.partition_status_cache import AssetPartitionStatus
from killing import die, killed
from typer.testing import CliRunner

from odanon import cli
from odanon.errors import OdanonError
from odanon.product import Product
from odanon_assets.commands.acts import correction, withdraw
from odanon_assets.derived.export import Format, export
from odanon_assets.derived.months import make_month, month_folder
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.platform.launch import open_instance
from odanon_assets.platform.partitions import asset_key, daily
from odanon_assets.platform.prometheus import failed_days
from odanon_assets.platform.recovery import record_published
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.interface import Store

pytestmark = pytest.mark.stores_in_turn

DAY, MARCH = date(2026, 3, 31), date(2026, 3, 1)
WHO = ("--by", "Ada", "--reason", "half of the delivery was missing")
HOMES = ("published", "derived")  # of files for readers
ROWS, NEWCOMERS = gate.people(250, day=DAY), gate.people(250, day=DAY, seed=5)
WHOLE = pd.concat([ROWS, NEWCOMERS.assign(person="new " + NEWCOMERS["person"])])


def called(command: str, *options: str) -> str:
    result = CliRunner().invoke(cli.main, [command, "town", "--date", str(DAY), *options], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def refused(command: str, *options: str) -> tuple[str, str]:
    """What a command that fails prints, and its sentence."""
    result = CliRunner().invoke(cli.main, [command, "town", "--date", str(DAY), *options])
    assert isinstance(result.exception, OdanonError), result.output
    return result.output, str(result.exception)


@pytest.fixture(params=["embedded", "postgis"])
def town(
    request: pytest.FixtureRequest, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Product, Store, Path]:
    """A day that was published from half of its data; it is a month of its own."""
    publish = {"store": request.param}
    if request.param == "postgis":
        monkeypatch.setenv("ODANON_DB_URL", request.getfixturevalue("database"))
        publish["url"] = "${ODANON_DB_URL}"
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    gate.write(workspace, ROWS, DAY)
    uniform = {"plugin": "uniform", "k": 10, "level": 6, "suppression": 0.5}
    place = {"file_in": workspace / "pipelines", "start": str(DAY), "publish": publish}
    product = gate.town(workspace, anonymize=uniform, **place)
    gate.published(product, DAY)
    store = open_store(product)
    make_month(product, MARCH, store)
    export(store, "town", workspace / "out", [Format.csv], None, None)
    return product, store, workspace


def shown_metadata(instance: DagsterInstance) -> dict[str, Any]:
    """What the UI says of the last publication."""
    event = instance.get_latest_materialization_event(AssetKey(["town", "published"]))
    assert event is not None
    assert event.asset_materialization is not None
    return {name: value.value for name, value in event.asset_materialization.metadata.items()}


def place(product: Product, instance: DagsterInstance) -> AssetPartitionStatus | None:
    """How the UI shows the day."""
    shown = instance.get_status_by_partition(asset_key(product, "published"), [str(DAY)], daily(product))
    return None if shown is None else shown[str(DAY)]


def seen(product: Product, store: Store) -> tuple[Any, ...]:
    """What readers, the log and the working area hold."""
    tables = {
        path: path.stat().st_mtime_ns
        for path in (default_root() / "work").rglob("*")
        if path.is_file() and "published" not in path.parts
    }
    made = month_folder(product, MARCH).exists()
    return store.standings("town"), store.ledger().to_json(), store.audit_log().to_json(), tables, made


def test_a_correction_is_shown_first_and_takes_the_place_only_where_it_concerns_many(
    town: tuple[Product, Store, Path],
) -> None:
    product, store, workspace = town
    before, first = seen(product, store), store.released("town", DAY)
    assert f"stays as it is: its source and its product file give {first}" in refused("supersede", *WHO)[1]
    gate.write(workspace, ROWS[ROWS["person"] != ROWS["person"].iloc[0]], DAY)
    shown, sentence = refused("supersede", *WHO)
    assert shown.splitlines() == [
        "flows: about 3 now, about 3 if replaced",
        "trips: about 280 now, about 280 if replaced",
    ]
    assert "the auditor says no: changed-input: " in sentence
    gate.write(workspace, WHOLE, DAY)
    shown, sentence = refused("supersede")
    assert "the auditor says yes: every difference concerns at least 10 people" in shown
    assert "to replace it give --by and --reason" in sentence
    assert seen(product, store) == before

    shown = called("supersede", *WHO)
    second = store.released("town", DAY)
    assert second != first
    assert f"shows {second}" in shown
    log = store.audit_log()
    assert log["act"].tolist() == ["publish", "supersede"]
    assert log.iloc[-1][["by_name", "reason"]].tolist() == [WHO[1], WHO[3]]
    assert Lake(default_root()).figures("town", "traces", DAY)["points"] == len(WHOLE)
    assert (month_folder(product, MARCH) / "flows.parquet").exists()  # made again
    assert not (workspace / "out").exists()
    with open_instance() as instance:
        assert shown_metadata(instance)["release_id"] == second


def test_a_withdrawn_day_shows_nothing_and_is_held_against_what_comes_later(
    town: tuple[Product, Store, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    product, store, workspace = town
    page = store.report(str(store.released("town", DAY)))
    called("report", "--out", str(workspace / "report.html"))
    assert (workspace / "report.html").read_text() == page
    monkeypatch.setenv("ODANON_PUBLISHED_URL", "https://maps.example/published/")
    with open_instance() as instance:
        record_published(instance, product, [DAY])
        link = str(shown_metadata(instance)["report"])
    # The proxy shows both folders under one address.
    linked = [default_root() / home / link.removeprefix("https://maps.example/published/") for home in HOMES]
    assert [path.read_text() for path in linked if path.exists()] == [page]
    assert "is withdrawn" in called("withdraw", *WHO)
    with open_instance() as instance:  # the UI shows its place in red, and nobody is called
        assert place(product, instance) == AssetPartitionStatus.FAILED
        assert failed_days(product, instance) == []
        (run,) = instance.get_runs()
        (failure,) = instance.all_logs(run.run_id, of_type=DagsterEventType.STEP_FAILURE)
    assert "was withdrawn and is not published again by itself" in str(failure.get_dagster_event().event_specific_data)
    assert not any(path.exists() for path in linked)
    assert store.query("select status from windows")["status"].tolist() == ["withdrawn"]
    assert store.query("select * from flows").empty
    assert not month_folder(product, MARCH).exists()
    assert not (workspace / "out").exists()
    assert "nothing is withdrawn: town 2026-03-31 is withdrawn already" in refused("withdraw", *WHO)[1]
    assert "was withdrawn; it shows no report" in refused("report")[1]
    assert "was taken away before and is never published again" in refused("supersede", *WHO)[1]
    gate.write(workspace, ROWS[ROWS["person"] != ROWS["person"].iloc[0]], DAY)
    assert "the auditor says no: changed-input" in refused("supersede", *WHO)[1]
    gate.write(workspace, WHOLE, DAY)
    called("supersede", *WHO)
    assert store.standings("town") == {str(DAY): "published"}
    assert store.audit_log()["act"].tolist() == ["publish", "withdraw", "supersede"]
    with open_instance() as instance:
        assert place(product, instance) == AssetPartitionStatus.MATERIALIZED


@pytest.mark.parametrize(
    "town", ["embedded"], indirect=True
)  # what a store does when it is killed is tested with the stores
def test_acts_that_are_killed_are_finished_by_the_same_command(
    town: tuple[Product, Store, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    product, store, workspace = town
    first = store.released("town", DAY)
    gate.write(workspace, WHOLE, DAY)
    with monkeypatch.context() as patch:
        patch.setattr(correction, "publish_fresh", die)
        killed(lambda: called("supersede", *WHO))
    assert store.released("town", DAY) == first
    with monkeypatch.context() as patch:
        patch.setattr(correction, "publish_fresh", then_die(correction.publish_fresh))
        killed(lambda: called("supersede", *WHO))
    assert store.released("town", DAY) != first
    assert not month_folder(product, MARCH).exists()
    assert "what an act that was cut off left undone is done" in called("supersede", *WHO)
    assert month_folder(product, MARCH).exists()
    assert Lake(default_root()).figures("town", "traces", DAY)["points"] == len(WHOLE)
    with monkeypatch.context() as patch:
        patch.setattr(type(store), "withdraw", die)
        killed(lambda: called("withdraw", *WHO))
    assert (store.standings("town"), month_folder(product, MARCH).exists()) == ({str(DAY): "published"}, False)
    with monkeypatch.context() as patch:
        patch.setattr(withdraw, "record_withdrawal", die)
        killed(lambda: called("withdraw", *WHO))
    assert store.standings("town") == {str(DAY): "withdrawn"}
    assert "was withdrawn before, and Dagster shows it now" in called("withdraw", *WHO)
    assert "nothing is withdrawn" in refused("withdraw", *WHO)[1]
    assert store.audit_log()["act"].tolist() == ["publish", "supersede", "withdraw"]
    assert not list((workspace / "data").rglob(".odanon-*"))


def then_die(real: Callable[..., Any]) -> Callable[..., None]:
    def act(*arguments: Any) -> None:
        real(*arguments)
        die()

    return act
