"""Points on their way into buckets of people: dealt batch by batch, then collected person by person.

A bucket holds whole people (`person % buckets`), so memory is bounded by a bucket (docs/spark.md), and its
file depends neither on the order of reading nor on the engine.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from odanon.errors import OdanonError
from odanon.reading.plausible import implausible

POINTS = pa.schema(
    [("person", pa.int64()), ("time", pa.timestamp("us", "UTC")), ("lat", pa.float64()), ("lon", pa.float64())]
)
EVENTS = POINTS.append(pa.field("antenna", pa.int32()))
# On a simulated day: less than half the CPU of zstd with dictionaries to write, files a tenth larger.
_ENCODING = {"time": "DELTA_BINARY_PACKED", "lat": "BYTE_STREAM_SPLIT", "lon": "BYTE_STREAM_SPLIT"}


@dataclass(frozen=True)
class Collected:
    """What became of a bucket: people and points kept, rows that repeat another, rows quarantined by reason."""

    people: int
    kept: int
    repeated: int
    swapped: int
    teleport: int


def bucket_name(number: int) -> str:
    """File name of a bucket; sorting by name sorts by number."""
    return f"bucket-{number:03d}.parquet"


def deal_points(points: pd.DataFrame, buckets: int) -> list[tuple[int, pa.RecordBatch]]:
    """(bucket, its points) of one batch whose `person` is a pseudonym; `antenna` comes along where there is one."""
    from odanon.engines.kernels import deal

    columns = {
        "person": points["person"].to_numpy(np.int64),
        "time": points["time"].to_numpy("datetime64[us]").view(np.int64),
        "lat": points["lat"].to_numpy(np.float64),
        "lon": points["lon"].to_numpy(np.float64),
    }
    if "antenna" in points:
        if not pd.api.types.is_integer_dtype(points["antenna"].dtype):
            raise OdanonError("the source gives antennas that are not numbers; use the source antennas for their names")
        columns["antenna"] = points["antenna"].to_numpy(np.int32)
    rows, start = deal(columns["person"], buckets)
    whole = _arrow({name: column[rows] for name, column in columns.items()})
    return [(b, whole.slice(start[b], start[b + 1] - start[b])) for b in range(buckets) if start[b] < start[b + 1]]


def collect_bucket(points: pa.Table, target: Path) -> Collected:
    """Sort a bucket by person and time, drop repeated and implausible rows (PRIVACY rule 11), write it as Parquet."""
    from odanon.engines.kernels import collect, runs_of

    columns = {name: _numpy(points.column(name)) for name in points.column_names}
    person, time, lat, lon = (columns[name] for name in POINTS.names)
    runs = runs_of(person)
    order = np.argsort(person[runs[:-1]], kind="stable")
    antenna = columns.get("antenna", np.zeros(len(person), np.int32))
    rows, starts = collect(runs, order, person, time, lat, lon, antenna)
    columns = {name: column[rows] for name, column in columns.items()}
    swapped, teleport = implausible(starts, *(columns[name] for name in ("time", "lat", "lon")))
    bad = swapped | teleport
    if bad.any():
        columns = {name: column[~bad] for name, column in columns.items()}
    table = pa.Table.from_batches([_arrow(columns)])
    pq.write_table(table, target, compression="lz4", use_dictionary=["person", "antenna"], column_encoding=_ENCODING)
    return Collected(
        people=len(runs_of(columns["person"])) - 1,
        kept=len(table),
        repeated=len(points) - len(rows),
        swapped=int(swapped.sum()),
        teleport=int(teleport.sum()),
    )


def _arrow(columns: dict[str, npt.NDArray]) -> pa.RecordBatch:
    """A batch over the memory of NumPy columns."""
    schema = EVENTS if "antenna" in columns else POINTS
    arrays = [
        pa.Array.from_buffers(field.type, len(columns[field.name]), [None, pa.py_buffer(columns[field.name])])
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _numpy(column: pa.ChunkedArray) -> npt.NDArray:
    flat = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return (flat.view(pa.int64()) if pa.types.is_timestamp(flat.type) else flat).to_numpy()
