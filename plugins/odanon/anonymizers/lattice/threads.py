"""Independent parts of the work on both cores. Sums are whole numbers, so the order in which parts end changes nothing."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

THREADS = 2

Part = TypeVar("Part")
Result = TypeVar("Result")


def on_threads(work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """What the work makes of every part, in order."""
    if len(parts) == 1:
        return [work(parts[0])]
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(work, parts))
