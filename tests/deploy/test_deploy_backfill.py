"""A backfill in the services of compose.yaml: killed, crashed, next to the daily run, and the month on top of it."""

import json
import os
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from dated_files import write_day
from deployment import Deployed
from product_example import small_product
from running_stack import Stack

from odanon_assets.platform.launch import days_between, run_days
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Store
from odanon_assets.stores.postgis import PostgisStore

pytestmark = pytest.mark.skipif(not os.environ.get("ODANON_STRESS"), reason="minutes of kills: set ODANON_STRESS=1")
FIRST, LAST = date(2026, 3, 2), date(2026, 4, 5)  # 35 days: a run of 30 and one of 5
OUTAGE_S = 9  # Dagster's own patience with its database is 6 seconds
COMPARED = 12  # days, among them those of the kills and the crash
TINY = {
    "source": {"plugin": "simulated", "people": 80, "seed": 3, "radius_km": 3},
    "engine": {"plugin": "local", "buckets": 1},
}


def test_kills_of_the_daemon_and_a_crash_of_postgresql_lose_no_day_of_a_backfill(
    stack: Stack, deployed: Deployed, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = days_between(FIRST, LAST)
    stack.product(deployed, **TINY)
    stack.start_all()
    store = PostgisStore(deployed.login("odanon_app"))

    def published(count: int) -> bool:
        return len(store.windows("small")) >= count

    backfill = stack.backfill(days)
    stack.kill("daemon")
    stack.start("daemon")
    stack.wait("three days", lambda: published(3))
    stack.kill("daemon")
    stack.start("daemon")
    stack.wait("six days", lambda: published(6))
    deployed.server.crash()
    time.sleep(OUTAGE_S)
    deployed.server.start()
    assert not published(len(days))
    stack.wait("the end", lambda: stack.backfill_status(backfill).startswith("COMPLETED"), 900, restart=True)

    assert stack.backfill_status(backfill) == "COMPLETED_SUCCESS"
    assert store.windows("small") == [str(day) for day in days]
    ledger = store.ledger()
    assert sorted(map(str, ledger.window_start)) == [str(day) for day in days]  # each once, none superseded
    assert [store.problems(release) for release in ledger.release_id] == [[]] * len(days)  # as `odanon integrity` asks
    march = stack.folder / "lib/data/derived/small/month=2026-03"
    stack.wait("the month on top of the days", march.is_dir, restart=True)
    assert stack.fired("months")
    assert len(list(march.parent.iterdir())) == 1  # April has 5 of its 30 days

    # The same days as `odanon run` makes them, on the embedded store.
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", deployed.secret("pseudonym_key"))
    product = small_product(workspace / "pipelines", **TINY)
    assert not any(result.error for result in run_days(product, days[:COMPARED], resume=False))
    plain = EmbeddedStore(workspace / "data")
    for day in days[:COMPARED]:
        release = str(store.released("small", day))
        assert plain.released("small", day) == release
        assert digests(plain, release) == digests(store, release)


def test_the_run_of_a_day_that_arrives_overtakes_backfills_that_wait(stack: Stack, deployed: Deployed) -> None:
    """Three backfills fill the queue before the day arrives; with one place to work, the day is first."""
    today = datetime.now(UTC).date()
    history = days_between(today - timedelta(days=8), today - timedelta(days=6))
    for day in history:
        write_day(stack.folder / "source", day, people=80)
    stack.product(
        deployed,
        source={"plugin": "points", "path": str(stack.folder / "source" / "date={date}")},
        context="0s",
        timezone="UTC",
        start=history[0].isoformat(),
        schedule={"cron": "0 4 * * *", "lag": "4d", "on_arrival": True, "look_back": "3d"},
    )
    stack.places_to_work(0)
    stack.start_all()
    before = set(stack.tagged_runs())
    backfills = [stack.backfill([day]) for day in history]

    def queued(tag: str) -> set[str]:
        runs = stack.tagged_runs()
        return {run for run in set(runs) - before if tag in runs[run]["tags"] and runs[run]["status"] == "QUEUED"}

    stack.wait("backfills in the queue", lambda: len(queued("dagster/backfill")) == len(history))
    waiting = queued("dagster/backfill")
    write_day(stack.folder / "source", today - timedelta(days=1), people=80)
    stack.wait("the run of the day that arrived", lambda: bool(queued("dagster/sensor_name")))
    (daily,) = queued("dagster/sensor_name")

    stack.kill("daemon")
    stack.places_to_work(1)
    stack.start("daemon")
    stack.wait("the backfills", lambda: all(stack.backfill_status(one) == "COMPLETED_SUCCESS" for one in backfills))
    runs = stack.tagged_runs()
    assert all(runs[daily]["creationTime"] > runs[run]["creationTime"] for run in waiting)
    assert all(runs[daily]["endTime"] <= runs[run]["startTime"] for run in waiting)
    assert runs[daily]["status"] == "SUCCESS"
    assert len(PostgisStore(deployed.login("odanon_app")).windows("small")) == len(history) + 1


def digests(store: Store, release: str) -> dict[str, str]:
    """Of flows, zones and report, as the manifest has sealed them."""
    return json.loads(store.manifest_text(release))["content"]
