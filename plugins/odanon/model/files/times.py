"""The bins of a release in time as Parquet: when each starts and ends, and what the local clock says then."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from odanon.model.window import Times

TIMES = "times.parquet"
_INSTANT = pa.timestamp("us", tz="UTC")


def write_times(times: Times, path: Path) -> None:
    """Write the bins; the tree over them follows."""
    table = {
        "start": pa.array(times.start, _INSTANT),
        "end": pa.array(times.end, _INSTANT),
        "clock": pa.array([each.replace(tzinfo=None) for each in times.clock], pa.timestamp("us")),
        "seconds": pa.array(times.seconds, pa.int64()),
    }
    pq.write_table(pa.table(table), path, compression="zstd")


def read_times(path: Path) -> Times:
    """The times that `write_times` wrote."""
    table = pd.read_parquet(path)
    columns = {name: [moment.to_pydatetime() for moment in table[name]] for name in ("start", "end", "clock")}
    bins = list(zip(columns["start"], columns["end"], strict=True))
    return Times.of(bins, columns["clock"], table["seconds"].tolist())
