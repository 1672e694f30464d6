"""Columns from the reading child as frames of a source."""

from collections.abc import Iterator

import pandas as pd
import pyarrow as pa


def placed_and_not(batch: pa.RecordBatch, times: list[str]) -> Iterator[pd.DataFrame]:
    """The rows whose times are instants, then those with a wall-clock time that no zone places.

    The second frame has times without a zone, which validation counts as `no_time_zone`.
    """
    frame = batch.to_pandas()
    marks = [f"{name}_unzoned" for name in times]
    unplaced = frame[marks].any(axis="columns").to_numpy(bool)
    frame = frame.drop(columns=marks)
    if not unplaced.any():
        yield frame
        return
    if not unplaced.all():
        yield frame[~unplaced].reset_index(drop=True)
    wall = frame[unplaced].reset_index(drop=True)
    yield wall.assign(**{name: wall[name].dt.tz_localize(None) for name in times})
