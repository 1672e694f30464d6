"""The persons of a source's frames under canonical ids: every row passes here before it gets a pseudonym."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa

from odanon.errors import OdanonError
from odanon.plugin import parameter, plugin
from odanon.reading.frames import NUMBERED
from odanon.reading.ids import AS_WRITTEN, REASONS, Spelling, UnclearIdError, canonical, has_other_texts, one_type


@plugin
class SpelledIds:
    """What a source may be told about the spelling of ids; by default, another spelling is another person."""

    trim: bool = parameter(False, "whether blanks around a person's id are dropped")
    fold_case: bool = parameter(False, "whether capital letters in a person's id count as small ones")

    @property
    def spelling(self) -> Spelling:
        return Spelling(self.trim, self.fold_case)


def spelling_of(source: Any) -> Spelling:
    """How the ids of a source are spelled; one that has no such parameters gives them as they are."""
    return source.spelling if isinstance(source, SpelledIds) else AS_WRITTEN


@dataclass
class IdKinds:
    """What ids a day has shown so far: numbers, and texts that are no whole numbers."""

    numbers: bool = False
    other_texts: bool = False

    def add(self, other: "IdKinds") -> None:
        self.numbers |= other.numbers
        self.other_texts |= other.other_texts

    def refuse_mixed(self) -> None:
        """Refuse numbers in one place and other texts in another: 17 may be 017, and nobody can tell."""
        if self.numbers and self.other_texts:
            raise OdanonError(_sentence("mixed_id"))


def persons(ids: pd.Series, spelling: Spelling = AS_WRITTEN, numbered: bool = False) -> tuple[pd.Series, IdKinds]:
    """Ids of any type as a categorical of canonical texts, missing where there is none; and what kinds they are."""
    sentence = None
    try:
        column = _arrow(ids)
        found = canonical(column, spelling)
    except UnclearIdError as unclear:
        sentence = _sentence(unclear.code)
    except (TypeError, ValueError, NotImplementedError):  # Arrow's errors too
        sentence = "the source gives person ids of a type that cannot be compared; give integers or texts"
    if sentence is not None:  # outside the handlers, so that no id is kept with the error
        raise OdanonError(sentence)
    names = found.names.dictionary
    kinds = IdKinds(found.numbers or numbered, has_other_texts(names))
    if pa.types.is_dictionary(column.type) and names.equals(column.dictionary):
        return ids, kinds  # as the reading child gives them: another categorical would cost more than all the rest
    named = found.names.to_pandas()  # rows in their order; what labels they have is the frame's matter
    return pd.Series(named.array, index=ids.index, name=ids.name), kinds


def with_persons(rows: pd.DataFrame, spelling: Spelling) -> tuple[pd.DataFrame, IdKinds]:
    """The rows of a source with canonical persons."""
    ids, kinds = persons(rows["person"], spelling, bool(rows.attrs.get(NUMBERED)))
    return rows.assign(person=ids), kinds


def _sentence(code: str) -> str:
    return "the source " + REASONS[code].format(column="the person column")


def _arrow(ids: pd.Series) -> pa.Array:
    if isinstance(ids.dtype, pd.CategoricalDtype):
        codes = ids.cat.codes.to_numpy()
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), _arrow(pd.Series(ids.cat.categories)))
    if ids.dtype == object:
        return one_type(ids.astype(object).where(ids.notna(), None).tolist())
    column = pa.array(ids.array, from_pandas=True)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
