"""Nothing personal is written anywhere (PRIVACY rule 9): canaries in malformed input, then everything is searched.

Each source gets malformed input with a marked id and marked coordinates, is run through the whole chain with all
libraries logging everything, and every byte written is searched: logs, Dagster's storage, output, temporary files,
messages and tracebacks, intermediates and published tables.
"""

import logging
import re
import sqlite3
import struct
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from product_example import small_product

from odanon.reading.pseudonym import KEY_VARIABLE
from odanon.simulate.source import Simulated
from odanon_assets.platform.launch import run_days

ID = "CANARY0600000001"
LAT, LON = 45.98765432, 4.12345678
SECRET_KEY = "a key that only the test knows 0123456789"
NEEDLES = [b"CANARY", b"45.9876", b"4.12345", struct.pack("<d", LAT), struct.pack("<d", LON), SECRET_KEY.encode()]
FIRST = date(2026, 3, 2)
SEARCHED: dict[Path, tuple[int, int]] = {}  # size and time of what an earlier source has left

BAD_ROWS = [  # one of each reason, all of the canary
    f"{ID},,{LAT},{LON}",
    f"{ID},2026-03-02T08:00:00,{LAT},{LON}",
    f"{ID},2026-03-02T08:00:00Z,{LAT},east",
    f"{ID},2026-03-02T08:00:00Z,1{LAT},{LON}",
    f"{ID},1970-01-01T08:00:00Z,{LAT},{LON}",
    f"{ID},2190-01-01T08:00:00Z,{LAT},{LON}",
    f",2026-03-02T08:00:00Z,{LAT},{LON}",
    f"{ID},2026-03-02T08:00:00Z,{LAT}",
    f'{ID},2026-03-02T08:00:00Z,{LAT},{LON},"extra"',
    f"{ID},2026-03-02T08:00:01Z,{LON},{LAT}",
]


def town(day: date) -> pd.DataFrame:
    """Good points of a small town, so that a day can be published."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=7)
    batches = Simulated(people=150, seed=3, radius_km=3).batches(start, start + timedelta(hours=37))
    return pd.concat(batches, ignore_index=True)


def good_rows_and_bad(folder: Path) -> None:
    rows = town(FIRST)
    text = rows.assign(time=rows["time"].dt.strftime("%Y-%m-%dT%H:%M:%S.%fZ")).to_csv(index=False)
    (folder / "2026-03-02.csv").write_text(text + "\n".join(BAD_ROWS) + "\n")


def points(folder: Path) -> dict[str, Any]:
    good_rows_and_bad(folder)
    table = pa.table({"person": [ID] * 50, "time": [ID] * 50, "lat": [LAT] * 50, "lon": [LON] * 50})
    pq.write_table(table, folder / "2026-03-05.parquet")
    (folder / "2026-03-05.parquet").write_bytes((folder / "2026-03-05.parquet").read_bytes()[:-9])
    (folder / "2026-03-08.jsonl").write_text(f'{{"person": "{ID}", "time": {LAT}, "lat": [{LON}], "lon": \n{ID}\n')
    (folder / "2026-03-11.csv").write_text(f"{ID},{LAT},{LON}\n" * 9)
    return {"plugin": "points", "path": f"{folder}/{{date}}*", "date_zone": "Europe/Paris"}


def antennas(folder: Path) -> dict[str, Any]:
    (folder / "antennas.csv").write_text(f"antenna,lat,lon\n{ID},{LAT},{LON}\n{ID},{LAT},east\n")
    (folder / "2026-03-02.csv").write_text(f"person,time,antenna\n{ID},{ID},{ID}\n{ID},2026-03-02T08:00:00,{ID}\n")
    (folder / "2026-03-05.csv").write_text(f"person,{ID},antenna\n{ID},{LAT},{ID}\n")
    return {"plugin": "antennas", "path": f"{folder}/{{date}}.csv", "antennas": f"{folder}/antennas.csv"}


def logs(folder: Path) -> dict[str, Any]:
    (folder / f"{ID}-2026-03-02.gpx").write_text(f'<gpx><trkpt lat="{LAT}" lon="{LON}"><time>{ID}</time></trkpt></gpx>')
    (folder / f"{ID}-2026-03-05.gpx").write_text(f'<gpx><trkpt lat="{LAT}" lon="{LON}"><{ID}')
    return {"plugin": "logs", "path": f"{folder}/*-{{date}}.gpx"}


def sql(folder: Path) -> dict[str, Any]:
    with sqlite3.connect(folder / "canary.db") as connection:
        connection.execute("create table fixes (person, time, lat, lon)")
        rows = [(ID, ID, LAT, LON), (ID, "2026-03-02 08:00:00", LAT, LON), (ID, 7, f"{LAT} north", None)]
        connection.executemany("insert into fixes values (?, ?, ?, ?)", rows)
    connection.close()
    # On the later day the database fails on the id itself.
    query = "select case when :end > '2026-03-05' then json(person) else person end as person, time, lat, lon from fixes where :start < :end"
    return {"plugin": "sql", "query": query, "url_variable": "SECRET_DB_URL"}


def trips(folder: Path) -> dict[str, Any]:
    header = "person,start,end,o_lat,o_lon,d_lat,d_lon\n"
    (folder / "2026-03-02.csv").write_text(header + f"{ID},{ID},2026-03-02T08:00:00Z,{LAT},{LON},north,{LON}\n")
    (folder / "2026-03-05.csv").write_text(f"person,{ID}\n{ID},{LAT},{LON}\n")
    return {"plugin": "trips", "path": f"{folder}/{{date}}.csv"}


def od(folder: Path) -> dict[str, Any]:
    header = "time_bin,origin,destination,trips,person\n"
    (folder / "2026-03-02.csv").write_text(header + f"2026-03-02T08:00:00Z,{ID},{LAT},many,{ID}\n")
    (folder / "2026-03-05.csv").write_text(header + f'2026-03-02T08:00:00Z,{ID},{LAT},"1,{ID}\n' * 70_000)
    return {"plugin": "od", "path": f"{folder}/{{date}}.csv", "person": "person"}


def multimno(folder: Path) -> dict[str, Any]:
    (folder / "network.csv").write_text(f"cell_id,latitude,longitude\n{ID},{LAT},{LON}\n")
    for day in (2, 5):
        path = folder / f"segments/year=2026/month=3/day={day}/part.jsonl"
        path.parent.mkdir(parents=True)
        state = "stay" if day == 5 else ID
        path.write_text(
            f'{{"user_id": "{ID}", "start_timestamp": "2026-03-02T08:00:00", "end_timestamp": "{ID}",'
            f' "cells": ["{ID}"], "state": "{state}"}}\n'
        )
    return {"plugin": "multimno", "path": f"{folder}/segments", "network": f"{folder}/network.csv"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where everything goes: data, Dagster's storage, temporary files, and one log of all that libraries have to say."""
    root = tmp_path_factory.mktemp("canary")
    handler = logging.FileHandler(root / "everything.log")
    logger, level = logging.getLogger(), logging.getLogger().level
    with pytest.MonkeyPatch.context() as patch:
        places = {"ODANON_ROOT": "data", "ODANON_PRODUCTS": "pipelines", "DAGSTER_HOME": "dagster", "TMPDIR": "tmp"}
        for name, folder in places.items():
            (root / folder).mkdir()
            patch.setenv(name, str(root / folder))
        patch.setattr(tempfile, "tempdir", None)
        patch.setenv(KEY_VARIABLE, SECRET_KEY)
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        yield root
        logger.setLevel(level)
        logger.removeHandler(handler)
        handler.close()


