"""The local engine: batches and buckets spread over the cores of this machine."""

import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from odanon.engines.points import POINTS, Collected, bucket_name, collect_bucket, deal_points
from odanon.plugin import parameter, plugin


@plugin
class Local:
    """Threads on one machine; kernels, sorts and Parquet release the interpreter, so all cores work."""

    # Measured: parts of more than about 4 million points cost a fifth more CPU time a point (20 M points in 3, 6 and 16 parts).
    buckets: int = parameter(
        32,
        "parts of a day's people; more parts need less memory each, and up to 4 million points each is fastest",
        ge=1,
        le=1000,
    )
    workers: int = parameter(0, "threads; 0 takes one per core", ge=0)

    def map(self, task: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Results of `task` for every item, in the order of the items; only a few items are held at a time."""
        workers = self.workers or os.cpu_count() or 1
        with ThreadPoolExecutor(workers) as pool:
            waiting: deque[Future] = deque()
            for item in items:
                waiting.append(pool.submit(task, item))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def shuffle(
        self, parts: list[Any], read: Callable[[Any], Iterable[Any]], prepare: Callable[[Any], Any], folder: Path
    ) -> tuple[list[Any], list[Collected]]:
        """Bring each person's points together: one sorted Parquet file per bucket in `folder`.

        `read` gives the batches of a part; `prepare` turns a batch into points and its tally. Batches are dealt to one
        stream per bucket on disk, so that a day may be larger than memory. Returns all tallies and what became of
        each bucket.
        """

        def deal(batch: Any) -> tuple[Any, list[tuple[int, pa.RecordBatch]]]:
            points, tally = prepare(batch)
            return tally, deal_points(points, self.buckets)

        def collect(number: int) -> Collected:
            path = Path(scratch) / f"{number}.arrows"
            if number not in writers:
                return collect_bucket(schema.empty_table(), folder / bucket_name(number))
            with pa.memory_map(str(path)) as stream:
                return collect_bucket(pa.ipc.open_stream(stream).read_all(), folder / bucket_name(number))

        tallies, schema = [], POINTS
        writers: dict[int, pa.RecordBatchWriter] = {}
        with tempfile.TemporaryDirectory(dir=folder, prefix=".shuffle-") as scratch:
            with ExitStack() as stack:
                for tally, dealt in self.map(deal, chain.from_iterable(map(read, parts))):
                    tallies.append(tally)
                    for number, batch in dealt:
                        if number not in writers:
                            stream = pa.ipc.new_stream(str(Path(scratch) / f"{number}.arrows"), batch.schema)
                            writers[number] = stack.enter_context(stream)
                            schema = batch.schema
                        writers[number].write_batch(batch)
            return tallies, list(self.map(collect, range(self.buckets)))
