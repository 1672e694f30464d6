"""Short batches of a file are put together, and no row that was lost on the way is forgotten."""

import gzip
import io
import time
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

from odanon.reading.child.dialect import Dialect
from odanon.reading.child.formats import _gathered, raw_batches
from odanon.reading.child.unpack import WholeLines


def test_lost_rows_of_batches_that_go_together_add_up() -> None:
    batches = [(pa.record_batch({"a": [number]}), lost) for number, lost in ((1, 2), (2, 0), (3, 3))]
    ((together, lost),) = _gathered(iter(batches))
    assert (together.column("a").to_pylist(), lost) == ([1, 2, 3], 5)


def test_a_reader_that_is_ahead_gives_all_rows_before_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has met the end of a file that was cut off before the first rows are asked for, and would drop what it has read."""
    rows = [f"zone{n % 7},zone{n % 5},person{n % 5000}" for n in range(500_000)]
    packed = gzip.compress("\n".join(["o,d,person", *rows]).encode(), 1)[:-1000]
    opened = pyarrow.csv.open_csv

    def slow(*given: Any, **options: Any) -> Any:
        reader = opened(*given, **options)
        time.sleep(0.3)
        return reader

    monkeypatch.setattr(pyarrow.csv, "open_csv", slow)
    columns = [{"name": name, "source": name, "kind": "text"} for name in ("o", "d", "person")]
    given, found = raw_batches(io.BytesIO(packed), len(packed), "od.csv.gz", columns, Dialect(), "auto"), list[str]()
    with pytest.raises(OSError, match="Truncated"):
        found.extend(",".join(row) for batch, _ in given for row in zip(*map(_texts, batch.columns), strict=True))
    assert len(found) > 300_000
    assert found == rows[: len(found)]


def _texts(column: pa.Array) -> list[str]:
    return column.cast(pa.string()).to_pylist()


@pytest.mark.parametrize("size", [4, 7, 64])
def test_lines_are_whole_whatever_is_asked_for(size: int) -> None:
    text = b"ab,c\n" * 9 + b"a longer line than is asked for\nthe last"
    lines, found = WholeLines(io.BytesIO(text)), []
    while block := lines.read(size):
        found.append(block)
    assert b"".join(found) == text
    assert max(map(len, found)) <= size
