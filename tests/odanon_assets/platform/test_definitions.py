"""The code location: it loads, validates and has not changed unnoticed."""

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from dagster import Definitions, build_schedule_context
from product_example import small_product
from repository import REPOSITORY

from odanon.product.windows import has_matrix
from odanon_assets.platform.build import build_definitions
from odanon_assets.platform.partitions import asset_key, daily, monthly
from odanon_assets.platform.resources import resource_class

SNAPSHOT = Path(__file__).with_name("definitions_snapshot.json")


@pytest.fixture
def definitions(workspace: Path) -> Definitions:
    return build_definitions([small_product(workspace, schedule={"cron": "30 5 * * *", "lag": "2d"})])


def describe(definitions: Definitions) -> dict:
    """What users of the UI see: assets, what they depend on, checks, jobs, schedules, resources."""
    graph = definitions.resolve_asset_graph()
    assets = {
        key.to_user_string(): {
            "deps": sorted(parent.to_user_string() for parent in graph.get(key).parent_keys),
            "group": graph.get(key).group_name,
            "owners": sorted(graph.get(key).owners),
            "kinds": sorted(graph.get(key).kinds),
            "partitions": str(graph.get(key).partitions_def),
            "tags": {k: v for k, v in sorted(graph.get(key).tags.items()) if not k.startswith("dagster/")},
        }
        for key in sorted(graph.get_all_asset_keys())
    }
    repository = definitions.get_repository_def()
    return {
        "assets": assets,
        "checks": sorted(f"{key.asset_key.to_user_string()}:{key.name}" for key in graph.asset_check_keys),
        "jobs": sorted(name for name in repository.job_names if not name.startswith("__")),
        "schedules": {s.name: [s.cron_schedule, s.execution_timezone] for s in repository.schedule_defs},
        "resources": sorted(repository.get_top_level_resources()),
    }


def test_definitions_are_as_recorded(definitions: Definitions) -> None:
    """After a wanted change: delete the snapshot, run this test once, look at the difference, commit it."""
    found = describe(definitions)
    if not SNAPSHOT.exists():
        SNAPSHOT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    assert found == json.loads(SNAPSHOT.read_text())


def test_every_asset_teaches(definitions: Definitions) -> None:
    graph = definitions.resolve_asset_graph()
    for key in graph.get_all_asset_keys():
        assert len(graph.get(key).description or "") > 60, key


def test_dagster_validates_the_code_location_of_the_repository() -> None:
    command = [Path(sys.executable).with_name("dagster"), "definitions", "validate", "-m", "odanon_assets.definitions"]
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, check=False, env=_clean_environment()
    )
    assert done.returncode == 0, done.stderr[-2000:]


def _clean_environment() -> dict[str, str]:
    import os

    return {key: value for key, value in os.environ.items() if not key.startswith(("ODANON", "DAGSTER"))}


def test_the_schedule_asks_for_the_day_that_lies_the_lag_back(definitions: Definitions) -> None:
    from datetime import UTC, datetime

    schedule = definitions.resolve_schedule_def("small_daily")
    tick = schedule.evaluate_tick(
        build_schedule_context(
            scheduled_execution_time=datetime(2026, 3, 10, 4, 30, tzinfo=UTC),
            repository_def=definitions.get_repository_def(),
        )
    )
    assert [request.partition_key for request in tick.run_requests] == ["2026-03-08"]


def test_resources_show_the_parameters_of_their_plugin() -> None:
    made = resource_class("staypoints", "dwell")(radius_m=80.0, min_stay="5min")
    assert made.plugin().radius_m == 80
    assert made.plugin().min_stay.total_seconds() == 300


def test_a_closed_product_has_no_partition_after_its_last_day(tmp_path: Path) -> None:
    product = small_product(tmp_path, start="2026-03-30", end="2026-04-02")
    assert daily(product).get_partition_keys() == ["2026-03-30", "2026-03-31", "2026-04-01", "2026-04-02"]
    assert monthly(product).get_partition_keys() == ["2026-03-01", "2026-04-01"]
    assert [has_matrix(product, date(2026, 4, day)) for day in (2, 3)] == [True, False]


def test_the_kinds_of_what_is_published_are_those_of_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODANON_DB_URL", "postgresql://nobody@127.0.0.1/none")
    product = small_product(tmp_path, publish={"store": "postgis", "url": "${ODANON_DB_URL}"})
    graph = build_definitions([product]).resolve_asset_graph()
    assert graph.get(asset_key(product, "published")).kinds == {"postgresql", "postgis"}
