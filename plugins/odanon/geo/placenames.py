"""Names of places as they are published: one line of plain text each, and one for an area of several places."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from odanon.errors import OdanonError
from odanon.geo.arrays import ObjectArray

LONGEST = 120  # characters of the name of one place
LONGEST_JOINED = 3 * LONGEST + 40  # of an area that is called by some of its places
_SPACES = re.compile(r"\s+")
# Controls, lone surrogates and what breaks lines; marks that turn the direction of all text after them.
_NO_TEXT = {"Cc", "Cs", "Zl", "Zp"}
_TURNS = {*map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A)))}


def is_plain(name: str) -> bool:
    """Whether a text is one line without controls, not empty and not too long."""
    return 0 < len(name) <= LONGEST_JOINED and name == _one_line(name)


def plain_names(names: Iterable[Any], where: str) -> ObjectArray:
    """Names as one line of text each, None where there is none; what is too long to be a name is refused, and counted only."""
    found = np.array([None if _is_missing(name) else _one_line(str(name)) or None for name in names], dtype=object)
    long = sum(name is not None and len(name) > LONGEST for name in found)
    if long:
        raise OdanonError(
            f"{long} of {len(found)} names of places in {where} have more than {LONGEST} characters; choose a column with short names"
        )
    return found


def first_names(ids: Iterable[Any], names: Iterable[Any], labels: ObjectArray, where: str) -> ObjectArray:
    """The name of each label, from rows of a file; the first in the order of text where rows of one id differ."""
    found: dict[str, str] = {}
    for label, name in zip(ids, plain_names(names, where), strict=True):
        if name is not None:
            found[str(label)] = min(name, found.get(str(label), name))
    return np.array([found.get(label) for label in labels.tolist()], dtype=object)


def joined_name(names: ObjectArray, ground: npt.NDArray[np.float64]) -> str | None:
    """What to call an area of several places: by those with most ground, such as "Harbour, Old Town and 3 more"."""
    size: dict[str, float] = {}
    for name, part in zip(names.tolist(), ground.tolist(), strict=True):
        if name is not None:
            size[name] = size.get(name, 0.0) + part
    if not size:
        return None
    ordered = sorted(size, key=lambda name: (-size[name], name))
    told = ordered if len(ordered) <= 3 else [*ordered[:2], f"{len(ordered) - 2} more"]
    return f"{', '.join(told[:-1])} and {told[-1]}" if len(told) > 1 else told[0]


def _one_line(text: str) -> str:
    kept = (
        " " if unicodedata.category(each) in _NO_TEXT else each
        for each in unicodedata.normalize("NFC", text)
        if each not in _TURNS
    )
    return _SPACES.sub(" ", "".join(kept)).strip()


def _is_missing(name: Any) -> bool:
    return not isinstance(name, str)
