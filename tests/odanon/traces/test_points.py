"""GPS points from files: formats, column names, times, and which files a day needs."""

import bz2
import gzip
import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from odanon.reading.child.columns import Converter
from odanon.reading.files import Files, days_of, shown
from odanon.reading.validate import Tally, validate
from odanon.traces.points import Points

START, END = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)
ROWS = pd.DataFrame(
    {
        "person": ["ann", "bob", "ann"],
        "time": pd.to_datetime(["2026-03-02T08:00:00Z", "2026-03-02T09:30:00Z", "2026-03-02T10:00:00Z"]).as_unit("us"),
        "lat": [45.75, 45.8, 45.9],
        "lon": [4.85, 4.8, -4.9],
    }
)


def read(source: Points, start: datetime = START, end: datetime = END) -> pd.DataFrame:
    """All rows; times without a zone stay so."""
    frames = list(source.batches(start, end))
    return pd.concat([f.astype({"person": "str"}) for f in frames], ignore_index=True)


def as_json_lines(rows: pd.DataFrame) -> bytes:
    lines = [json.dumps({**row, "time": row["time"].isoformat()}) for row in rows.to_dict("records")]
    return "\n".join(lines).encode() + b"\n"


def as_csv(rows: pd.DataFrame) -> bytes:
    return rows.assign(time=[t.isoformat() for t in rows["time"]]).to_csv(index=False).encode()


@pytest.mark.parametrize(
    ("name", "encode"),
    [
        ("points.csv", as_csv),
        ("points.csv.gz", lambda rows: gzip.compress(as_csv(rows))),
        ("points.CSV.bz2", lambda rows: bz2.compress(as_csv(rows))),
        ("points.csv.zst", lambda rows: pa.compress(as_csv(rows), "zstd", asbytes=True)),
        ("points.jsonl", as_json_lines),
        ("points.ndjson.gz", lambda rows: gzip.compress(as_json_lines(rows))),
        ("points.parquet", lambda rows: rows.to_parquet()),
    ],
)
def test_every_format_gives_the_same_rows(tmp_path: Path, name: str, encode) -> None:
    (tmp_path / name).write_bytes(encode(ROWS))
    pd.testing.assert_frame_equal(read(Points(path=str(tmp_path))), ROWS, check_dtype=False)


@pytest.mark.parametrize("path", ["{}/points.parquet", "{}/*.parquet", "local://{}"])
def test_a_path_is_a_file_a_glob_or_a_url(tmp_path: Path, path: str) -> None:
    ROWS.to_parquet(tmp_path / "points.parquet")
    assert len(read(Points(path=path.format(tmp_path)))) == 3


def test_columns_are_mapped_and_ids_may_be_numbers(tmp_path: Path) -> None:
    pq.write_table(
        pa.table(
            {"uid": [7, 8], "ts": [1772438400, 1772438401], "y": [45.0, 46.0], "x": ["4.0", "oops"], "other": [1, 2]}
        ),
        tmp_path / "a.parquet",
    )
    source = Points(path=str(tmp_path), person="uid", time="ts", lat="y", lon="x", time_format="epoch_s")
    rows = read(source)
    assert list(rows["person"]) == ["7", "8"]
    assert list(rows["time"]) == [pd.Timestamp("2026-03-02T08:00:00Z"), pd.Timestamp("2026-03-02T08:00:01Z")]
    assert rows["lon"][0] == 4.0
    assert np.isnan(rows["lon"][1])


@pytest.mark.parametrize(
    ("time_format", "written"),
    [
        ("epoch_s", "1772438400.25"),
        ("epoch_ms", "1772438400250"),
        ("epoch_us", "1772438400250000"),
        ("auto", "2026-03-02T09:00:00.250+01:00"),
        ("auto", "2026-03-02 08:00:00.25Z"),
    ],
)
def test_time_formats(tmp_path: Path, time_format: str, written: str) -> None:
    (tmp_path / "a.csv").write_text(f"person,time,lat,lon\np,{written},45,4\n")
    assert read(Points(path=str(tmp_path), time_format=time_format))["time"][0] == pd.Timestamp(
        "2026-03-02T08:00:00.25Z"
    )


