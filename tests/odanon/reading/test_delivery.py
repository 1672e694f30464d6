"""What was delivered of a day: told from listings, by folder, with what senders put beside the files."""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import fsspec
import pytest

from odanon.reading.delivery import DeliveredFile, Delivery
from odanon.reading.files import Files

DAY = date(2026, 3, 2)
SUFFIXES = (".csv",)


def put(path: Path, content: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


@pytest.mark.parametrize(
    ("path", "file", "name", "beside", "shared"),
    [
        ("in/date={date}", "in/date=2026-03-02/a.csv", "a.csv", "in/date=2026-03-02", False),
        ("in/date={date}", "in/date=2026-03-02/part=1/a.csv", "part=1/a.csv", "in/date=2026-03-02", False),
        ("in", "in/year=2026/month=3/day=2/part=1/a.csv", "part=1/a.csv", "in/year=2026/month=3/day=2", False),
        ("in/{date:%Y%m%d}/**/*.csv", "in/20260302/part=1/a.csv", "part=1/a.csv", "in/20260302", False),
        ("in/points-{date}.csv", "in/points-2026-03-02.csv", "points-2026-03-02.csv", "in", True),
        ("in/{date:%Y-%m}/{date:%d}.csv", "in/2026-03/02.csv", "02.csv", "in/2026-03", True),
        ("in/{date}-*.csv", "in/2026-03-02-1.csv", "2026-03-02-1.csv", "in", True),
        ("in", "in/everything.csv", "everything.csv", "in", False),
    ],
)
def test_notes_lie_in_the_folder_of_a_day(
    tmp_path: Path, path: str, file: str, name: str, beside: str, shared: bool
) -> None:
    put(tmp_path / file, "12345")
    put(tmp_path / "in" / "date=2026-03-03" / "a.csv")
    put(tmp_path / beside / "_SUCCESS", "done")
    found = [each for each in Files(f"{tmp_path}/{path}", SUFFIXES).delivered(DAY) if each.files]
    (delivery,) = found
    assert [(each.name, each.size) for each in delivery.files] == [(name, 5)]
    assert delivery.files[0].changed > datetime.now(UTC) - timedelta(hours=1)
    assert delivery.note("_SUCCESS") == b"done"
    assert delivery.note("manifest.json") is None
    assert delivery.shared is shared


def test_object_stores_tell_times_their_own_way() -> None:
    store = fsspec.filesystem("memory")
    store.pipe("/box/date=2026-03-02/a.csv", b"123")
    (delivery,) = Files("memory://box/date={date}", SUFFIXES).delivered(DAY)
    assert delivery.size == 3
    store.rm("/box", recursive=True)


@pytest.mark.parametrize(
    ("listed", "unlike"),
    [
        ({"a.csv": 3, "b.csv": 4}, ""),
        ({"a.csv": 3, "b.csv": 4, "c.csv": 5, "d.csv": 1}, "has 2 of its files missing"),
        ({"a.csv": 9, "b.csv": 4}, "has 1 of another size"),
        ({"a.csv": 3}, "has 1 not listed"),
        ({"a.csv": 9, "c.csv": 1}, "has 1 of its files missing, 1 of another size, 1 not listed"),
    ],
)
def test_a_manifest_is_held_against_the_files(listed: dict[str, int], unlike: str) -> None:
    delivery = Delivery((DeliveredFile("a.csv", 3), DeliveredFile("b.csv", 4)), lambda name: None)
    text = json.dumps({"files": [{"name": name, "size": size} for name, size in listed.items()]})
    assert delivery.unlike_manifest(text.encode()) == unlike


@pytest.mark.parametrize("text", [b"", b"[]", b"\xff", b'{"files": 1}', b'{"files": [{"name": "a"}]}', b"[" * 100_000])
def test_a_manifest_that_is_none_is_told_as_such(text: bytes) -> None:
    assert Delivery((), lambda name: None).unlike_manifest(text).startswith("cannot be read")
