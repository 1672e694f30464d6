"""Scratch folders: a killed process leaves its own to the next sweep, a living one keeps its own."""

import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from odanon.system.scratch import scratch, sweep


def listed(home: Path) -> list[Path]:
    return sorted(home.rglob("*"))


def test_a_folder_is_private_and_goes_with_its_block(tmp_path: Path) -> None:
    with scratch(tmp_path / "home") as folder:
        assert folder.stat().st_mode & 0o077 == 0
        (folder / "sub").mkdir()
        (folder / "sub" / "rows").write_text("x")
    assert listed(tmp_path / "home") == []
    with pytest.raises(FileExistsError), scratch(tmp_path / "home") as folder:
        folder.mkdir()
    assert listed(tmp_path / "home") == []


def test_a_link_in_it_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "salt").write_text("x")
    with scratch(tmp_path / "home") as folder:
        (folder / "keys").symlink_to(tmp_path / "keys")
    assert (tmp_path / "keys" / "salt").exists()


def hold(home: Path, told: Connection) -> None:
    with scratch(home) as folder:
        (folder / "rows").write_text("x")
        told.send(folder)
        signal.pause()


def test_kill_9_leaves_it_to_the_sweeper_who_spares_the_living(tmp_path: Path) -> None:
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=hold, args=(tmp_path, theirs))
    child.start()
    folder = ours.recv()
    sweep(tmp_path)
    assert (folder / "rows").exists()
    with scratch(tmp_path) as own:
        os.kill(child.pid, signal.SIGKILL)  # type: ignore[arg-type]
        child.join()
        assert (folder / "rows").exists()
        sweep(tmp_path)
        assert not folder.exists()
        assert own.is_dir()  # of this very process
    assert listed(tmp_path) == []


def test_what_a_kill_left_of_a_removal_is_swept(tmp_path: Path) -> None:
    (tmp_path / ".odanon-1.lock").touch()
    sweep(tmp_path)
    assert listed(tmp_path) == []
    sweep(tmp_path / "nowhere")


def test_sweepers_and_owners_do_not_disturb_each_other(tmp_path: Path) -> None:
    stop, trouble = threading.Event(), list[BaseException]()

    def sweeping() -> None:
        try:
            while not stop.is_set():
                sweep(tmp_path)
        except BaseException as error:
            trouble.append(error)

    sweepers = [threading.Thread(target=sweeping) for _ in range(2)]
    for thread in sweepers:
        thread.start()
    for number in range(300):
        with scratch(tmp_path) as folder:
            (folder / "rows").write_text(str(number))
            assert (folder / "rows").read_text() == str(number)
    stop.set()
    for thread in sweepers:
        thread.join()
    assert trouble == []
    assert listed(tmp_path) == []
