"""Days that were not delivered whole: why they wait, that a run of them stops, and that somebody may accept them."""

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import gate_town as gate
import pytest
from dagster import DagsterInstance, build_schedule_context
from dated_files import day_of, files_product
from gate_town import DAY, people, town
from typer.testing import CliRunner, Result

from odanon import cli
from odanon.errors import OdanonError
from odanon.product import Product
from odanon_assets.chain.arrival import waits_for
from odanon_assets.checks.delivery import incomplete, note_short, source_state
from odanon_assets.lake.lake import Lake, write_figures
from odanon_assets.lake.places import default_root
from odanon_assets.lake.trials import write_refused
from odanon_assets.platform.build import build_definitions
from odanon_assets.stores.choice import open_store

KEY = "ODANON_PSEUDONYM_KEY"
PLAN = {"cron": "0 4 * * *", "lag": "1d", "look_back": "3d"}


@pytest.fixture
def delivered(workspace: Path) -> Path:
    """The folder of a day with one file of ten bytes, written long ago."""
    folder = workspace / "source" / f"date={day_of(0)}"
    folder.mkdir(parents=True)
    (folder / "points.csv").write_bytes(b"0123456789")
    os.utime(folder / "points.csv", (0, 0))
    return folder


def why(workspace: Path, **terms: Any) -> str:
    return incomplete(files_product(workspace, arrival=terms), Lake(default_root()), day_of(0))


def test_a_product_without_terms_takes_what_is_there(workspace: Path, delivered: Path) -> None:
    assert incomplete(files_product(workspace), Lake(default_root()), day_of(0)) == ""
    assert waits_for(files_product(workspace), Lake(default_root()), day_of(0)) == ""
    assert waits_for(files_product(workspace), Lake(default_root()), day_of(1)) == (
        "the data of 2026-03-03 have not arrived"
    )


def test_a_day_waits_for_its_marker(workspace: Path, delivered: Path) -> None:
    assert why(workspace, marker="_SUCCESS") == "there is no _SUCCESS beside the files of 2026-03-02"
    (delivered / "_SUCCESS").touch()
    assert why(workspace, marker="_SUCCESS") == ""


def test_a_marker_that_all_days_share_must_be_named_for_its_day(workspace: Path) -> None:
    path = workspace / "points-2026-03-02.csv"
    path.write_bytes(b"0123456789")
    (workspace / "_SUCCESS").touch()
    source = {"plugin": "points", "path": str(workspace / "points-{date}.csv")}

    def said(marker: str) -> str:
        product = files_product(workspace, source=source, arrival={"marker": marker})
        return incomplete(product, Lake(default_root()), day_of(0))

    assert said("_SUCCESS").endswith("write {date} into arrival.marker")
    assert said("{date:%Y%m%d}.done") == "there is no 20260302.done beside the files of 2026-03-02"
    (workspace / "20260302.done").touch()
    assert said("{date:%Y%m%d}.done") == ""


def test_a_day_waits_for_what_its_manifest_lists(workspace: Path, delivered: Path) -> None:
    files = [{"name": "points.csv", "size": 10}, {"name": "more.csv", "size": 3}]
    (delivered / "_manifest.json").write_text(json.dumps({"files": files}))
    assert why(workspace, manifest="_manifest.json") == "the manifest of 2026-03-02 has 1 of its files missing"
    (delivered / "more.csv").write_bytes(b"012")
    assert why(workspace, manifest="_manifest.json") == ""
    (delivered / "manifest.json").touch()  # like every JSON file, it would be read
    assert why(workspace, manifest="manifest.json") == (
        "manifest.json would be read as data; let its name begin with _, also under arrival.manifest"
    )


def test_a_day_waits_until_its_files_are_left_alone(workspace: Path, delivered: Path) -> None:
    assert why(workspace, unchanged_for="10min") == ""
    os.utime(delivered / "points.csv", (time.time(), time.time()))
    assert why(workspace, unchanged_for="10min") == "files of 2026-03-02 have changed in the last 10min"


def test_a_day_waits_for_its_size(workspace: Path, delivered: Path) -> None:
    assert why(workspace, min_bytes=10) == ""
    assert why(workspace, min_bytes=11) == "the files of 2026-03-02 are smaller than arrival.min_bytes = 11"
    assert why(workspace, min_share=0.7) == ""  # nothing to compare with
    for week, trial in ((1, False), (2, True)):  # a day that was only tried counts as well
        with Lake(default_root(), trial).new("small", "traces", day_of(-7 * week)) as past:
            write_figures(past, {"source_bytes": 20})
    assert why(workspace, min_share=0.5) == ""
    assert why(workspace, min_share=0.7) == (
        "2026-03-02 has less than arrival.min_share = 70% of the usual bytes, the median of the days before"
    )