def found_in(path: Path) -> list[str]:
    """Which needles a file holds; Parquet is unpacked first."""
    content = path.read_bytes()
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        content += table.to_pandas().to_csv().encode()
        content += b"".join(
            column.to_numpy().tobytes() for column in table.columns if pa.types.is_floating(column.type)
        )
    return [f"{path.name}: {needle!r}" for needle in NEEDLES if needle in content]


@pytest.mark.parametrize("make", [points, antennas, logs, sql, trips, od, multimno], ids=lambda make: make.__name__)
def test_no_canary_is_written_anywhere(
    make: Callable[[Path], dict[str, Any]],
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("SECRET_DB_URL", f"sqlite:///{tmp_path}/canary.db")
    product = small_product(root, product=make.__name__, source=make(tmp_path), checks={"max_quarantined": 0.5})
    # The days lie apart, since a day reads its neighbours.
    days = [date(2026, 3, day) for day in ((2, 5, 8, 11) if make is points else (2, 5))]
    errors = [result.error for result in run_days(product, days, resume=False)]
    if make is points:
        assert errors.pop(0) == ""
    assert all(re.search("of the input rows are bad|source|replace it|name the column", error) for error in errors)

    printed = "".join(capfd.readouterr()) + "".join(errors)
    found = [repr(needle) for needle in NEEDLES if needle in printed.encode()]
    files = [path for path in root.rglob("*") if path.is_file()]
    assert any("dagster" in path.parts and path.suffix == ".db" for path in files)
    assert (root / "everything.log").stat().st_size > 0
    states = {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in files}
    found += [needle for path in files if SEARCHED.get(path) != states[path] for needle in found_in(path)]
    SEARCHED.update(states)
    assert found == []
    assert not any(ID in str(path) for path in root.rglob("*"))


def test_a_planted_canary_is_found(tmp_path: Path) -> None:
    pd.DataFrame({"person": [ID], "lat": [LAT]}).to_parquet(tmp_path / "a.parquet", compression="zstd")
    (tmp_path / "b.log").write_text(f"could not convert {LON}")
    assert len(found_in(tmp_path / "a.parquet")) >= 3
    assert len(found_in(tmp_path / "b.log")) == 1
