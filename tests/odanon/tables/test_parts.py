"""Large tables are read in parts, and whatever a file says of itself is not believed before its rows are there."""

import struct
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from odanon.errors import OdanonError
from odanon.tables.columns import _Growing
from odanon.tables.look import look
from odanon.tables.read import TableInput

ROWS = [f"a{n % 3},b{n % 5}" for n in range(40)]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odanon.tables.look._PART_BYTES", 60)
    monkeypatch.setattr("odanon.tables.columns.os.cpu_count", lambda: 3)


def rows_of(path: Path) -> list[str]:
    table = TableInput(path=path, count="1").rows()
    return [",".join(row) for row in zip(table["origin"], table["destination"], strict=True)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_a_part_may_have_no_row(tmp_path: Path, end: str, first: bool) -> None:
    parts = ["origin,destination", *[""] * 400 * first, *ROWS, *[""] * 400 * (not first)]
    (tmp_path / "od.csv").write_bytes(end.join([*parts, ""]).encode())
    assert len(look(tmp_path / "od.csv").parts(3)) == 3
    assert rows_of(tmp_path / "od.csv") == ROWS


@pytest.mark.parametrize("most", [2, 4, 8])
def test_parts_are_of_about_equal_size(tmp_path: Path, most: int) -> None:
    (tmp_path / "od.csv").write_text("\n".join(["origin,destination", *ROWS, ""]))
    sizes = [end - start for start, end in look(tmp_path / "od.csv").parts(most)]
    assert len(sizes) == min(most, sum(sizes) // 60) > 1
    assert max(sizes) - min(sizes) < 20  # a line has six bytes, the first one nineteen


def test_lines_that_end_as_on_old_macintoshes_are_read_in_one_part(tmp_path: Path) -> None:
    (tmp_path / "od.csv").write_bytes("\r".join(["origin,destination", *ROWS, ""]).encode())
    assert rows_of(tmp_path / "od.csv") == ROWS
    (tmp_path / "od.csv").write_bytes("\r".join(["origin,destination", *ROWS, "\n"]).encode())
    with pytest.raises(OdanonError, match=r"damaged or not of the format"):  # which no reader knows
        rows_of(tmp_path / "od.csv")


def lying(path: Path, claimed: int) -> Path:
    """A table of 300 rows whose footer claims other ones."""
    pd.DataFrame({"origin": ["a"] * 300, "destination": ["b"] * 300}).to_parquet(path)
    content = path.read_bytes()
    (length,) = struct.unpack("<I", content[-8:-4])
    footer = content[-8 - length : -8]
    said, more = b"", 2 * claimed if claimed >= 0 else -2 * claimed - 1
    while more > 127:
        said, more = said + bytes([more & 127 | 128]), more >> 7
    told = footer.replace(b"\x16\xd8\x04", b"\x16" + said + bytes([more]), 1)  # 300 as the footer writes it
    assert told != footer
    path.write_bytes(content[: -8 - length] + told + struct.pack("<I", len(told)) + b"PAR1")
    return path


@pytest.mark.parametrize("claimed", [10**12, 2**60, 2**62])
def test_a_footer_that_claims_many_rows_takes_no_memory(tmp_path: Path, claimed: int) -> None:
    path = lying(tmp_path / "od.parquet", claimed)
    with pytest.raises(OdanonError, match="unpacks to far more than its size can honestly hold"):
        TableInput(path=path, count="1").rows()


@pytest.mark.parametrize("claimed", [-300, 1, 299])
def test_rows_are_counted_whatever_a_footer_claims(tmp_path: Path, claimed: int) -> None:
    assert len(TableInput(path=lying(tmp_path / "od.parquet", claimed), count="1").rows()) == 300


@pytest.mark.parametrize("text", ["Nan", "NAN", "inf", "-Infinity"])
def test_numbers_that_are_none_are_missing_whatever_their_spelling(tmp_path: Path, text: str) -> None:
    path = tmp_path / "od.csv"
    path.write_text(f"a,b,c,d,user\n{text},{text},46.1,7.1,1\n46.2,7.2,46.1,7.1,2\n")
    assert look(path).numbers("a") == [46.2]
    ends = {"origin": "a,b", "destination": "c,d", "person": "user"}
    with pytest.raises(OdanonError, match=r"1 of 2 rows have no usable value \(a,b: 1\)"):
        TableInput(path=path, **ends).rows()
    assert len(TableInput(path=path, **ends, drop_missing=True).rows()) == 1


def test_rows_stay_in_their_order_behind_those_that_nobody_expected() -> None:
    """A short batch would still fit before the rows that went beyond the room of their part."""
    growing = _Growing(pa.int64(), 1, 2)
    for batch in ([1], [2, 3], [4]):
        growing.add(0, pa.array(batch))
    assert growing.series().tolist() == [1, 2, 3, 4]
