"""Days that arrive, runs that fail, runs that lose their process."""

import json
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import gate_town as gate
import pytest
from dagster import (
    DagsterEvent,
    DagsterEventType,
    DagsterInstance,
    DagsterRunStatus,
    RunRequest,
    SensorDefinition,
    build_run_status_sensor_context,
    build_sensor_context,
    job,
    op,
)
from dagster._core.storage.tags import SENSOR_NAME_TAG, WILL_RETRY_TAG
from dated_files import files_product, write_day

from odanon.product import Product
from odanon_assets.chain.stages import STAGES
from odanon_assets.platform import recovery
from odanon_assets.platform.assets import stage_keys
from odanon_assets.platform.build import build_definitions
from odanon_assets.platform.launch import run_days
from odanon_assets.platform.partitions import asset_key
from odanon_assets.platform.prometheus import failed_days
from odanon_assets.platform.recovery import WORKER_TAG, report_lost_runs, worker
from odanon_assets.platform.sensors import alert_sensor
from odanon_assets.status.days import day_statuses
from odanon_assets.stores.choice import open_store

DAY = timedelta(days=1)
PLAN = {"cron": "0 4 * * *", "lag": "1d", "on_arrival": True, "look_back": "4d"}


def tick(product: Product, name: str, cursor: str | None) -> tuple[list[RunRequest], str | None]:
    definitions = build_definitions([product])
    sensor: SensorDefinition = definitions.resolve_sensor_def(name)
    context = build_sensor_context(
        instance=DagsterInstance.ephemeral(), cursor=cursor, repository_def=definitions.get_repository_def()
    )
    said = sensor.evaluate_tick(context)
    return list(said.run_requests or []), said.cursor


def test_a_day_is_asked_for_once_when_it_and_the_next_have_arrived(workspace: Path) -> None:
    product = files_product(workspace, schedule=PLAN, context="6h")
    today = datetime.now(product.zone).date()
    two_ago, yesterday = today - timedelta(days=2), today - timedelta(days=1)

    def arrive(day: object) -> None:
        folder = workspace / "source" / f"date={day}"
        folder.mkdir(parents=True)
        (folder / "points.parquet").write_bytes(b"not read by a sensor")

    asked, cursor = tick(product, "small_arrival", None)
    assert asked == []
    arrive(two_ago)
    asked, cursor = tick(product, "small_arrival", cursor)
    assert asked == []  # the stays past midnight are missing
    arrive(yesterday)
    asked, cursor = tick(product, "small_arrival", cursor)
    assert [request.partition_key for request in asked] == [str(two_ago)]
    assert asked[0].tags["dagster/priority"] == "10"
    asked, cursor = tick(product, "small_arrival", cursor)
    assert asked == []
    arrive(today)
    asked, _ = tick(product, "small_arrival", cursor)
    assert [request.partition_key for request in asked] == [str(yesterday)]


def test_a_day_that_came_in_part_waits_and_is_asked_for_when_the_rest_is_there(workspace: Path) -> None:
    product = files_product(workspace, schedule=PLAN, arrival={"marker": "_SUCCESS"})
    yesterday = datetime.now(product.zone).date() - DAY
    write_day(workspace / "source", yesterday, people=1)
    asked, cursor = tick(product, "small_arrival", None)
    assert asked == []
    (workspace / "source" / f"date={yesterday}" / "_SUCCESS").touch()
    (day,), _ = tick(product, "small_arrival", cursor)
    assert day.partition_key == str(yesterday)


def test_a_day_of_which_too_little_was_read_waits_and_is_asked_for_again_when_its_source_changes(
    town_folder: Path,
) -> None:
    yesterday = datetime.now(UTC).date() - DAY
    product = gate.town(town_folder, start=str(yesterday), schedule=PLAN, arrival={"min_rows": 120})
    gate.write(town_folder, gate.people(100, day=yesterday), yesterday)
    (first,), cursor = tick(product, "town_arrival", None)
    job = build_definitions([product]).resolve_job_def("town")
    asked = {"partition_key": str(yesterday), "raise_on_error": False}
    with DagsterInstance.get() as instance:
        done = job.execute_in_process(**asked, instance=instance, tags={SENSOR_NAME_TAG: "town_arrival"})
        assert done.success  # it waits: nobody is alarmed
        (said,) = (each for each in done.get_asset_check_evaluations() if each.check_name == "complete")
        assert (said.passed, failed_days(product, instance)) == (False, [])
        (waiting,) = day_statuses(product, instance, yesterday, yesterday)
        # The stages after the one that found it short, asked for alone.
        rest = [asset_key(product, stage.name) for stage in STAGES[1:]]
        alone = job.execute_in_process(**asked, instance=instance, asset_selection=rest)
        unchecked = job.get_subset(asset_selection=set(stage_keys(product)), asset_check_selection=set())
        ends = [made.execute_in_process(**asked, instance=instance).success for made in (job, unchecked)]
    assert [alone.success, *ends] == [False, False, False]
    few = f"{yesterday} has fewer rows than arrival.min_rows = 120"
    assert (waiting.state, waiting.why) == ("waiting", few)
    assert open_store(product).windows("town") == []
    asked_for, cursor = tick(product, "town_arrival", cursor)
    assert asked_for == []
    lower = gate.town(town_folder, start=str(yesterday), schedule=PLAN, arrival={"min_rows": 50})
    assert len(tick(lower, "town_arrival", cursor)[0]) == 1
    gate.write(town_folder, gate.people(200, day=yesterday), yesterday)
    (again,), cursor = tick(product, "town_arrival", cursor)
    assert again.partition_key == str(yesterday)
    assert again.run_key != first.run_key  # which Dagster would run once
    assert tick(product, "town_arrival", cursor) == ([], cursor)


