"""Fixtures shared by all tests."""

import contextlib
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from hypothesis import settings
from sqlalchemy import create_engine, event
from sqlalchemy.engine import Engine
from sqlalchemy.pool import QueuePool

TESTS = Path(__file__).parent
sys.path.insert(0, str(TESTS / "support"))
MEMORY, ENOUGH_BYTES = Path("/dev/shm"), 4 << 30  # three times what was seen


def _has_room(folder: Path) -> bool:
    """Whether all that tests write at a time fits there, and programs in it may run."""
    there = folder.is_dir() and os.access(folder, os.W_OK) and not os.statvfs(folder).f_flag & os.ST_NOEXEC
    return there and shutil.disk_usage(folder).free >= ENOUGH_BYTES


if not os.environ.get("TMPDIR") and _has_room(MEMORY):  # a small day is synced to disk some dozen times
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)  # pytest has made a file before it reads this, so both

from postgis_server import postgis_server  # noqa: E402

from odanon.risk import membership  # noqa: E402
from odanon.testing import anonymizers  # noqa: E402

STRESS = bool(os.environ.get("ODANON_STRESS"))
settings.register_profile("test", deadline=None, max_examples=8, derandomize=True)  # the same cases on every machine
settings.register_profile("stress", deadline=None, max_examples=1000)
settings.load_profile("stress" if STRESS else "test")
if not STRESS:
    anonymizers._ENOUGH, anonymizers._ENOUGH_LIMITED = 3, 1  # of the suite of anonymisers; every promise has its turn
    membership._RELEASES = 20

# A shell that starts the tests in the background without job control has them ignore SIGINT. Programs inherit that, and
# Dagster, which treats SIGTERM as SIGINT, could then not be stopped by either.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave what repeats a behaviour with other values to ODANON_STRESS."""
    there = {item.nodeid for item in items}
    left = {item for item in items if item.get_closest_marker("thorough") or _twin(item) in there}
    left = set() if STRESS else left
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]


def _twin(item: pytest.Item) -> str:
    """The same test on the store whose turn it is, of a file marked `stores_in_turn`; nothing if it is this one's own turn."""
    if not isinstance(item, pytest.Function) or not item.get_closest_marker("stores_in_turn"):
        return ""
    other, its = sorted(("embedded", "postgis"), reverse=bool(len(item.originalname) % 2))
    place, bracket, values = item.nodeid.partition("[")
    parts = values.rstrip("]").split("-")
    return f"{place}{bracket}{'-'.join(its if part == other else part for part in parts)}]" if other in parts else ""


@event.listens_for(Engine, "connect")
def _leave_it_to_the_system_when_to_write(connection: Any, _: Any) -> None:
    """Dagster commits hundreds of times a day of a product, and no test pulls the plug of its SQLite files."""
    if isinstance(connection, sqlite3.Connection):
        with contextlib.suppress(sqlite3.Error):  # a file that is no database is the test's business
            connection.execute("PRAGMA synchronous = OFF")


@pytest.fixture(scope="session")
def postgis_url() -> Iterator[str]:
    """A real PostGIS; the session fails, never skips, when there is none."""
    with postgis_server() as url:
        yield url


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets; tests that need it skip where it is absent."""
    folder = Path(os.environ.get("ODANON_SHARED_DATA", TESTS.parents[1] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the shared real data are not at {folder}; set ODANON_SHARED_DATA")
    return folder


@pytest.fixture(scope="session")
def kept_engines() -> Iterator[None]:
    """Dagster makes an engine and a connection for every event that it writes to SQLite, and each compiles all statements again.

    Whenever a database is opened it reads the revisions of its schema, which do not change either.
    """
    from dagster._core.storage.event_log.sqlite import sqlite_event_log
    from dagster._core.storage.runs.sqlite import sqlite_run_storage
    from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS

    patient = {"timeout": SQLITE_BUSY_TIMEOUT_SECONDS}
    kept = lru_cache(maxsize=32)(partial(create_engine, poolclass=QueuePool, connect_args=patient))
    revisions: dict[str | None, ScriptDirectory] = {}
    read = ScriptDirectory.from_config

    def read_once(config: Config) -> ScriptDirectory:
        folder = config.get_main_option("script_location")
        return revisions.setdefault(folder, revisions.get(folder) or read(config))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptDirectory, "from_config", read_once)
        for module in (sqlite_event_log, sqlite_run_storage):
            patch.setattr(module, "create_engine", lambda url, **_: kept(url))
        yield


@pytest.fixture(scope="session")
def empty_dagster(tmp_path_factory: pytest.TempPathFactory, kept_engines: None) -> Path:
    """A home with the databases that Dagster makes at its first start, which takes it as long as a small day."""
    from dagster import DagsterInstance

    home = tmp_path_factory.mktemp("empty-dagster")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", str(home))
        DagsterInstance.get().dispose()
    return home


@pytest.fixture(scope="session")
def attacked(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """What anonymisers scored in the fixed city of the membership attack, seconds each, shared by all processes."""
    ours = tmp_path_factory.getbasetemp()
    folder = (ours if worker_id == "master" else ours.parent) / "attacked"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def workspace(tmp_path: Path, empty_dagster: Path, attacked: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data root, product folder and Dagster home of one test."""
    for name, part in (("ODANON_ROOT", "data"), ("ODANON_PRODUCTS", "pipelines"), ("DAGSTER_HOME", "dagster")):
        (tmp_path / part).mkdir()
        monkeypatch.setenv(name, str(tmp_path / part))
    for database in empty_dagster.rglob("*.db"):
        copy = tmp_path / "dagster" / database.relative_to(empty_dagster)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(database, copy)
    kept = tmp_path / "data" / "work" / ".membership"
    shutil.copytree(attacked, kept)
    yield tmp_path
    for made in kept.glob("*.json"):
        made.replace(attacked / made.name)


@pytest.fixture
def all_cities(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole suite of anonymisers, for faults that few cities show."""
    monkeypatch.setattr(anonymizers, "_ENOUGH", anonymizers._CASES)
    monkeypatch.setattr(anonymizers, "_ENOUGH_LIMITED", anonymizers._CASES)
