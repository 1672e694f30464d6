"""Points of a partition in buckets of people, so that memory is bounded by a bucket (ARCHITECTURE, Scale)."""

from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from odanon.staypoints.frame import sort_points

POINTS = pa.schema(
    [("person", pa.int64()), ("time", pa.timestamp("us", "UTC")), ("lat", pa.float64()), ("lon", pa.float64())]
)


class BucketWriter:
    """Appends batches of pseudonymised points to one uncompressed stream per bucket of people."""

    def __init__(self, folder: Path, buckets: int) -> None:
        self._paths = [folder / f"bucket-{number:03d}.arrows" for number in range(buckets)]
        self._writers = [pa.ipc.new_stream(str(path), POINTS) for path in self._paths]

    def __enter__(self) -> "BucketWriter":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for writer in self._writers:
            writer.close()

    @property
    def paths(self) -> list[Path]:
        return self._paths

    def write(self, points: pd.DataFrame) -> None:
        """Add points whose `person` is a pseudonym."""
        bucket = points["person"].to_numpy() % len(self._writers)
        for number in np.unique(bucket):
            part = points[bucket == number]
            self._writers[number].write_table(pa.Table.from_pandas(part, POINTS, preserve_index=False))


def finish_bucket(stream: Path, target: Path) -> tuple[int, int]:
    """Sort a bucket's stream by person and time, drop repeated rows and write it as Parquet.

    Returns the number of repeated rows and of people. Sorting makes the file independent of reading order.
    """
    with pa.OSFile(str(stream), "rb") as source:
        points = sort_points(pa.ipc.open_stream(source).read_pandas())
    repeated = repeats_previous(points)
    points = points[~repeated]
    pq.write_table(pa.Table.from_pandas(points, POINTS, preserve_index=False), target, compression="zstd")
    return int(repeated.sum()), int(points["person"].nunique())


def repeats_previous(points: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Which rows equal the row before them in every column."""
    repeated = np.zeros(len(points), dtype=bool)
    values = [points["time"].to_numpy("datetime64[us]"), *(points[c].to_numpy() for c in ("person", "lat", "lon"))]
    if len(points):
        repeated[1:] = np.all([column[1:] == column[:-1] for column in values], axis=0)
    return repeated
