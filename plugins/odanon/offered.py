"""What installed packages offer under a name: a name of ours is never theirs."""

from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

OURS = "odanon"
TAKEN = "the name belongs to odanon; rename it"
AMBIGUOUS = "two installed packages offer it; uninstall or rename one of them"


@dataclass(frozen=True)
class Offered:
    """The entry points of a name that count, more than one where packages disagree, and those that lose against ours."""

    points: tuple[EntryPoint, ...]
    losing: tuple[EntryPoint, ...]


def offered(group: str) -> dict[str, Offered]:
    """Everything of a group by name."""
    found: dict[str, dict[str, EntryPoint]] = {}
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, point.value)):
        found.setdefault(point.name, {})[point.value] = point
    return {name: _decided(tuple(points.values())) for name, points in found.items()}


def _decided(points: tuple[EntryPoint, ...]) -> Offered:
    ours = tuple(point for point in points if _package(point) == OURS)
    return Offered(ours, tuple(point for point in points if point not in ours)) if ours else Offered(points, ())


def packages(points: tuple[EntryPoint, ...]) -> str:
    """The packages that offer something, by name."""
    return ", ".join(sorted({_package(point) for point in points}))


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "an unknown package"
