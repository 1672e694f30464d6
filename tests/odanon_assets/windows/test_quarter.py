"""A simulated quarter as a monthly product: from ticks of schedule and sensor to the SQL function, with a late and a bad day.

In a short run three days of a month have a matrix; ODANON_STRESS takes every day of the quarter.
"""

import json
import os
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import gate_town as gate
import pandas as pd
import pytest
from dagster import DagsterInstance, RunRequest, build_schedule_context, build_sensor_context
from dagster._core.storage.tags import SCHEDULE_NAME_TAG, SENSOR_NAME_TAG
from shapely.geometry import box

from odanon.model.when import When
from odanon.product import Product
from odanon.product.windows import has_matrix, matrix_days
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.platform.build import build_definitions
from odanon_assets.platform.launch import open_instance, run_days
from odanon_assets.platform.partitions import asset_key
from odanon_assets.status.days import day_statuses
from odanon_assets.stores.choice import open_store
from odanon_assets.windows import closing

STRESS = bool(os.environ.get("ODANON_STRESS"))
START, END = date(2026, 1, 1), date(2026, 3, 31)
LATE, BAD = date(2026, 1, 26), date(2026, 2, 9)  # Mondays
EVERYWHERE = box(-180, -85, 180, 85)
EVERY = [START + timedelta(days=n) for n in range((END - START).days + 1)]
# A Saturday and two Mondays of each month.
CHOSEN = [
    date(2026, month, day)
    for month, day in ((1, 3), (1, 12), (1, 26), (2, 7), (2, 9), (2, 23), (3, 7), (3, 9), (3, 23))
]
MONTHS = ["2026-01-01", "2026-02-01", "2026-03-01"]


def quarter(folder: Path, **publish: Any) -> Product:
    off = [str(day) for day in EVERY if day not in CHOSEN]
    days = {} if STRESS else {"calendar": {"weekend": [], "holidays": off}}
    return gate.town(
        folder,
        "quarter",
        start=str(START),
        end=str(END),
        od={"bin": ["00:00", "12:00"], "days": "all" if STRESS else "working", "day_types": "weekday"},
        publish={"window": "month", "missing_days": 1, **publish},
        schedule={"cron": "0 4 * * *", "lag": "2d", "look_back": "14d"},
        anonymize={"plugin": "uniform", "level": 6, "k": 10, "suppression": 0.5},
        **days,
    )


def rows_of(day: date) -> pd.DataFrame:
    return gate.people(1000 if STRESS else 120, hours=(8, 17), day=day, seed=day.weekday())


def arrive(folder: Path, day: date) -> None:
    rows = rows_of(day)
    gate.write(folder, rows.assign(trips=-1) if day == BAD else rows, day)


class Deployment:
    """The definitions of a product with an instance: ticks, and runs of what they ask for."""

    def __init__(self, product: Product, instance: DagsterInstance) -> None:
        self.product, self.instance, self.definitions = product, instance, build_definitions([product])
        self.known: set[str | None] = set()

    def schedule_tick(self, day: date) -> list[RunRequest]:
        at = datetime(day.year, day.month, day.day, 4, tzinfo=UTC)
        with build_schedule_context(
            self.instance, scheduled_execution_time=at, repository_def=self.definitions.get_repository_def()
        ) as context:
            said = self.definitions.resolve_schedule_def("quarter_daily").evaluate_tick(context)
        return list(said.run_requests or [])

    def sensor_tick(self) -> list[RunRequest]:
        with build_sensor_context(self.instance, repository_def=self.definitions.get_repository_def()) as context:
            said = self.definitions.resolve_sensor_def("quarter_closing").evaluate_tick(context)
        fresh = [request for request in said.run_requests or [] if request.run_key not in self.known]
        self.known |= {request.run_key for request in fresh}  # the daemon runs a key once
        return fresh

    def run(self, job: str, requests: list[RunRequest], tag: str) -> Iterator[tuple[str, bool]]:
        for request in requests:
            done = self.definitions.resolve_job_def(job).execute_in_process(
                partition_key=request.partition_key, instance=self.instance, raise_on_error=False, tags={tag: job}
            )
            yield str(request.partition_key), done.success


