"""Short batches of a file are put together, and no row that was lost on the way is forgotten."""

import pyarrow as pa

from odanon.reading.child.formats import _gathered


def test_lost_rows_of_batches_that_go_together_add_up() -> None:
    batches = [(pa.record_batch({"a": [number]}), lost) for number, lost in ((1, 2), (2, 0), (3, 3))]
    ((together, lost),) = _gathered(iter(batches))
    assert (together.column("a").to_pylist(), lost) == ([1, 2, 3], 5)
