"""The services of compose.yaml as real processes on a real server: what a deployment does, without Docker."""

import os
from datetime import date

import pytest
from deployment import Deployed
from running_stack import Stack

from odanon_assets.stores.postgis import PostgisStore

DAY = date(2026, 3, 2)


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