def test_a_day_that_was_tried_is_asked_for_again_when_its_product_goes_live(workspace: Path) -> None:
    product = files_product(workspace, schedule=PLAN, status="trial")
    yesterday = datetime.now(product.zone).date() - DAY
    write_day(workspace / "source", yesterday, people=1)
    (asked,), cursor = tick(product, "small_arrival", None)
    assert tick(product, "small_arrival", cursor) == ([], cursor)
    (live,), _ = tick(files_product(workspace, schedule=PLAN), "small_arrival", cursor)
    assert asked.partition_key == live.partition_key == str(yesterday)
    assert asked.run_key != live.run_key  # which Dagster would run once
    names = {sensor.name for sensor in build_definitions([product]).get_repository_def().sensor_defs}
    assert "small_late" not in names


def test_a_published_day_whose_source_changes_is_run_again_once(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", "a secret of the tests, long enough to be one")
    product = files_product(workspace, schedule=PLAN)
    yesterday = datetime.now(product.zone).date() - timedelta(days=1)
    write_day(workspace / "source", yesterday)
    assert next(run_days(product, [yesterday], resume=False)).error == ""
    assert tick(product, "small_late", None) == ([], None)
    write_day(workspace / "source", yesterday, people=170, name="late")
    (asked,), _ = tick(product, "small_late", None)
    assert asked.partition_key == str(yesterday)
    (again,), _ = tick(product, "small_late", None)
    assert again.run_key == asked.run_key  # which Dagster runs once
    # Moved behind the day, the start makes no partition of it any more, and the sensor goes on.
    assert tick(files_product(workspace, schedule=PLAN, start=str(yesterday + DAY)), "small_late", None) == ([], None)
    (workspace / "source" / f"date={yesterday}" / "late-0.parquet").unlink()
    assert tick(product, "small_late", None) == ([], None)


def test_a_product_that_does_not_ask_for_it_has_no_arrival_sensor(workspace: Path) -> None:
    product = files_product(workspace, schedule={**PLAN, "on_arrival": False})
    names = {sensor.name for sensor in build_definitions([product]).get_repository_def().sensor_defs}
    assert names == {"alerts", "lost_runs", "months"}


def test_a_failed_run_reaches_the_notifier_in_the_days_own_words(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies: list[dict] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("ODANON_WEBHOOK_URL", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("ODANON_SMTP_URL", "")  # a broken notifier does not silence the next
    monkeypatch.setenv("ODANON_UI_URL", "ui.example")
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", "a secret of the tests, long enough to be one")
    product = files_product(workspace, alerts=[{"plugin": "email", "to": ["a@example.org"]}, "webhook"])
    (result,) = run_days(product, [product.start], resume=False)
    assert result.error
    with DagsterInstance.get() as instance:
        (run,) = instance.get_runs()
        assert run.status == DagsterRunStatus.FAILURE
        failure = next(
            event
            for entry in instance.all_logs(run.run_id)
            if (event := entry.dagster_event) is not None and event.event_type == DagsterEventType.RUN_FAILURE
        )
        # A run that is tried again by itself is nobody's trouble yet.
        for told in (run.with_tags({**run.tags, WILL_RETRY_TAG: "true"}), run):
            context = build_run_status_sensor_context(
                "alerts", dagster_event=failure, dagster_instance=instance, dagster_run=told
            ).for_run_failure()
            alert_sensor([product])(context)
    server.shutdown()
    (body,) = bodies
    assert body["product"] == "small"
    assert body["days"] == [{"day": str(product.start), "error": result.error}]
    assert body["link"] == f"ui.example/runs/{run.run_id}"


def test_a_run_without_its_process_is_marked_failed_and_others_are_left(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    host = os.uname().nodename
    with DagsterInstance.ephemeral() as instance:

        @op
        def nothing() -> None:
            return

        @job
        def some() -> None:
            nothing()

        def started(worker: str) -> str:
            run = instance.create_run_for_job(some, tags={WORKER_TAG: worker} if worker else {"product": "town"})
            return run.run_id

        lost, alive, elsewhere, unknown = (
            started(worker) for worker in (f"{host}:{gone.pid}:1", worker(), "another-host:1:1", "")
        )
        for run_id in (lost, alive, elsewhere, unknown):
            instance.handle_run_event(run_id, _start_event())
        reused = started(f"{host}:{os.getpid()}:1")  # the id of a process that began later
        instance.handle_run_event(reused, _start_event())
        assert set(report_lost_runs(instance)) == {lost, reused}
        assert instance.get_run_by_id(lost).status == DagsterRunStatus.FAILURE
        assert instance.get_run_by_id(alive).status == DagsterRunStatus.STARTED
        monkeypatch.setattr(recovery, "_SILENT_S", -1)  # long after its start
        assert report_lost_runs(instance) == [unknown]


def _start_event() -> DagsterEvent:
    return DagsterEvent(event_type_value=DagsterEventType.PIPELINE_START.value, job_name="some")