def test_a_pattern_and_a_delimiter(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("person;time;lat;lon\np;02/03/2026 09:00:00;45;4\np;32/03/2026 09:00:00;45;4\n")
    rows = read(Points(path=str(tmp_path), time_format="%d/%m/%Y %H:%M:%S", delimiter=";", timezone="Europe/Paris"))
    assert rows["time"][0] == pd.Timestamp("2026-03-02T08:00:00Z")
    assert rows["time"].isna().tolist() == [False, True]


@pytest.mark.parametrize("wrong", [{"time_format": "%d %z"}, {"time_format": "seconds"}, {"timezone": "Mars"}, {}])
def test_wrong_parameters_are_refused(wrong: dict) -> None:
    with pytest.raises(ValidationError):
        Points(**({"path": "x", **wrong} if wrong else {}))


def test_times_without_a_zone_are_quarantined_unless_a_zone_is_declared(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "person,time,lat,lon\np,2026-03-02T09:00:00,45,4\np,2026-03-02T09:00:00Z,45,4\np,whenever,45,4\n"
    )
    tally = Tally()
    kept = [validate(batch, START, END, tally) for batch in Points(path=str(tmp_path)).batches(START, END)]
    assert (tally.read, tally.reasons["no_time_zone"], tally.reasons["no_time"], tally.kept) == (3, 1, 1, 1)
    assert sum(map(len, kept)) == 1
    declared = read(Points(path=str(tmp_path), timezone="Europe/Paris"))
    assert declared["time"][0] == pd.Timestamp("2026-03-02T08:00:00Z")


def test_hours_that_a_clock_shows_twice_or_never_are_not_guessed(tmp_path: Path) -> None:
    stamps = ["2026-10-25T01:30:00", "2026-10-25T02:30:00", "2026-10-25T03:30:00", "2026-03-29T02:30:00"]
    (tmp_path / "a.csv").write_text("person,time,lat,lon\n" + "".join(f"p,{stamp},45,4\n" for stamp in stamps))
    frames = list(Points(path=str(tmp_path), timezone="Europe/Paris").batches(START, END))
    assert [frame["time"].dt.tz is None for frame in frames] == [False, True]
    assert list(frames[0]["time"]) == [pd.Timestamp("2026-10-24T23:30:00Z"), pd.Timestamp("2026-10-25T02:30:00Z")]
    assert len(frames[1]) == 2


@given(st.lists(st.datetimes(datetime(2026, 3, 28), datetime(2026, 10, 26)), min_size=1, max_size=50))
def test_wall_clock_times_are_placed_as_zoneinfo_places_them(walls: list[datetime]) -> None:
    zone = ZoneInfo("Europe/Paris")
    column = {"name": "time", "source": "t", "kind": "time"}
    raw = pa.RecordBatch.from_arrays([pa.array(walls, pa.timestamp("us"))], ["t"])
    placed = Converter([column], "Europe/Paris", "auto").convert(raw, 0, None)
    for wall, time, unzoned in zip(walls, *(placed[i].to_pylist() for i in (0, 1)), strict=True):
        early, late = (wall.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
        assert unzoned == (early.utcoffset() != late.utcoffset())
        assert unzoned or time == early


def dated_tree(folder: Path, pattern: str, days: int = 5) -> None:
    for n in range(days):
        day = date(2026, 3, 1) + timedelta(days=n)
        path = folder / pattern.format(d=day)
        path.parent.mkdir(parents=True, exist_ok=True)
        ROWS.assign(person=day.isoformat()).to_parquet(path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("date={d}/part.parquet", ""),
        ("dt={d:%Y-%m-%d}/bucket=1/part.parquet", ""),
        ("year={d.year}/month={d.month}/day={d.day}/part.parquet", ""),
        ("{d:%Y%m%d}.parquet", "/{date:%Y%m%d}.parquet"),
        ("in/{d}/x.parquet", "/in/{date}/*.parquet"),
    ],
)
def test_a_day_reads_only_its_files_and_is_known_from_names(tmp_path: Path, pattern: str, path: str) -> None:
    dated_tree(tmp_path, pattern)
    source = Points(path=str(tmp_path) + path)
    assert set(read(source)["person"]) == {"2026-03-02"}
    assert [source.available(date(2026, 3, day)) for day in (1, 5, 6)] == [True, True, False]
    for file in tmp_path.rglob("*.parquet"):
        file.write_bytes(b"")  # availability never looks inside
    assert source.available(date(2026, 3, 2))


def test_the_dates_of_paths_are_days_of_their_own_zone(tmp_path: Path) -> None:
    dated_tree(tmp_path, "date={d}/part.parquet")
    tokyo = Points(path=str(tmp_path), date_zone="Asia/Tokyo")
    assert set(read(tokyo)["person"]) == {"2026-03-02", "2026-03-03"}
    assert days_of(START, END, "America/Santiago") == [date(2026, 3, 1), date(2026, 3, 2)]


def test_hidden_files_and_other_files_are_left_alone(tmp_path: Path) -> None:
    for name in ("_SUCCESS", ".part.parquet", "_temporary/x.parquet", "notes.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    assert not Points(path=str(tmp_path)).available(date(2026, 3, 2))
    assert list(Points(path=str(tmp_path)).batches(START, END)) == []


def test_paths_are_taken_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "a::b [1] $(x) 'q\";\n\u202ez"
    folder.mkdir()
    ROWS.to_parquet(folder / "p.parquet")
    assert len(read(Points(path=str(folder)))) == 3
    assert Files(str(folder / "absent*.parquet"), (".parquet",)).on([]) == []


def test_a_shown_path_is_one_short_line() -> None:
    text = shown("/data/\u202eevil\n\x00" + "x" * 10_000 + "/end.csv")
    assert len(text) < 200
    assert text.isprintable()
    assert text.startswith("/data/\\u202eevil\\n\\x00")
    assert text.endswith("/end.csv")
