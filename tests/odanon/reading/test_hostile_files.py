"""Files that mean harm are refused within the memory limit, in a sentence that shows nothing of them (PRIVACY rule 12)."""

import gzip
import hashlib
import json
import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shapely.geometry import box, mapping

from odanon.errors import OdanonError
from odanon.geo.layerfiles import read_area
from odanon.reading import batches as reading
from odanon.reading.frames import UNREADABLE
from odanon.reading.validate import Tally, validate
from odanon.traces.antennas import Antennas
from odanon.traces.logs import Logs
from odanon.traces.points import Points

START, END = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)
CANARY = "CANARY-0600000001"
HEADER = "person,time,lat,lon\n"
GOOD = f"{CANARY},2026-03-02T08:00:00Z,45.123456,4.654321\n"


def refusal(source) -> str:
    """The sentence a source is refused with; nothing of the file may be in it or in what caused it."""
    with pytest.raises(OdanonError) as caught:
        for _ in source.batches(START, END):
            pass
    sentence = str(caught.value)
    for secret in (CANARY, "45.12", "4.65"):
        assert secret not in sentence
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert sentence.isprintable()
    assert len(sentence) < 400
    return sentence


def points_table(rows: int, person: str = CANARY) -> pa.Table:
    times = pa.array([datetime(2026, 3, 2, 8, tzinfo=UTC)] * rows, pa.timestamp("us", "UTC"))
    return pa.table({"person": [person] * rows, "time": times, "lat": [45.123456] * rows, "lon": [4.654321] * rows})


def truncated_parquet(path: Path) -> None:
    pq.write_table(points_table(5000), path)
    path.write_bytes(path.read_bytes()[:-100])


def damaged_pages(path: Path) -> None:
    pq.write_table(points_table(5000), path, write_page_checksum=True)
    content = bytearray(path.read_bytes())
    content[40:60] = b"\xff" * 20
    path.write_bytes(content)


def too_many_rows(path: Path) -> None:
    """A few kilobytes that claim, and hold, millions of equal rows."""
    million = pa.table({"person": [CANARY] * 10**6, "time": [1] * 10**6, "lat": [1.0] * 10**6, "lon": [1.0] * 10**6})
    with pq.ParquetWriter(path, million.schema, compression="zstd", write_statistics=False) as writer:
        for _ in range(5):
            writer.write_table(million)


def fat_rows(path: Path, megabytes: int) -> None:
    """One row group of long texts that pack well, in one page."""
    fat = ["x" * (1 << 20) + str(i) for i in range(megabytes)]
    table = points_table(megabytes).set_column(0, "person", pa.array(fat))
    pq.write_table(
        table, path, compression="zstd", use_dictionary=False, write_statistics=False, data_page_size=1 << 30
    )


@pytest.mark.parametrize(
    ("name", "make", "says"),
    [
        ("a.parquet", truncated_parquet, "truncated, damaged"),
        ("b.parquet", lambda path: path.write_bytes(GOOD.encode()), "truncated, damaged"),
        ("c.parquet", damaged_pages, "truncated, damaged"),
        ("d.parquet", lambda path: pq.write_table(points_table(3).drop(["lat"]), path), "no column 'lat'"),
        ("e.parquet", lambda path: pq.write_table(points_table(1).set_column(2, "lat", pa.array([{"a": 1}])), path), "column 'lat' of a type"),
        ("f.parquet", too_many_rows, "unpacks to far more"),
        ("h.csv", lambda path: path.write_text("person,time,lat\n" + GOOD), "no column 'lon'"),
        ("i.csv.gz", lambda path: path.write_bytes(gzip.compress((HEADER + GOOD * 9999).encode())[:-60]), "truncated, damaged"),
        ("j.csv.zst", lambda path: path.write_bytes(pa.compress((HEADER + GOOD * 1_400_000).encode(), "zstd", asbytes=True)), "unpacks to far more"),
        ("k.csv", lambda path: path.write_text(HEADER + '"' + GOOD * 100_000), "row longer than a megabyte"),
        ("l.jsonl", lambda path: path.write_text("{" + '"person": "' + CANARY * 300_000), "row longer than a megabyte"),
        ("m.jsonl", lambda path: path.write_text('{"person": "p", "time": 3, "lat": 1}\n'), "no column 'lon'"),
        ("n.parquet", lambda path: pq.write_table(points_table(1).set_column(1, "time", pa.array([17])), path), "time_format: epoch_s"),
    ],
)  # fmt: skip
def test_a_hostile_file_is_refused_with_number_and_remedy(tmp_path: Path, name: str, make, says: str) -> None:
    make(tmp_path / name)
    sentence = refusal(Points(path=str(tmp_path)))
    assert sentence.startswith("file 1 of 1 (sha256 ")
    assert says in sentence


