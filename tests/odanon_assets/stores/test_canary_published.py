"""From a table of people to the database: no id, no count of few people in anything that is written outside the lake.

Canaries stand in good rows, malformed files and tables, messages of anonymisers and refused releases. Then logs of all
libraries, Dagster's storage with its events and metadata, temporary files, output, published tables and the
database's own log, which is told to write down every statement, are searched.
"""

import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gate_town as gate
import numpy as np
import pandas as pd
import psycopg2
import pyarrow.parquet as pq
import pytest
from gate_town import DAY, TILES, people, town
from store_databases import run_sql

from odanon.anonymizers.atg.joint import AtgJoint
from odanon_assets.platform.launch import run_days

ID, COUNT = "CANARY06", 760031  # an id, and the trips of one person between two tiles
NEEDLES = [ID.encode(), str(COUNT).encode(), gate.SECRET["ODANON_PSEUDONYM_KEY"].encode()]
DAYS = gate.days(5)


def canaries(day: Any) -> pd.DataFrame:
    """A town in which everybody has a marked id and one person travels alone between two tiles."""
    rows = people(day=day).assign(person=lambda table: table["person"].str.replace("person ", ID))
    rows["trips"] = 500_001 + 7 * np.arange(len(rows))
    alone = rows.iloc[:1].assign(origin=TILES[0], destination=TILES[-1], trips=COUNT, person=f"{ID}-alone")
    return pd.concat([rows, alone], ignore_index=True)


def raising(self: Any, od: Any, origins: Any, destinations: Any) -> Any:
    raise RuntimeError(f"{ID}-alone made {int(od.trips.max())} trips")


@pytest.fixture
def place(workspace: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workspace in which all libraries log everything into one file; input files lie elsewhere."""
    (workspace / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(workspace / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    handler, logger = logging.FileHandler(workspace / "everything.log"), logging.getLogger()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield workspace
    logger.setLevel(level)
    logger.removeHandler(handler)
    handler.close()


@pytest.fixture
def talkative(database: str) -> Iterator[Path]:
    """The log of the database, with every statement in it."""
    with psycopg2.connect(database) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW data_directory")
        log = Path(cursor.fetchone()[0]).parent / "log"
    connection.close()
    if not log.is_file():
        pytest.skip("the log of the given database is not a file that can be read here")
    for setting in ("log_statement = 'all'", "log_min_duration_statement = 0", "log_error_verbosity = verbose"):
        run_sql(database, f"ALTER SYSTEM SET {setting}")
    run_sql(database, "SELECT pg_reload_conf()")
    yield log
    run_sql(database, "ALTER SYSTEM RESET ALL")
    run_sql(database, "SELECT pg_reload_conf()")


def told(path: Path) -> bytes:
    """What a file says; Parquet as text."""
    text = path.read_bytes()
    return text + pq.ParquetFile(path).read().to_pandas().to_csv().encode() if path.suffix == ".parquet" else text


def test_no_canary_leaves_the_lake(
    place: Path,
    database: str,
    talkative: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    source = tmp_path_factory.mktemp("source")
    for day in DAYS[:3]:
        gate.write(source, canaries(day), day)
    (source / f"{DAYS[3]}.parquet").write_bytes((source / f"{DAYS[0]}.parquet").read_bytes()[:-7])
    gate.write(source, canaries(DAYS[4]).assign(trips=ID, time_bin=ID), DAYS[4])
    monkeypatch.setenv("ODANON_DB_URL", database)
    told_store = {"publish": {"store": "postgis", "url": "${ODANON_DB_URL}"}, "file_in": place}
    by_sex = {"person": "person", "segment": "sex"}
    errors = [next(iter(run_days(town(source, "town", by_sex, **told_store), [DAY], resume=False))).error]
    assert errors == [""]
    other = {"anonymize": {"plugin": "atg-joint", "k": 15}, **told_store}
    errors += [next(iter(run_days(town(source, "coarse", **other), [DAY], resume=False))).error]
    assert errors[-1].startswith("check auditor failed")
    with monkeypatch.context() as patch:
        patch.setattr(AtgJoint, "anonymize", raising)
        errors += [next(iter(run_days(town(source, **told_store), DAYS[1:2], resume=False))).error]
        assert "RuntimeError" in errors[-1]
    errors += [result.error for result in run_days(town(source, **told_store), DAYS[3:], resume=False)]
    assert all(errors[1:])

    printed = "".join(capfd.readouterr()) + "".join(errors)
    files = [path for path in place.rglob("*") if path.is_file()]
    outside = [path for path in files if not {"work", "keys"} & set(path.relative_to(place).parts)]
    assert {".db", ".log"} <= {path.suffix for path in outside}
    found = [f"printed: {needle!r}" for needle in NEEDLES if needle in printed.encode()]
    found += [f"{path}: {needle!r}" for path in outside for needle in NEEDLES if needle in told(path)]
    log = talkative.read_bytes()
    assert b"INSERT INTO published.release" in log
    found += [f"database log: {needle!r}" for needle in NEEDLES if needle in log]
    # Inside the lake rows carry pseudonyms, and counts are what it is for.
    found += [f"{path}: {ID}" for path in files if "work" in path.parts and ID.encode() in told(path)]
    with psycopg2.connect(database) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT max(trips) FROM published.flow")
        assert cursor.fetchone()[0] != COUNT
    connection.close()
    assert found == []