def test_the_day_after_must_be_whole_where_stays_run_past_midnight(workspace: Path, delivered: Path) -> None:
    product = files_product(workspace, context="6h", arrival={"marker": "_SUCCESS"})
    (delivered / "_SUCCESS").touch()
    assert incomplete(product, Lake(default_root()), day_of(0)) == ""  # the last day of a source can be run by hand
    assert waits_for(product, Lake(default_root()), day_of(0)) == "the data of 2026-03-03 have not arrived"
    after = workspace / "source" / f"date={day_of(1)}"
    after.mkdir()
    (after / "points.csv").touch()
    assert incomplete(product, Lake(default_root()), day_of(0)).endswith("beside the files of 2026-03-03")


def test_terms_of_files_need_a_source_of_files(workspace: Path) -> None:
    with pytest.raises(OdanonError, match=r"arrival.marker looks at files and the source simulated lists none"):
        files_product(workspace, source={"plugin": "simulated"}, arrival={"marker": "_SUCCESS"})
    with pytest.raises(OdanonError, match=r"arrival.marker"):
        files_product(workspace, arrival={"marker": "../_SUCCESS"})
    files_product(workspace, source={"plugin": "simulated"}, arrival={"min_rows": 5, "min_share": 0.5})


def called(*words: str) -> Result:
    return CliRunner().invoke(cli.main, list(words))


def test_a_run_of_an_incomplete_day_stops_and_may_be_accepted(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, gate.SECRET[KEY])
    gate.write(workspace, people(200))
    product = town(workspace, file_in=workspace / "pipelines", arrival={"marker": "{date}.done", "min_rows": 10_000})
    stopped = called("run", "town")
    assert stopped.exit_code == 1
    assert "the day is not complete: there is no 2026-03-02.done beside the files of 2026-03-02" in stopped.output
    assert "--accept-incomplete" in stopped.output
    assert not Lake(default_root()).folder("town", "traces", DAY).exists()
    (workspace / "2026-03-02.done").touch()
    few = called("run", "town")
    assert few.exit_code == 1
    assert "check complete failed: 2026-03-02 has fewer rows than arrival.min_rows = 10,000" in few.output
    told = json.loads(called("status", "town", "--json").output)
    assert [(each["day"], each["state"]) for each in told] == [(str(DAY), "failed")]
    assert told[0]["why"].startswith("check complete failed: 2026-03-02 has fewer rows")
    accepted = called("run", "town", "--accept-incomplete")
    assert accepted.exit_code == 0, accepted.output
    assert f"{DAY} traces complete: 2026-03-02 has fewer rows" in accepted.output
    assert open_store(product).windows("town") == [str(DAY)]
    assert "2026-03-02  published" in called("status", "town").output


def scheduled(product: Product) -> Callable[[int], Any]:
    """What the schedule says, by the number of its tick."""
    instance, definitions = DagsterInstance.get(), build_definitions([product])

    def tick(number: int) -> Any:
        with build_schedule_context(
            instance=instance,
            repository_def=definitions.get_repository_def(),
            scheduled_execution_time=datetime(2026, 3, 3 + number, 4, tzinfo=UTC),
        ) as context:  # what is left open may be what Dagster takes for its instance in a later test
            return definitions.resolve_schedule_def("small_daily").evaluate_tick(context)

    return tick


def test_the_schedule_asks_again_for_a_day_that_was_short_when_its_source_has_changed(
    workspace: Path, delivered: Path
) -> None:
    product = files_product(workspace, status="trial", schedule=PLAN, arrival={"min_rows": 10})
    lake, tick = Lake(default_root(), trial=True), scheduled(product)
    with lake.new("small", "traces", day_of(0)) as folder:
        write_figures(folder, {"points": 9, "source_state": source_state(product, day_of(0))})
    write_refused(lake, "small", day_of(0), "it was tried")
    assert tick(1).skip_message == "2026-03-03 waits: the data of 2026-03-03 have not arrived"
    note_short(product, lake, day_of(0), "too few")
    assert tick(1).skip_message.startswith("2026-03-02: too few; 2026-03-03: 2026-03-03 waits")
    (delivered / "points.csv").write_bytes(b"0123456789 and more")
    assert [request.partition_key for request in tick(1).run_requests] == [str(day_of(0))]
    note_short(product, lake, day_of(0), "")
    assert not tick(1).run_requests


def test_the_schedule_waits_for_a_day_and_asks_again_at_a_later_tick(workspace: Path) -> None:
    tick = scheduled(files_product(workspace, schedule=PLAN, arrival={"marker": "_SUCCESS"}))

    def arrive(number: int, name: str) -> None:
        folder = workspace / "source" / f"date={day_of(number)}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()

    assert tick(0).skip_message == "2026-03-02 waits: the data of 2026-03-02 have not arrived"
    arrive(0, "points.csv")
    assert tick(0).skip_message == "2026-03-02 waits: there is no _SUCCESS beside the files of 2026-03-02"
    arrive(1, "points.csv")
    arrive(0, "_SUCCESS")
    asked = [request.partition_key for request in tick(1).run_requests]
    assert asked == [str(day_of(0))]  # of the day before; the one that is due waits
    arrive(1, "_SUCCESS")
    assert [request.partition_key for request in tick(1).run_requests] == [str(day_of(0)), str(day_of(1))]
    assert [request.partition_key for request in tick(4).run_requests] == [str(day_of(1))]  # look_back: 3d
    assert not tick(5).run_requests
