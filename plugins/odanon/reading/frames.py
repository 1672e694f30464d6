"""Columns from the reading child as frames of a source."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa

UNREADABLE = "unreadable_neighbours"  # key of a frame's `attrs`: files of neighbouring days that could not be read
NUMBERED = "numbered_ids"  # another: the reading child found that the ids were numbers
_MARKS = ("_unzoned", "_number")


def unreadable_in(batch: pa.RecordBatch) -> int:
    """How many files of neighbouring days a batch from the reading child stands for."""
    return int((batch.schema.metadata or {}).get(UNREADABLE.encode(), 0))


def numbered_in(batch: pa.RecordBatch) -> bool:
    """Whether the persons of a batch from the reading child were numbers."""
    return "person_number" in batch.schema.names and batch.column("person_number").true_count > 0


def placed_and_not(batch: pa.RecordBatch, times: list[str]) -> Iterator[pd.DataFrame]:
    """The rows whose times are instants, then those with a wall-clock time that no zone places.

    The second frame has times without a zone, which validation counts as `no_time_zone`.
    """
    marks = [batch.column(f"{name}_unzoned") for name in times]
    frame = batch.select([name for name in batch.schema.names if not name.endswith(_MARKS)])
    frame = frame.to_pandas(split_blocks=True)
    frame.attrs[NUMBERED] = numbered_in(batch)
    if lost := unreadable_in(batch):
        frame.attrs[UNREADABLE] = lost
    if not any(mark.true_count for mark in marks):
        yield frame
        return
    unplaced = np.any([mark.to_numpy(zero_copy_only=False) for mark in marks], axis=0)
    if not unplaced.all():
        yield frame[~unplaced].reset_index(drop=True)
    wall = frame[unplaced].reset_index(drop=True)
    yield wall.assign(**{name: wall[name].dt.tz_localize(None) for name in times})