@pytest.mark.thorough  # 40 CPU-seconds; the parts have tests of their own
def test_a_quarter_from_the_schedule_to_the_sql_function(
    workspace: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**gate.SECRET, "ODANON_DB_URL": database}.items():
        monkeypatch.setenv(name, value)
    product = quarter(workspace)
    days = [day for day in EVERY if has_matrix(product, day)]
    with open_instance() as instance:
        deployed = Deployment(product, instance)
        ended: dict[str, bool] = {}
        closed: list[str] = []
        for day in days:
            if day != LATE:
                arrive(workspace, day)
            if day == min(other for other in days if other > LATE):
                arrive(workspace, LATE)
            monkeypatch.setattr(closing, "_today", lambda _, today=day + timedelta(days=2): today)
            asked = deployed.schedule_tick(day + timedelta(days=2))
            ended |= dict(deployed.run("quarter", asked, SCHEDULE_NAME_TAG))
            windows = dict(deployed.run("quarter_window", deployed.sensor_tick(), SENSOR_NAME_TAG))
            assert all(windows.values())
            closed += windows
            if "2026-02-01" in windows:  # which lacks a day, and waited for it as long as the schedule waits for days
                assert day + timedelta(days=2) >= date(2026, 3, 3)
        # The late day came before its month was over; the bad one failed, was not asked for again, and is missing.
        assert [key for key, well in ended.items() if not well] == [str(BAD)]
        assert sorted(ended) == [str(day) for day in days]
        assert closed == MONTHS
        assert deployed.sensor_tick() == []
        mapped = build_definitions([product]).resolve_asset_graph()
        waits_for = mapped.get(asset_key(product, "window")).partition_mappings[asset_key(product, "od")]
        assert "TimeWindow" in type(waits_for).__name__
        assert [status.state for status in day_statuses(product, instance)] == ["published"] * 3

    told = check_months(product, days)
    postgis = quarter(workspace, store="postgis", url="${ODANON_DB_URL}")
    with open_instance() as instance:
        again = Deployment(postgis, instance)
        asked = again.sensor_tick()
        assert dict(again.run("quarter_window", asked, SENSOR_NAME_TAG)) == dict.fromkeys(MONTHS, True)
    assert check_months(postgis, days) == told
    check_late_data(workspace, product)


def check_months(product: Product, days: list[date]) -> list[str]:
    """What readers get of the quarter, in either store; the ids of the releases."""
    store = open_store(product)
    assert store.windows("quarter") == MONTHS
    releases = [str(store.released("quarter", date.fromisoformat(month))) for month in MONTHS]
    for month, release in zip(MONTHS, releases, strict=True):
        window = date.fromisoformat(month)
        manifest = json.loads(store.manifest_text(release))
        made = [day for day in matrix_days(product, window) if day != BAD]
        assert manifest["window"] == "month"
        assert manifest["missing_days"] == ([str(BAD)] if BAD in matrix_days(product, window) else [])
        assert manifest["days"] == len(made)
        # All trips of the month, and those of a bin whose first day is not the month's.
        rows = pd.concat([rows_of(day).assign(day=day) for day in made])
        saturdays = rows[[day.weekday() == 5 for day in rows["day"]]]
        first = min(day for day in matrix_days(product, window) if day.weekday() == 5)
        flows = store.flows(release)
        assert store.problems(release) == []
        for part, since, until in (
            (rows, window, (window + timedelta(days=31)).replace(day=1)),
            (saturdays, first, first + timedelta(days=1)),
        ):
            span = [datetime(at.year, at.month, at.day, tzinfo=UTC) for at in (since, until)]
            shown = flows[flows["time_start"].between(*span, inclusive="left")]["trips"].sum()
            assert 0.5 * part["trips"].sum() <= shown <= part["trips"].sum()
            assert store.flow("quarter", EVERYWHERE, EVERYWHERE, When(*span)).estimate == pytest.approx(shown)
        means = store.query(f"select * from {prefix(product)}daily_means where release_id = '{release}'")
        assert len(means) == len(flows)
        saturday = means[means["day_type"] == "saturday"]
        assert set(saturday["days"]) == {sum(day.weekday() == 5 for day in made)}
        assert (saturday["trips_per_day"] * saturday["days"]).to_numpy() == pytest.approx(saturday["trips"].to_numpy())
    return releases


def prefix(product: Product) -> str:
    return "published." if product.publish.store == "postgis" else ""


def check_late_data(workspace: Path, product: Product) -> None:
    """What comes for a published month is counted and not published: the bad day, repaired, and more for another one."""
    lake, store = Lake(default_root()), open_store(product)
    shown = store.released("quarter", date(2026, 2, 1))
    gate.write(workspace, rows_of(BAD), BAD)
    after = BAD + timedelta(weeks=2)
    gate.write(workspace, pd.concat([rows_of(after), rows_of(after).assign(person="late")]), after)
    results = list(run_days(product, [BAD, after], resume=False))
    assert [result.error for result in results] == ["", "", ""]
    assert store.released("quarter", date(2026, 2, 1)) == shown
    assert not lake.folder("quarter", "od", BAD).is_dir()
    with open_instance() as instance:
        states = {str(status.day): status.state for status in day_statuses(product, instance)}
    assert states == {"2026-01-01": "published", "2026-02-01": "late", "2026-03-01": "published"}
