"""The Spark engine: the same kernels on the executors of a cluster, one call per whole partition.

Executors run this package and see the data root under the same path as the driver (docs/spark.md).
"""

import os
import pickle
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from odanon.engines.points import EVENTS, POINTS, Collected, bucket_name, collect_bucket, deal_points
from odanon.errors import OdanonError
from odanon.extras import needed_by
from odanon.plugin import parameter, plugin

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Times travel as integers, so that no session time zone can touch them. `note` is empty except on the rows that carry
# what a batch counted.
_DEALT = "bucket int, person bigint, time bigint, lat double, lon double, antenna int, note binary"
_COLLECTED = "bucket int, antennas boolean, note binary, notes array<binary>"
_SCHEMA = pa.schema(
    [
        ("bucket", pa.int32()),
        ("person", pa.int64()),
        ("time", pa.int64()),
        ("lat", pa.float64()),
        ("lon", pa.float64()),
        ("antenna", pa.int32()),
        ("note", pa.binary()),
    ]
)


@plugin
class Spark:
    """Apache Spark: the day's people spread over executors, with the same result as on one machine."""

    buckets: int = parameter(64, "parts of a day's people; more parts need less memory each", ge=1, le=1000)
    master: str = parameter("local[*]", "where Spark runs, such as local[2], spark://host:7077, yarn or k8s://...")
    conf: dict[str, str] = parameter({}, "Spark settings, such as spark.executor.memory: 4g")

    def map(self, task: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Results of `task` for every item, in the order of the items, each item on some executor."""
        work = list(items)
        if work:
            context = self._session().sparkContext
            yield from _run(context.parallelize(work, len(work)).map(_scrubbed(task)).collect)

    def shuffle(
        self, parts: list[Any], read: Callable[[Any], Iterable[Any]], prepare: Callable[[Any], Any], folder: Path
    ) -> tuple[list[Any], list[Collected]]:
        """Bring each person's points together: one sorted Parquet file per bucket in `folder`.

        `read` gives the batches of a part and runs on an executor, so original ids never leave it; `prepare` turns a
        batch into points and its tally. Spark's own shuffle carries the points to the partition of their bucket.
        """
        buckets = self.buckets

        def deal(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for number in (value for batch in numbers for value in batch.column(0).to_pylist()):
                for batch in read(parts[number]):
                    points, tally = prepare(batch)
                    yield _note(pickle.dumps(tally))
                    for bucket, dealt in deal_points(points, buckets):
                        yield _with_bucket(bucket, dealt)

        def collect(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext

            table = pa.Table.from_batches(batches, _SCHEMA)
            bucket = TaskContext.get().partitionId()  # type: ignore[union-attr]
            points = table.filter(table["note"].is_null())
            antennas = len(points) > points["antenna"].null_count
            columns = EVENTS.names if antennas else POINTS.names
            done = collect_bucket(points.select(columns), folder / bucket_name(bucket))
            yield _collected(bucket, antennas, done, table["note"].drop_null().to_pylist())

        session = self._session()
        numbers = session.range(0, len(parts), 1, len(parts))
        dealt = numbers.mapInArrow(_scrubbed_stream(deal), _DEALT)
        collected = dealt.repartitionById(buckets, "bucket").mapInArrow(_scrubbed_stream(collect), _COLLECTED)
        rows = _run(collected.collect)
        if any(row["antennas"] for row in rows):
            for row in rows:
                if not row["antennas"]:  # an empty bucket cannot know that the others hold events
                    collect_bucket(EVENTS.empty_table(), folder / bucket_name(row["bucket"]))
        tallies = [pickle.loads(note) for row in rows for note in row["notes"]]
        return tallies, [pickle.loads(row["note"]) for row in rows]

    def _session(self) -> "SparkSession":
        """The session of this process, started when first asked for."""
        with needed_by("the engine spark"):
            from pyspark.sql import SparkSession
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        settings = {
            "spark.ui.enabled": "false",  # it has no login
            "spark.io.encryption.enabled": "true",  # a killed executor leaves its part of the shuffle, the key dies with it
            "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
            **({"spark.driver.host": "127.0.0.1"} if self.master.startswith("local") else {}),
            **self.conf,
        }
        builder = SparkSession.builder.appName("odanon").master(self.master)
        for name, value in settings.items():
            builder = builder.config(name, value)
        try:
            session = builder.getOrCreate()
        except Exception as error:
            raise OdanonError(
                f"Spark does not start on {self.master} ({type(error).__name__}); check that Java 17 is installed and"
                " that the master answers"
            ) from None
        session.sparkContext.setLogLevel("ERROR")
        return session


def _note(content: bytes) -> pa.RecordBatch:
    """One row that carries a note instead of a point."""
    values = [[0], [0], [0], [0.0], [0.0], [0], [content]]
    return pa.RecordBatch.from_arrays(
        [pa.array(value, field.type) for value, field in zip(values, _SCHEMA, strict=True)], schema=_SCHEMA
    )


def _with_bucket(bucket: int, points: pa.RecordBatch) -> pa.RecordBatch:
    columns = [
        pa.array(np.full(len(points), bucket, np.int32)),
        points.column("person"),
        points.column("time").view(pa.int64()),
        points.column("lat"),
        points.column("lon"),
        points.column("antenna") if "antenna" in points.schema.names else pa.nulls(len(points), pa.int32()),
        pa.nulls(len(points), pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _collected(bucket: int, antennas: bool, done: Collected, notes: list[bytes]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "bucket": pa.array([bucket], pa.int32()),
            "antennas": pa.array([antennas]),
            "note": pa.array([pickle.dumps(done)], pa.binary()),
            "notes": pa.array([notes], pa.list_(pa.binary())),
        }
    )


def _sentence(error: Exception) -> str:
    """What may be said of an error: our own words, or its kind; data never reaches Spark's logs."""
    return str(error) if isinstance(error, OdanonError) else f"a Spark task failed with {type(error).__name__}"


def _scrubbed(task: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The task with errors that say nothing of the data; raised outside the handler, so that no context is kept."""

    @wraps(task)
    def run(item: Any) -> Any:
        try:
            return task(item)
        except Exception as error:
            sentence = _sentence(error)
        raise OdanonError(sentence)

    return run


def _scrubbed_stream(task: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    @wraps(task)
    def run(batches: Any) -> Iterator[Any]:
        sentence = None
        try:
            yield from task(batches)
        except Exception as error:
            sentence = _sentence(error)
        if sentence is not None:
            raise OdanonError(sentence)

    return run


def _run(action: Callable[[], Any]) -> Any:
    """Run a Spark action; a failure becomes the sentence of the task that failed."""
    try:
        return action()
    except Exception as error:
        said = re.search(r"OdanonError: (.+)", str(error))
        sentence = said[1] if said else f"Spark gave up ({type(error).__name__}); look at the executors' logs"
    raise OdanonError(sentence)