@pytest.mark.parametrize(
    ("megabytes", "says"), [(220, "row group that is too large"), (150, "within the memory limit")]
)
def test_the_reader_stays_within_its_memory(tmp_path: Path, monkeypatch, megabytes: int, says: str) -> None:
    monkeypatch.setattr(reading, "MEMORY_LIMIT", 420 << 20)
    fat_rows(tmp_path / "a.parquet", megabytes)
    assert says in refusal(Points(path=str(tmp_path)))


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")  # waits for ever to be written
    assert "cannot be opened" in refusal(Points(path=str(tmp_path)))
    assert list(Points(path=str(tmp_path / "absent.csv")).batches(START, END)) == []


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            f'<!DOCTYPE x [<!ENTITY a "{CANARY}">]><gpx><trkpt lat="45.123456" lon="4.654321">&a;</trkpt></gpx>',
            "unpacks",
        ),
        ('<gpx><trk><trkseg><trkpt lat="45.123456" lon="4.654321"><time>2026-03-02', "truncated"),
    ],
)
def test_hostile_logs_do_not_show_whose_they_are(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / f"{CANARY}.gpx").write_text(content)
    sentence = refusal(Logs(path=str(tmp_path)))
    assert says in sentence
    assert sentence.startswith("file 1 of 1 (sha256 ")
    assert CANARY not in sentence


@pytest.mark.parametrize("make", [lambda path: path.write_bytes(b"PAR1 no"), lambda path: os.mkfifo(path)])
def test_a_file_named_after_a_person_is_told_by_its_number_and_content(
    tmp_path: Path, make: Callable[[Path], Any]
) -> None:
    for name in ("Abel Adler", CANARY, "Zoe Zander"):
        (tmp_path / name).mkdir()
    pd.DataFrame({"person": ["a"], "time": [START], "lat": [45.0], "lon": [4.0]}).to_parquet(
        tmp_path / "Abel Adler" / "a.parquet"
    )
    bad = tmp_path / CANARY / f"{CANARY}.parquet"
    make(bad)
    (tmp_path / "Zoe Zander" / "a.parquet").write_bytes(b"")
    sentence = refusal(Points(path=str(tmp_path)))
    assert sentence.startswith("file 2 of 3")
    assert not any(part in sentence for part in (CANARY, str(tmp_path), "Zander", "Adler"))
    if bad.is_file():
        assert f"(sha256 {hashlib.sha256(bad.read_bytes()).hexdigest()[:12]})" in sentence


NAMES = [
    "o'neil; drop table x",
    'say "hi"',
    "a\x00b",
    "two\nlines",
    "\u202elegit",
    "x" * 10_000,
    "$(rm -rf /)",
    "é\u0301",
    "-",
    "../../etc",
]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_names_are_data_never_code(tmp_path: Path, suffix: str) -> None:
    rows = points_table(len(NAMES)).set_column(0, "person", pa.array(NAMES)).to_pandas()
    if suffix == "parquet":
        rows.to_parquet(tmp_path / "a.parquet")
    elif suffix == "csv":
        rows.to_csv(tmp_path / "a.csv", index=False)
    else:
        rows.to_json(tmp_path / "a.jsonl", orient="records", lines=True, date_format="iso")
    read = pd.concat(f.astype({"person": "str"}) for f in Points(path=str(tmp_path)).batches(START, END))
    assert list(read["person"]) == NAMES
    assert read["time"].notna().all()


