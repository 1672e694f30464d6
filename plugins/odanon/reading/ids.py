"""One person, one id: the form in which ids are compared, whatever type a file or a database gives them (PRIVACY rule 18).

17, 17.0, Decimal 17, and the texts `17` and `17.0` are one person; `017` is another. So is a UUID, whatever its letters. Ids that no longer tell people apart
are refused, and so are days that give numbers in one place and texts such as `017` or `a17` in another: nobody can say
who is the same. Arrow alone, so that the reading child can use it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from odanon.reading.texts import is_number, is_text, utf8

# Floats as programs write them: 17.0 (Python, R), 1.7E1 (Java), 1e+16. Hexadecimal ids such as 12e45 are none.
_FLOATING = r"^-?(0|[1-9][0-9]*)\.0+$|^-?[0-9]\.[0-9]+[eE][+-]?[0-9]+$|^-?[0-9][eE]\+[0-9]+$"
_WHOLE = r"^(0|-?[1-9][0-9]*)$"
_UUID = r"^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"
_IN_FLOATING, _UUID_LENGTH = (b".", b"+"), 36  # every float has one of these, and every UUID so many letters
_WIDEST = pa.decimal256(76, 0)
_EXACT_BITS = {16: 11, 32: 24, 64: 53}  # whole numbers below 2 to that power have a float of their own

REASONS = {
    "inexact_id": "has ids in {column} that are floats too large to tell people apart; write them as integers or text",
    "fraction_id": "has ids in {column} that are fractions; name the column that holds ids, or write them as text",
    "mixed_id": "has ids in {column} that are numbers beside others that are not; write all of them as text, in one form",
}


class UnclearIdError(Exception):
    """Ids that cannot be told apart or brought together; `code` is one of `REASONS`, and nothing of an id is told."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Spelling:
    """Differences of spelling that do not make another person."""

    trim: bool = False
    fold_case: bool = False


AS_WRITTEN = Spelling()


@dataclass(frozen=True)
class Ids:
    """The canonical ids of a column, null where one is missing, and whether the column held numbers."""

    names: pa.DictionaryArray
    numbers: bool


def canonical(values: pa.Array, spelling: Spelling) -> Ids:
    """Ids of any type as texts; each distinct value of a batch is looked at once. A type that is no id's is a TypeError."""
    if isinstance(values.type, pa.UuidType):
        values = _uuid_texts(values)
    elif is_text(values.type):
        values = utf8(values)
    given = pa.types.is_dictionary(values.type)  # whoever gives a dictionary may have written an entry twice
    encoded = values if given else values.dictionary_encode()
    distinct, indices = encoded.dictionary, encoded.indices
    names = _names(distinct, spelling)
    if given or not names.equals(distinct):
        merged = names.dictionary_encode()
        if len(merged.dictionary) < len(names):  # 17 and 17.0 met, or an id is empty
            names, indices = merged.dictionary, merged.indices.take(indices)
    return Ids(pa.DictionaryArray.from_arrays(indices.cast(pa.int32()), names), is_number(distinct.type))


def has_other_texts(names: pa.Array) -> bool:
    """Whether some of these canonical ids are no whole numbers."""
    return pc.all(pc.match_substring_regex(names, _WHOLE), min_count=0).as_py() is False


def one_type(values: Sequence[Any]) -> pa.Array:
    """Python values, None where an id is missing, as one column that keeps every digit."""
    kinds = list(map(type, values))
    found = sorted(set(kinds) - {type(None)}, key=lambda kind: kind.__name__)
    if len(found) < 2:
        return _column(values)
    rows = [[row for row, other in enumerate(kinds) if other is kind] for kind in found]
    parts = [canonical(_column([values[row] for row in chosen]), AS_WRITTEN) for chosen in rows]
    names = pa.concat_arrays([part.names.dictionary_decode() for part in parts])
    numbers = any(part.numbers for part in parts)
    if numbers and has_other_texts(names):
        raise UnclearIdError("mixed_id")
    place = np.full(len(values), -1)
    place[np.concatenate(rows)] = np.arange(len(names))
    together = names.take(pa.array(place, mask=place < 0))
    return together.cast(_WIDEST) if numbers else together


def _column(values: Sequence[Any]) -> pa.Array:
    """Values of one Python type; integers of any size, and texts with characters that no file can hold."""
    try:
        return pa.array(values)
    except OverflowError:
        return pa.array(values, _WIDEST)
    except UnicodeEncodeError:
        return pa.array([None if v is None else v.encode("utf-8", "surrogatepass") for v in values], pa.large_binary())
    except pa.ArrowInvalid:
        raise TypeError from None


def _names(distinct: pa.Array, spelling: Spelling) -> pa.Array:
    kind = distinct.type
    if is_text(kind):
        return _text_names(utf8(distinct), spelling)
    if pa.types.is_integer(kind) or pa.types.is_null(kind):
        return distinct.cast(pa.large_string())
    if pa.types.is_floating(kind):
        return _float_names(distinct)
    if not pa.types.is_decimal(kind):
        raise TypeError
    try:
        return distinct.cast(_WIDEST).cast(pa.large_string())
    except pa.ArrowInvalid:
        raise UnclearIdError("fraction_id") from None


def _text_names(names: pa.Array, spelling: Spelling) -> pa.Array:
    """Texts as they are, except for floats written out and capitals of UUIDs; an empty one is missing."""
    if spelling.trim:
        names = pc.utf8_trim_whitespace(names)
    if spelling.fold_case:
        names = pc.utf8_lower(names)
    if _any_has(names, _IN_FLOATING):
        floating = pc.fill_null(pc.match_substring_regex(names, _FLOATING), False)
        written = _float_names(names.filter(floating).cast(pa.float64()))
        names = pc.replace_with_mask(names, floating, written)
    if pc.any(pc.equal(pc.binary_length(names), _UUID_LENGTH)).as_py():
        names = pc.if_else(pc.match_substring_regex(names, _UUID), pc.utf8_lower(names), names)
    return pc.if_else(pc.equal(names, ""), None, names)


def _any_has(texts: pa.Array, letters: Sequence[bytes]) -> bool:
    """Whether one of these letters may be in some text: a look at the bytes costs a hundredth of a look at each text."""
    octets = texts.buffers()[2]
    memory = b"" if octets is None else octets.to_pybytes()
    return any(letter in memory for letter in letters)


def _float_names(floats: pa.Array) -> pa.Array:
    """Whole floats as integers; what is not a number is missing."""
    floats = pc.if_else(pc.is_nan(floats), None, floats)
    if pc.any(pc.greater_equal(pc.abs(floats), float(1 << _EXACT_BITS[floats.type.bit_width]))).as_py():
        raise UnclearIdError("inexact_id")
    try:
        return floats.cast(pa.int64()).cast(pa.large_string())
    except pa.ArrowInvalid:
        raise UnclearIdError("fraction_id") from None


def _uuid_texts(values: pa.Array) -> pa.Array:
    """UUIDs as they are usually written, such as 123e4567-e89b-12d3-a456-426614174000."""
    storage = values.storage.fill_null(bytes(16))
    octets = memoryview(storage.buffers()[1])[16 * storage.offset : 16 * (storage.offset + len(storage))]
    written = pa.py_buffer(octets.hex().encode())
    digits = pa.Array.from_buffers(pa.binary(32), len(values), [None, written]).cast(pa.large_string())
    groups = [pc.utf8_slice_codeunits(digits, a, b) for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))]
    texts = pc.binary_join_element_wise(*groups, pa.scalar("-", pa.large_string()))
    return pc.if_else(values.is_valid(), texts, None)
