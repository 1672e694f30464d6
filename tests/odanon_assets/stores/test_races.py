"""Dagster may launch a partition twice: however many publish, there is one release."""

import multiprocessing
import os
from collections import Counter
from datetime import date, timedelta
from typing import Any

from bundles import accept, bundle

from odanon.errors import OdanonError
from odanon_assets.stores.interface import Store

ROUNDS = 50 if os.environ.get("ODANON_STRESS") else 4
PROCESSES = 8
FORK = multiprocessing.get_context("fork")
FIRST = date(2026, 5, 1)
PATIENCE_S = 120  # a process that died is a broken barrier for the others, and not a test that hangs


def take_part(store: Store, barrier: Any, outcomes: Any, trips: int) -> None:
    """One process: publish every round's window together with the others."""
    for number in range(ROUNDS):
        barrier.wait()
        try:
            fresh = store.publish(bundle(trips=trips, day=FIRST + timedelta(days=number), rows=200), accept)
            outcomes.put((number, trips, "new" if fresh else "same"))
        except OdanonError as error:
            outcomes.put((number, trips, "refused" if "never changed" in str(error) else str(error)))


def race(store: Store, trips: list[int]) -> list[tuple[int, int, str]]:
    barrier, outcomes = FORK.Barrier(PROCESSES, timeout=PATIENCE_S), FORK.Queue()
    workers = [FORK.Process(target=take_part, args=(store, barrier, outcomes, value)) for value in trips]
    for worker in workers:
        worker.start()
    found = [outcomes.get(timeout=300) for _ in range(PROCESSES * ROUNDS)]
    for worker in workers:
        worker.join(PATIENCE_S)
    return found


def test_eight_publishers_of_one_window_give_one_release(store: Store) -> None:
    """Half of them bring another release, which is refused."""
    found = race(store, [40, 41] * (PROCESSES // 2))
    for number in range(ROUNDS):
        day = FIRST + timedelta(days=number)
        results = Counter(outcome for at, _, outcome in found if at == number)
        assert results == {"new": 1, "same": PROCESSES // 2 - 1, "refused": PROCESSES // 2}
        (winner,) = {trips for at, trips, outcome in found if at == number and outcome == "new"}
        release = bundle(trips=winner, day=day, rows=200).release_id
        assert store.released("town", day) == release
        assert store.problems(release) == []
    assert (
        store.query("select release_id, count(*) as n from flows group by release_id")["n"].tolist() == [200] * ROUNDS
    )
    assert len(store.ledger()) == ROUNDS
    assert store.audit_log()["act"].tolist() == ["publish"] * ROUNDS


def publish_own(store: Store, number: int, barrier: Any, outcomes: Any) -> None:
    barrier.wait()
    try:
        outcomes.put(store.publish(bundle(day=FIRST + timedelta(days=31 * number), rows=200), accept))
    except OdanonError as error:
        outcomes.put(str(error))


def test_publishers_of_different_windows_do_not_stop_each_other(store: Store) -> None:
    """All add the same zones and a month of their own at the same time."""
    barrier, outcomes = FORK.Barrier(PROCESSES, timeout=PATIENCE_S), FORK.Queue()
    workers = [FORK.Process(target=publish_own, args=(store, n, barrier, outcomes)) for n in range(PROCESSES)]
    for worker in workers:
        worker.start()
    assert [outcomes.get(timeout=120) for _ in workers] == [True] * PROCESSES
    for worker in workers:
        worker.join(PATIENCE_S)
    assert len(store.windows("town")) == PROCESSES