def test_rows_that_cannot_be_parsed_are_all_counted_though_the_reader_is_ahead_of_what_it_gives(tmp_path: Path) -> None:
    """Two blocks; what was found in the second while the first was sent was forgotten more often than not."""
    rows = [f"zone{n % 7},zone{n % 5},person{n % 5000}" for n in range(400_000)]
    rows.insert(300_000, "one,field,too,many")
    (tmp_path / "od.csv").write_text("\n".join(["origin,destination,person", *rows]))
    columns = [reading.Column(name, name, "text") for name in ("origin", "destination", "person")]
    for _ in range(6):
        found = list(reading.read(reading.Job([str(tmp_path / "od.csv")], "file", columns)))
        assert (sum(batch.num_rows for batch in found), sum(batch[0].null_count for batch in found)) == (400_001, 1)


@pytest.mark.parametrize("packed", [False, True])
def test_rows_before_damage_are_given(tmp_path: Path, packed: bool) -> None:
    rows = [f"zone{n % 7},zone{n % 5},person{n % 5000}" for n in range(500_000)]
    whole, path = "\n".join(["origin,destination,person", *rows]).encode(), tmp_path / "od.csv"
    if packed:
        path = tmp_path / "od.csv.gz"
        path.write_bytes(gzip.compress(whole, 1)[:-1000])
    else:
        path.write_bytes(whole + b"\n" + b"y" * (9 << 20) + b",b,c\n")
    columns = [reading.Column(name, name, "text") for name in ("origin", "destination", "person")]
    found = list(reading.read_what_can_be(reading.Job([str(path)], "file", columns)))
    assert sum(batch.num_rows for batch in found) > (0 if packed else 100_000)
    assert UNREADABLE.encode() in (found[-1].schema.metadata or {})


