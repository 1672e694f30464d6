"""What installed packages offer under a name: a name of ours is never theirs."""

import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, entry_points
from typing import Any

OURS = "odanon"
TAKEN = "the name belongs to odanon; rename it"
AMBIGUOUS = "two installed packages offer it; uninstall or rename one of them"


@dataclass(frozen=True)
class Offered:
    """The entry points of a name that count, more than one where packages disagree, and those that lose against ours."""

    points: tuple[EntryPoint, ...]
    losing: tuple[EntryPoint, ...]


def offered(group: str) -> dict[str, Offered]:
    """Everything of a group by name; who offers a class of another package offers it in its own name."""
    found: dict[str, dict[tuple[str, str], EntryPoint]] = {}
    for point in sorted(
        _installed(tuple(sys.path)).select(group=group), key=lambda point: (point.name, point.value, _package(point))
    ):
        found.setdefault(point.name, {})[point.value, _package(point)] = point
    return {name: _decided(tuple(points.values())) for name, points in found.items()}


@lru_cache(maxsize=1)  # all distributions are looked through for one group as for all
def _installed(path: tuple[str, ...]) -> Any:
    return entry_points()


def _decided(points: tuple[EntryPoint, ...]) -> Offered:
    ours = tuple(point for point in points if _package(point) == OURS)
    return Offered(ours, tuple(point for point in points if _package(point) != OURS)) if ours else Offered(points, ())


def packages(points: tuple[EntryPoint, ...]) -> str:
    """The packages that offer something, by name."""
    return ", ".join(sorted({_package(point) for point in points}))


def _package(point: EntryPoint) -> str:
    return _name(point.dist) if point.dist else "an unknown package"


@lru_cache  # a distribution reads its whole metadata to tell its name
def _name(distribution: Distribution) -> str:
    try:
        name = distribution.name
    except Exception:  # of one that was installed by half
        name = None
    return name or "an unknown package"
