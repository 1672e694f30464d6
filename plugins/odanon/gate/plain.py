"""A release in plain tables of our own: what is judged is what is returned, whatever its maker holds on to.

An anonymiser may return subclasses, keep references, or hide things beside the values (`attrs`, an index, names that print
differently). Every part is read once and copied, value by value, into arrays and tables that nobody else has.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.model.areas import Areas
from odanon.model.release import Release

_LONGEST_WORD = 100  # of what an algorithm says of its search
_LARGEST = 2**53  # whole numbers that every reader counts exactly


def plain(made: Release, parameters: dict[str, Any]) -> Release:
    """A copy of a release that holds numbers, names and nothing else; what is no table or array is left for the judge."""
    flows, assignment, origins, destinations, times, said = (
        made.flows,
        made.assignment,
        made.origins,
        made.destinations,
        made.times,
        made.metrics,
    )
    return Release(
        flows=_table(flows),
        assignment=_table(assignment),
        origins=_areas(origins),
        destinations=_areas(destinations),
        parameters=dict(parameters),
        metrics={name: value for name, value in _pairs(said) if value is not None},
        times=_areas(times),
    )


def _table(frame: Any) -> Any:
    if not isinstance(frame, pd.DataFrame) or frame.columns.nlevels > 1:
        return None
    names = [_text(name) if isinstance(name, str) else repr(type(name)) for name in frame.columns]
    if len(set(names)) < len(names):
        return pd.DataFrame([], columns=names)  # two of one name: the judge counts columns
    return pd.DataFrame({name: _column(frame.iloc[:, at]) for at, name in enumerate(names)})


def _column(column: pd.Series) -> Any:
    """Whole numbers as they are (missing ones too), other real numbers as floats, everything else as texts."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = np.array(column.cat.codes, dtype=np.int64)
        return pd.Categorical.from_codes(codes, pd.Index(_texts(column.cat.categories), dtype="str"))
    if pd.api.types.is_bool_dtype(column) or pd.api.types.is_complex_dtype(column):
        return pd.Series(_texts(column), dtype="str")
    if pd.api.types.is_integer_dtype(column):
        missing = np.array(column.isna(), dtype=np.bool_)
        values = np.array(column.fillna(0), dtype=np.int64)
        return pd.arrays.IntegerArray(values, missing) if _nullable(column) else values
    if pd.api.types.is_float_dtype(column):
        return np.array(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return pd.Series(_texts(column), dtype="str")


def _nullable(column: pd.Series) -> bool:
    return not isinstance(column.dtype, np.dtype)


def _texts(values: Any) -> npt.NDArray[np.object_]:
    return np.array([_text(value) for value in values], dtype=object)


def _text(value: Any) -> str | None:
    """The letters of a text, whatever it says of itself; anything else, or what no file can hold, is no name."""
    if not isinstance(value, str):
        return None
    letters = str.__str__(value)
    try:
        letters.encode()
    except UnicodeEncodeError:  # half of a letter
        return None
    return letters


def _areas(areas: Any) -> Any:
    if not isinstance(areas, Areas):
        return None
    label: Any = areas.label
    numbers: list[Any] = [areas.n_tiles, areas.level, areas.start, areas.members]
    if any(not isinstance(part, np.ndarray) or part.ndim != 1 for part in (label, *numbers)):
        return None
    if any(not np.issubdtype(part.dtype, np.integer) for part in numbers):
        return None
    n_tiles, level, start, members = numbers
    return Areas(
        _texts(label.tolist()),
        np.array(n_tiles, dtype=np.int64, copy=True),
        np.array(level, dtype=np.int16, copy=True),
        np.array(start, dtype=np.int64, copy=True),
        np.array(members, dtype=np.int32, copy=True),
    )


def _pairs(said: Any) -> list[tuple[str, Any]]:
    """What an algorithm says of its search: numbers and words."""
    if not isinstance(said, dict):
        return []
    return [(_word(name), _scalar(value)) for name, value in said.items() if isinstance(name, str)]


def _word(text: str) -> str:
    """The printable letters of a short text."""
    return "".join(letter for letter in str.__str__(text)[:_LONGEST_WORD] if letter.isprintable())


def _scalar(value: Any) -> float | int | str | bool | None:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return _word(value)
    if isinstance(value, int) and abs(int(value)) > _LARGEST:
        return None
    for kind in (bool, int, float):
        if isinstance(value, kind):
            return kind(value)
    return None
