"""The local engine: the buckets of a partition spread over the cores of this machine."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from odanon.plugin import parameter, plugin


@plugin
class Local:
    """Threads on one machine; kernels, sorts and Parquet release the interpreter, so all cores work."""

    buckets: int = parameter(16, "parts of a day's people; more parts need less memory each", ge=1, le=1000)
    workers: int = parameter(0, "threads; 0 takes one per core", ge=0)

    def map(self, task: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """Results of `task` for every item, in the order of the items."""
        with ThreadPoolExecutor(self.workers or os.cpu_count() or 1) as pool:
            yield from pool.map(task, items)
