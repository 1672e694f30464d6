"""Killed anywhere, readers see the old release or the new one, whole (PRIVACY rule 8)."""

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path

import psycopg2
import pytest
from bundles import accept, bundle
from postgis_server import Server, crashing_server

from odanon.errors import OdanonError
from odanon_assets.stores import database as connections
from odanon_assets.stores import schema
from odanon_assets.stores.bundle import Bundle
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Act, Store
from odanon_assets.stores.postgis import PostgisStore

KILLS = 60 if os.environ.get("ODANON_STRESS") else 4
ROWS = 10_000  # long enough to be hit in the middle
FORK = multiprocessing.get_context("fork")
ACT = Act("Ada", "test")


@lru_cache(maxsize=4)
def releases(number: int) -> tuple[date, Bundle, Bundle]:
    """The old and the new release of a window."""
    day = date(2026, 1, 1) + timedelta(days=number)
    return day, bundle(day=day, rows=3), bundle(trips=41, day=day, rows=ROWS)


def publish(store: Store, made: Bundle) -> None:
    try:
        store.publish(made, accept, ACT)
    except OdanonError:
        os._exit(3)  # the database went away under us


def start_publishing(store: Store, made: Bundle) -> multiprocessing.process.BaseProcess:
    worker = FORK.Process(target=publish, args=(store, made))
    worker.start()
    return worker


def assert_whole(store: Store, number: int) -> bool:
    """Exactly the old or the new release is there; whether it is the new one."""
    day, old, new = releases(number)
    shown = store.released("town", day)
    assert shown in (old.release_id, new.release_id)
    assert store.problems(shown) == []
    found = store.query(f"select release_id, count(*) as n from flows where window_start = '{day}' group by release_id")
    made = new if shown == new.release_id else old
    assert found.values.tolist() == [[shown, len(made.flows)]]
    log = store.audit_log()
    acts = log.loc[log["window_start"] == str(day), "act"].tolist()
    assert acts == (["publish", "supersede"] if made is new else ["publish"])
    return made is new


def typical_seconds(store: Store) -> float:
    _, old, new = releases(0)
    store.publish(old, accept)
    began = time.monotonic()
    worker = start_publishing(store, new)
    worker.join()
    assert assert_whole(store, 0)
    return time.monotonic() - began


def moment(number: int) -> float:
    """A random moment in the slice of a publication that belongs to a kill, so that a few kills are spread over all of it.

    The first comes at once. Early slices are shorter: a good part of the typical time is the end of the process, when all
    is done.
    """
    return 0.0 if number == 1 else 1.1 * ((number - random.Random(number).random()) / KILLS) ** 2


def kill_at_random(store: Store, number: int, seconds: float) -> bool:
    """Whether the new release was visible after the kill."""
    _, old, new = releases(number)
    store.publish(old, accept)
    worker = start_publishing(store, new)
    time.sleep(moment(number) * seconds)
    os.kill(worker.pid, signal.SIGKILL)  # type: ignore[arg-type]
    worker.join()
    seen = assert_whole(store, number)
    assert store.publish(new, accept, ACT) is not seen  # the retry finishes the work, once
    assert assert_whole(store, number)
    return seen


def test_kill_9_of_a_publisher_never_tears_a_release(store: Store) -> None:
    seconds = typical_seconds(store)
    outcomes = [kill_at_random(store, number, seconds) for number in range(1, KILLS + 1)]
    assert False in outcomes  # the kills did hit something


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with crashing_server() as found:
        schema.init(found.url)
        yield found


def test_an_immediate_stop_of_the_database_never_tears_a_release(server: Server) -> None:
    store = PostgisStore(server.url)
    seconds = typical_seconds(store)
    outcomes = []
    for number in range(1, KILLS + 1):
        _, old, new = releases(number)
        store.publish(old, accept)
        worker = start_publishing(store, new)
        time.sleep(moment(number) * seconds)
        server.crash()
        worker.join()
        server.start()
        seen = assert_whole(store, number)
        outcomes.append(seen)
        assert store.publish(new, accept, ACT) is not seen
        assert assert_whole(store, number)
    assert False in outcomes


class Full(psycopg2.extensions.connection):
    """A connection to a server whose disk is full at the statement of that number."""

    left = 10**6

    def cursor(self, *arguments: object, **options: object) -> object:
        Full.left -= 1
        if Full.left == 0:
            raise psycopg2.errors.DiskFull("could not extend file")
        return super().cursor(*arguments, **options)


@pytest.fixture
def filling(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgisStore]:
    """A store with one release in a database whose disk may be full."""
    monkeypatch.setattr(connections, "_DRIVER", {"connection_factory": Full})
    connections._engine.cache_clear()
    store = PostgisStore(database)
    store.publish(bundle(), accept)
    yield store
    connections._engine.cache_clear()


def refused_at_each_statement(act: Callable[[], object], unchanged: Callable[[], None]) -> int:
    """Do an act with a disk that is full at each of its statements in turn; at how many it was."""
    for number in range(1, 100):
        Full.left = number
        problem = ""
        try:
            act()
        except OdanonError as error:
            problem = str(error)
        Full.left = 10**6
        if not problem:
            return number - 1
        assert "the database refused (DiskFull)" in problem
        unchanged()
    raise AssertionError("the act never ends")


def test_a_full_disk_at_any_statement_leaves_the_old_release(filling: PostgisStore) -> None:
    old, new = bundle(), bundle(trips=41)

    def unchanged() -> None:
        assert filling.released("town", date(2026, 3, 2)) == old.release_id
        assert filling.problems(old.release_id) == []
        assert len(filling.query("select * from flows")) == len(old.flows)

    assert refused_at_each_statement(lambda: filling.publish(new, accept, ACT), unchanged) > 10
    assert filling.released("town", date(2026, 3, 2)) == new.release_id
    shown = [new.release_id, len(new.flows)]

    def still_shown() -> None:
        assert [filling.released("town", date(2026, 3, 2)), len(filling.query("select * from flows"))] == shown

    assert refused_at_each_statement(lambda: filling.withdraw("town", date(2026, 3, 2), ACT), still_shown) > 6
    assert filling.standings("town") == {"2026-03-02": "withdrawn"}
    assert filling.audit_log()["act"].tolist() == ["publish", "supersede", "withdraw"]


def test_a_purge_that_was_cut_off_is_finished_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = EmbeddedStore(tmp_path)
    made = bundle()
    store.publish(made, accept)

    unlink = Path.unlink

    def fail(path: Path, *, missing_ok: bool = False) -> None:
        if "releases" in path.parts:
            raise OSError("gone")
        unlink(path, missing_ok=missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", fail)
        with pytest.raises(OSError, match="gone"):
            store.purge("town", made.window_start, ACT)
    assert store.windows("town") == []
    store.purge("town", made.window_start, ACT)
    assert [path.name for path in store.folder(made.release_id).iterdir()] == ["release.json"]
    assert store.audit_log()["act"].tolist() == ["publish", "purge"]
