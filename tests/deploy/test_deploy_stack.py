"""The services of compose.yaml as real processes on a real server: what a deployment does, without Docker."""

import os
import time
from datetime import date

import pytest
from deployment import Deployed, sql
from product_example import small_product
from running_stack import Stack

from odanon_assets.platform.launch import days_between
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.postgis import PostgisStore

DAY = date(2026, 3, 2)
OUTAGE_S = 20  # Dagster waits for its database for 6 seconds, and gives up a run after 2 to 4 such waits
MADE = """SELECT DISTINCT partition FROM event_logs
    WHERE run_id = %s AND dagster_event_type = 'ASSET_MATERIALIZATION' AND asset_key LIKE '%%published%%'"""


@pytest.mark.thorough  # of its parts, test_platform.py starts those of dagster dev
def test_a_day_goes_through_the_queue_into_postgis_and_a_killed_daemon_loses_nothing(
    stack: Stack, deployed: Deployed
) -> None:
    stack.start_all()
    run = stack.launch(DAY)
    stack.kill("daemon")
    assert stack.runs()[run] in ("QUEUED", "STARTING", "STARTED")
    stack.start("daemon")
    stack.wait("the run", lambda: stack.runs()[run] in ("SUCCESS", "FAILURE"))
    assert stack.runs()[run] == "SUCCESS", stack.log("code")[-3000:]
    store = PostgisStore(deployed.login("odanon_app"))
    release = store.released("small", DAY)
    assert release is not None
    assert store.problems(release) == []


@pytest.mark.skipif(not os.environ.get("ODANON_STRESS"), reason="minutes of kills: set ODANON_STRESS=1")
@pytest.mark.parametrize("victim", ["code", "database"])
def test_a_killed_code_location_or_database_loses_nothing(stack: Stack, deployed: Deployed, victim: str) -> None:
    """The run dies with its service, is found dead, and is started again; readers see the whole release."""
    day = date(2026, 3, 3) if victim == "code" else date(2026, 3, 4)
    stack.start_all()
    run = stack.launch(day)
    stack.wait("the work on the run", lambda: stack.at_work(run))
    if victim == "code":
        stack.kill("code")
        stack.start("code")
    else:
        deployed.server.crash()
        deployed.server.start()
    store = PostgisStore(deployed.login("odanon_app"))
    stack.wait("the end of the run", lambda: stack.ended(run) == "SUCCESS", restart=True)
    release = store.released("small", day)
    assert release is not None
    assert store.problems(release) == []
    assert [status for status in stack.runs().values() if status not in ("SUCCESS", "FAILURE")] == []


@pytest.mark.skipif(not os.environ.get("ODANON_STRESS"), reason="a minute of outage: set ODANON_STRESS=1")
def test_a_run_that_lost_dagsters_database_is_started_again_for_the_days_that_are_missing(
    stack: Stack, deployed: Deployed
) -> None:
    """The days are published to files, so that the outage is Dagster's alone."""
    days = days_between(DAY, date(2026, 3, 7))
    source = {"plugin": "simulated", "people": 80, "seed": 3, "radius_km": 3}
    small_product(stack.folder / "etc/products", source=source)
    stack.start_all()
    run = stack.launch(days[0], days[-1])
    store = EmbeddedStore(stack.folder / "lib/data")
    stack.wait("two days", lambda: len(store.windows("small")) >= 2)
    deployed.server.crash()
    time.sleep(OUTAGE_S)
    deployed.server.start()
    stack.wait("the end of the run", lambda: stack.ended(run) == "SUCCESS", restart=True)
    assert store.windows("small") == [str(day) for day in days]
    assert stack.runs()[run] == "FAILURE"
    (again,) = (made for made in stack.tagged_runs().values() if made["parentRunId"] == run)
    before, after = (set(sql(deployed.login("dagster", "dagster"), MADE, one)) for one in (run, again["runId"]))
    assert str(days[0]) in before
    assert not before & after
    assert before | after == {str(day) for day in days}