def test_bad_rows_of_text_files_are_counted_and_the_others_kept(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(
        (HEADER + GOOD + "p,2026-03-02T08:00:00Z\n" + "p,2026-03-02T08:00:00Z,1,2,3\n" + ",,,\n").encode()
        + b"\xff\xfe,2026-03-02T08:00:00Z,45,4\nq,2026-02-31T08:00:00Z,45,4\nq,2026-03-02T08:00:00Z,1e999,abc\n"
    )
    (tmp_path / "b.jsonl").write_text(
        '{"person": "7", "time": "2026-03-02T08:00:00Z", "lat": 45, "lon": 4}\n'
        'not json\n[1]\n{"person": "p", "time": "2026-03-02T08:00:00Z", "lat": {}, "lon": 4}\n' + "[" * 100_000 + "\n"
    )
    tally = Tally()
    kept = [validate(batch, START, END, tally) for batch in Points(path=str(tmp_path)).batches(START, END)]
    assert tally.read == 7 + 5
    assert tally.kept == sum(map(len, kept)) == 3
    assert {name: count for name, count in tally.reasons.items() if count} == {
        "no_person": 6,
        "no_time": 1,
        "not_finite": 2,
    }


def days(folder: Path, *bad: str) -> Path:
    """Three days of two files each, the files named `bad` truncated."""
    for number, day in enumerate(("2026-03-01", "2026-03-02", "2026-03-03")):
        (folder / f"date={day}").mkdir(parents=True)
        for name in ("a", "b"):
            path = folder / f"date={day}" / f"{name}.parquet"
            table = points_table(10).append_column("antenna", pa.array(["north"] * 10))
            shifted = datetime(2026, 3, 1 + number, 8, tzinfo=UTC)
            table = table.set_column(1, "time", pa.array([shifted] * 10, pa.timestamp("us", "UTC")))
            pq.write_table(table, path)
            if f"{day}/{name}" in bad:
                path.write_bytes(path.read_bytes()[:-100])
    return folder


def around(source) -> tuple[int, int]:
    """(rows, unreadable files of neighbours) of the second day with a day around it."""
    frames = list(source.batches(START, END, timedelta(days=1)))
    return sum(map(len, frames)), sum(frame.attrs.get(UNREADABLE, 0) for frame in frames)


@pytest.mark.parametrize(
    ("bad", "rows", "counted"),
    [
        ((), 60, 0),
        (("2026-03-01/a",), 50, 1),
        (("2026-03-01/a", "2026-03-01/b", "2026-03-03/b"), 30, 3),
    ],
)
def test_a_bad_file_of_a_neighbouring_day_is_passed_over_and_counted(
    tmp_path: Path, bad: tuple[str, ...], rows: int, counted: int
) -> None:
    folder = str(days(tmp_path / "days", *bad))
    assert around(Points(path=folder)) == (rows, counted)
    pd.DataFrame({"antenna": ["north"], "lat": [45.0], "lon": [4.0]}).to_csv(tmp_path / "antennas.csv", index=False)
    assert around(Antennas(path=folder, antennas=str(tmp_path / "antennas.csv"))) == (rows, counted)


def test_a_bad_file_of_the_day_itself_stops_it(tmp_path: Path) -> None:
    source = Points(path=str(days(tmp_path, "2026-03-02/b")))
    with pytest.raises(OdanonError, match=r"file 2 of 2 \(sha256 [0-9a-f]{12}\) is truncated"):
        around(source)


def test_a_file_that_holds_an_hour_of_the_day_is_not_a_neighbour(tmp_path: Path) -> None:
    source = Points(path=str(days(tmp_path, "2026-03-01/a")))
    with pytest.raises(OdanonError, match=r"file 1 of \d \(sha256 [0-9a-f]{12}\) is truncated"):
        list(source.batches(START - timedelta(hours=1), END - timedelta(hours=1), timedelta(hours=6)))


def test_a_bad_log_of_the_day_before_is_passed_over(tmp_path: Path) -> None:
    good = '<gpx><trk><trkseg><trkpt lat="45.1" lon="4.6"><time>{}T08:00:00Z</time></trkpt></trkseg></trk></gpx>'
    for day, text in (("2026-03-01", good[:40]), ("2026-03-02", good.format("2026-03-02"))):
        (tmp_path / f"date={day}").mkdir()
        (tmp_path / f"date={day}" / "phone.gpx").write_text(text)
    frames = list(Logs(path=str(tmp_path)).batches(START, END))
    assert sum(map(len, frames)) == 1
    assert sum(frame.attrs.get(UNREADABLE, 0) for frame in frames) == 1


@pytest.mark.parametrize("column", ["person", "time", "lat"])
def test_a_column_that_a_parquet_file_does_not_have_is_named(tmp_path: Path, column: str) -> None:
    pq.write_table(points_table(5), tmp_path / "points.parquet")
    sentence = refusal(Points(path=str(tmp_path), **{column: "user_id"}))
    assert f"has no column 'user_id' (for {column}); name the column that holds it" in sentence


@pytest.mark.parametrize(
    "crs", [{"type": "link", "properties": {"href": ""}}, {"type": "url", "properties": {"url": ""}}]
)
def test_a_layer_that_names_an_address_makes_no_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crs: dict[str, Any]
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        told = {**crs, "properties": dict.fromkeys(crs["properties"], place)}
        drawn = {"type": "Feature", "properties": {}, "geometry": mapping(box(0, 0, 1, 1))}
        path = tmp_path / "area.geojson"
        path.write_text(json.dumps({"type": "FeatureCollection", "crs": told, "features": [drawn]}))
        assert read_area(path).bounds == (0, 0, 1, 1)
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
