"""The process that stands ready to read foreign files: copies end with whoever asked, and nothing is left open."""

import os
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from odanon.reading import batches
from odanon.reading.batches import Column, Job, read
from odanon.reading.pseudonym import KEY_VARIABLE

ROWS = 400_000


@pytest.fixture
def job(tmp_path: Path) -> Job:
    path = tmp_path / "numbers.parquet"
    pq.write_table(pa.table({"x": pa.array(range(ROWS), pa.float64())}), path, row_group_size=1000)
    return Job([str(path)], "file", [Column("x", "x", "number")])


def ready() -> int:
    return batches._READER.standing_ready().process.pid


def copies() -> list[str]:
    return Path(f"/proc/{ready()}/task/{ready()}/children").read_text().split()


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_jobs_are_done_by_copies_of_one_process_that_leave_nothing_open(job: Job) -> None:
    assert sum(map(len, read(job))) == ROWS
    pid = ready()
    before = open_files(pid), open_files(os.getpid())
    assert sum(map(len, read(job))) == ROWS
    assert ready() == pid
    assert (open_files(pid), open_files(os.getpid())) == before


def test_a_job_that_is_left_early_ends(job: Job) -> None:
    rows = read(job)
    next(rows)
    assert len(copies()) == 1
    rows.close()
    for _ in range(1000):
        if not copies():
            return
        time.sleep(0.01)
    raise AssertionError("the copy goes on though nobody reads")


def test_a_process_that_was_killed_is_started_again(job: Job) -> None:
    pid = ready()
    process = batches._READER.standing_ready().process
    process.kill()
    process.wait()
    assert sum(map(len, read(job))) == ROWS
    assert ready() != pid


def test_it_never_knew_the_key_and_works_in_the_folder_of_whoever_asks(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "a key that nobody who reads files may know")
    monkeypatch.setattr(batches._READER, "_ready", [])
    monkeypatch.chdir(tmp_path)
    assert sum(map(len, read(Job(["numbers.parquet"], "file", job.columns)))) == ROWS
    assert KEY_VARIABLE not in Path(f"/proc/{ready()}/environ").read_text()
