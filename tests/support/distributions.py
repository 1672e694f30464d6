"""Installed distributions, and what they require."""

from collections.abc import Iterable
from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def needed(wanted: Iterable[str]) -> dict[str, Distribution]:
    """What installing these brings, by name, from the metadata of what is installed here."""
    found: dict[str, Distribution] = {}
    waiting, seen = [*map(Requirement, wanted)], set()
    while waiting:
        each = waiting.pop()
        name = canonicalize_name(each.name)
        found[name] = found.get(name) or distribution(name)
        for extra in {"", *each.extras} - {extra for other, extra in seen if other == name}:
            seen.add((name, extra))
            others = map(Requirement, found[name].requires or [])
            waiting += [other for other in others if other.marker is None or other.marker.evaluate({"extra": extra})]
    return found
