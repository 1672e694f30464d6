"""Lineage events of days, as a collector gets them, and days whose collector is away."""

import json
import os
import sys
from collections.abc import Iterator
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow.parquet as pq
import pytest
from dagster import DagsterInstance
from dated_files import FIRST, day_of, files_product, write_day
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import column_lineage_dataset, schema_dataset
from product_example import small_product

from odanon_assets.chain.day import Event, Made, Stopped
from odanon_assets.chain.stages import STAGES
from odanon_assets.checks.columns import TABLES
from odanon_assets.platform.launch import run_days
from odanon_assets.platform.lineage import Lineage
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.watch.progress import listening

NAMES = [stage.name for stage in STAGES]
TINY = {
    "source": {"plugin": "simulated", "people": 80, "seed": 3, "radius_km": 3},
    "engine": {"plugin": "local", "buckets": 1},
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The environment as it was, since the client writes into it."""
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", "a secret of the tests, long enough to be one")
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def told(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the client's file transport writes."""
    path = workspace / "lineage.jsonl"
    for name, value in (("TYPE", "file"), ("LOG_FILE_PATH", str(path)), ("APPEND", "true")):
        monkeypatch.setenv(f"OPENLINEAGE__TRANSPORT__{name}", value)
    return path


class Collector(ThreadingHTTPServer):
    """A collector that goes away when the first day has ended."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Inbox)
        self.bodies: list[str] = []
        self.paths: set[str] = set()
        Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def stage(self, product: str, stage: str, day: str) -> None:
        return

    def warning(self, product: str, day: str, check: str, sentence: str) -> None:
        return

    def day(self, product: str, day: str, error: str, note: str) -> None:
        if day == str(FIRST):
            self.shutdown()
            self.server_close()


class Inbox(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        self.server.paths.add(self.path)
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(201)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        return


def read(text: str) -> RunEvent:
    """An event through the client's own classes, which check ids, times and fields."""
    found = json.loads(text)
    assert found["producer"] == "urn:odanon"
    for output in found["outputs"]:
        for field in output["facets"].get("schema", {}).get("fields", []):
            schema_dataset.SchemaDatasetFacetFields(**field)
        for column in output["facets"].get("columnLineage", {}).get("fields", {}).values():
            assert [column_lineage_dataset.InputField(**field) for field in column["inputFields"]]
    return RunEvent(
        eventType=RunState(found["eventType"]),
        eventTime=found["eventTime"],
        run=Run(**found["run"]),
        job=Job(**found["job"]),
        inputs=[InputDataset(**dataset) for dataset in found["inputs"]],
        outputs=[OutputDataset(**dataset) for dataset in found["outputs"]],
    )


def ends(events: list[RunEvent]) -> list[RunEvent]:
    """The last event of every run, each of which follows its start."""
    starts, lasts = events[::2], events[1::2]
    assert {event.eventType for event in starts} == {RunState.START}
    assert [event.run.runId for event in starts] == [event.run.runId for event in lasts]
    assert len({event.run.runId for event in lasts}) == len(lasts)
    times = [datetime.fromisoformat(event.eventTime) for event in events]
    assert times == sorted(times)
    return lasts


def warnings() -> list[str]:
    """What the runs of the instance said about lineage."""
    with DagsterInstance.get() as instance:
        entries = [entry for run in instance.get_runs() for entry in instance.all_logs(run.run_id)]
    return [entry.user_message for entry in entries if "OpenLineage" in entry.user_message]


def follow(lineage: Lineage, *events: Event) -> None:
    assert list(lineage.follow(FIRST, "run/day/0", iter(events))) == list(events)


def test_the_stages_of_a_day_form_a_chain_and_a_bad_day_says_why(workspace: Path, told: Path) -> None:
    write_day(workspace / "source", FIRST, people=80)
    write_day(workspace / "source", day_of(1), people=80, dirt=0.5)
    product = files_product(workspace)
    good, bad = run_days(product, [FIRST, day_of(1)], resume=False)
    assert good.error == ""
    text = told.read_text()
    assert str(workspace) not in text  # no path, of the source or of the release
    *day, failed = ends([read(line) for line in text.splitlines()])
    assert [event.job.name for event in day] == [f"small.{name}" for name in NAMES]
    assert {event.eventType for event in day} == {RunState.COMPLETE}
    for stage, event in zip(STAGES, day, strict=True):
        upstream = [f"small.{name}" for name in stage.upstream] or ["small.source.points"]
        assert [dataset.name for dataset in event.inputs] == upstream
        assert [dataset.name for dataset in event.outputs] == [f"small.{stage.name}"]
        assert event.run.facets["nominalTime"]["nominalStartTime"] == "2026-03-02T00:00:00+00:00"
        if stage.name in TABLES:
            fields = event.outputs[0].facets["schema"]["fields"]
            assert [field["name"] for field in fields] == [column.name for column in TABLES[stage.name].columns]
    zone = day[-1].outputs[0].facets["columnLineage"]["fields"]["origin_zone"]["inputFields"]
    assert [(field["name"], field["field"]) for field in zone] == [("small.anonymized", "origin")]
    flows = EmbeddedStore(workspace / "data").window_folder("small", FIRST) / "flows.parquet"
    assert day[-1].outputs[0].outputFacets["outputStatistics"]["rowCount"] == pq.read_metadata(flows).num_rows

    assert (failed.job.name, failed.eventType) == ("small.traces", RunState.FAIL)
    assert failed.run.facets["errorMessage"]["message"] == bad.error
    assert failed.run.facets["nominalTime"]["nominalStartTime"] == "2026-03-03T00:00:00+00:00"
    assert warnings() == []


def test_days_are_published_when_the_collector_goes_away(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    product = small_product(workspace / "pipelines", **TINY)
    with listening(Collector()) as collector:
        monkeypatch.setenv("OPENLINEAGE_URL", f"http://someone:hidden@127.0.0.1:{collector.server_port}")
        monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "town-hall")
        results = list(run_days(product, [FIRST, day_of(1)], resume=False))
    assert [result.error for result in results] == ["", ""]
    assert EmbeddedStore(workspace / "data").windows("small") == [str(FIRST), str(day_of(1))]
    assert collector.paths == {"/api/v1/lineage"}
    events = ends([read(body) for body in collector.bodies])
    assert [(event.job.namespace, event.job.name) for event in events] == [("town-hall", f"small.{n}") for n in NAMES]
    assert warnings() == ["OpenLineage: the collector did not answer within 3 s; the run goes on without it"]


def test_rows_of_people_are_not_counted_and_ids_are_the_same_again(workspace: Path, told: Path) -> None:
    lineage = Lineage(small_product(workspace), pytest.fail)
    for trips in (4, 5000):
        follow(lineage, Made("trips", {"trips": trips, "people_with_trips": 2}))
    few, many = (event for event in map(read, told.read_text().splitlines()) if event.eventType == RunState.COMPLETE)
    assert few.outputs[0].outputFacets == many.outputs[0].outputFacets == {}
    assert few.run.runId == many.run.runId


def test_a_stage_that_made_nothing_has_no_output(workspace: Path, told: Path) -> None:
    lineage = Lineage(small_product(workspace), pytest.fail)
    follow(lineage, Made("trips", {"trips": 50}), Stopped("od", "KeyError in stage od", trace="secret"))
    trips, od = ends([read(line) for line in told.read_text().splitlines()])
    assert (trips.eventType, od.eventType) == (RunState.COMPLETE, RunState.FAIL)
    assert od.outputs == []
    assert "secret" not in told.read_text()


def test_a_client_that_fails_is_named_once_and_not_quoted(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "no-scheme-someone:hidden@nowhere")
    said: list[str] = []
    lineage = Lineage(small_product(workspace), said.append)
    for _ in range(2):
        follow(lineage, Made("trips", {"trips": 50}))
    assert said == ["OpenLineage: the collector could not be told (ValueError); the run goes on without it"]


def test_the_client_is_asked_for_only_when_it_is_configured(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openlineage.client", None)  # as if it was not installed
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("HOME", str(workspace))
    product, said = small_product(workspace), list[str]()
    follow(Lineage(product, pytest.fail), Made("trips", {"trips": 50}))
    (workspace / "openlineage.yml").write_text("transport: {type: console}")
    follow(Lineage(product, said.append), Made("trips", {"trips": 50}))
    assert said == [
        "OpenLineage: the client is missing or broken; pip install 'odanon[openlineage]'; the run goes on without it"
    ]
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "true")
    follow(Lineage(product, pytest.fail), Made("trips", {"trips": 50}))


def test_a_working_folder_that_is_gone_holds_no_settings(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace / "gone").mkdir()
    monkeypatch.chdir(workspace / "gone")
    (workspace / "gone").rmdir()
    follow(Lineage(small_product(workspace), pytest.fail), Made("trips", {"trips": 50}))
