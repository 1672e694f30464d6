"""The process that publishes: what it is given, what it answers, and what is left however it ends."""

import multiprocessing
import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import gate_town as gate
import pytest
from gate_town import DAY, people, town

from odanon.errors import OdanonError, OutageError
from odanon.product import Product
from odanon.system.standby import Standby
from odanon_assets.lake.files import held_by, inherited
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.publisher import process
from odanon_assets.publisher.process import PublisherError, publish_fresh
from odanon_assets.stores.choice import open_store

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def product(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Product:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    gate.write(workspace, people())
    made = town(workspace)
    gate.made(made)
    return made


def publish(product: Product, *_: Any) -> dict[str, Any]:
    return publish_fresh(product, Lake(default_root()), DAY)


def take_part(product: Product, outcomes: Any) -> None:
    outcomes.put(publish(product)["fresh"])


def test_two_runs_at_the_same_time_make_one_release(product: Product) -> None:
    outcomes = FORK.Queue()
    workers = [FORK.Process(target=take_part, args=(product, outcomes)) for _ in range(2)]
    for worker in workers:
        worker.start()
    assert sorted(outcomes.get(timeout=300) for _ in workers) == [False, True]
    for worker in workers:
        worker.join(60)
    assert len(open_store(product).ledger()) == 1


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_who_is_killed_while_publishing_leaves_a_whole_release_or_none(product: Product) -> None:
    """The day stays held until the fresh process has ended as well."""
    run = FORK.Process(target=publish, args=(product,))
    run.start()
    while not (found := [pid for ready in children(run.pid) for pid in children(ready)]):  # type: ignore[arg-type]
        time.sleep(0.001)
    os.kill(run.pid, signal.SIGKILL)  # type: ignore[arg-type]
    run.join()
    with Lake(default_root()).holding("town", DAY):
        assert not Path(f"/proc/{found[0]}/exe").exists()
    store = open_store(product)
    seen = store.released("town", DAY)
    assert seen is None or store.problems(seen) == []
    assert gate.publish(product)["fresh"] is (seen is None)


def stub(folder: Path, script: str) -> str:
    """A program in the place of Python."""
    path = folder / "stub"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def stand_in(python: str) -> Standby:
    return replace(process._PUBLISHER, python=python, _ready=[])


def test_a_publisher_that_is_killed_is_worth_another_try(
    product: Product, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(process, "_PUBLISHER", stand_in(stub(tmp_path, "kill -9 $$")))
        with pytest.raises(OutageError, match=r"ended without an answer; .* run the day again"):
            publish(product)
    process._PUBLISHER.standing_ready().process.kill()
    process._PUBLISHER.standing_ready().process.wait()
    assert publish(product)["fresh"]


def test_days_are_published_by_copies_that_share_nothing(product: Product) -> None:
    publish(product)
    ready = process._PUBLISHER.standing_ready().process.pid
    open_files = len(os.listdir(f"/proc/{ready}/fd"))
    assert not publish(product)["fresh"]
    assert process._PUBLISHER.standing_ready().process.pid == ready
    assert len(os.listdir(f"/proc/{ready}/fd")) == open_files, "a lock or an answer stayed open"
    while children(ready):  # the last copy is about to end
        time.sleep(0.01)


def test_whoever_stops_a_run_stops_its_publication(product: Product) -> None:
    """Nothing is published after a run has said that it was stopped."""

    def interrupted() -> None:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        publish(product)

    store = open_store(product)
    with Lake(default_root()).locked([DAY.isoformat()]):  # the copy waits for it
        run = FORK.Process(target=interrupted)
        run.start()
        while not (found := [pid for ready in children(run.pid) for pid in children(ready)]):  # type: ignore[arg-type]
            time.sleep(0.001)
        time.sleep(0.2)
        os.kill(run.pid, signal.SIGTERM)  # type: ignore[arg-type]
        run.join(60)
        assert not Path(f"/proc/{found[0]}/exe").exists()
    assert store.released("town", DAY) is None


def test_the_words_of_a_refusal_come_through_and_those_of_an_error_do_not(product: Product) -> None:
    figures = Lake(default_root()).read("town", "metrics", DAY) / "figures.json"
    whole = figures.read_text()
    figures.write_text("{}")
    with pytest.raises(OdanonError, match="town 2026-03-02: an earlier version measured this day") as refused:
        publish(product)
    assert not isinstance(refused.value, OutageError)
    figures.write_text(whole[:-3] + "person 17 at 45.75 4.85")
    with pytest.raises(PublisherError) as failed:
        publish(product)
    assert failed.value.kind == "JSONDecodeError"
    assert "make_bundle" in failed.value.where
    assert "person 17" not in str(failed.value) + failed.value.where


def test_nothing_of_a_plugins_environment_is_handed_on(
    product: Product, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a secret show on the command line."""
    stopped = stand_in(stub(tmp_path, f'env > {tmp_path}/env; echo "$@" > {tmp_path}/words; exit 1'))
    monkeypatch.setattr(process, "_PUBLISHER", stopped)
    monkeypatch.setenv("LD_PRELOAD_OF_A_PLUGIN", "evil.so")
    monkeypatch.setenv("ODANON_DB_URL", "postgresql://ann:secret@localhost/x")
    with pytest.raises(OutageError):
        publish(product)
    stopped._ready[0].process.wait()
    assert "evil.so" not in (tmp_path / "env").read_text()
    assert (tmp_path / "words").read_text().split()[:-1] == ["-P", "-m", "odanon_assets.publisher"]


def test_a_lock_goes_on_with_whoever_inherits_it(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    path = lake.day_lock("town", DAY)
    with lake.holding("town", DAY):
        copy = os.dup(held_by(path))

    entered = threading.Event()

    def enter() -> None:
        with lake.holding("town", DAY):
            entered.set()

    other = threading.Thread(target=enter)
    with inherited(path, copy):
        other.start()
        assert not entered.wait(0.3), "somebody else holds what was inherited"
    os.close(copy)
    assert entered.wait(60)
    other.join()


def test_a_lock_that_is_another_file_is_not_inherited(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    path = lake.day_lock("town", DAY)
    path.parent.mkdir()
    path.touch()
    with (tmp_path / "other").open("w") as other, pytest.raises(OdanonError, match="was replaced while it was held"):
        inherited(path, other.fileno())
