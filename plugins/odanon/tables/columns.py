"""The wanted columns of a table and nothing else, read by the process with little memory: labels as categories, numbers, instants."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from odanon.errors import OdanonError
from odanon.geo.arrays import ObjectArray
from odanon.reading.batches import Column, Job, read
from odanon.reading.child.columns import MARKS, schema_of
from odanon.tables.look import Seen

Progress = Callable[[int, int], None]  # rows so far, and about how many there are
_FLOATS = r"^-?\d+\.0$"


@dataclass(frozen=True)
class Clock:
    """How instants are written, and whose clock shows those without an offset."""

    format: str = "auto"
    zone: str = "UTC"


def read_columns(seen: Seen, wanted: Sequence[Column], clock: Clock, progress: Progress | None = None) -> pd.DataFrame:
    """The columns under our names, in the order of the rows; missing where there is no usable value.

    The marks beside ids and times (`odanon.reading.batches.Column`) come with them.
    """
    names, firsts = list(seen.names), dict[str, int]()
    for at, name in enumerate(names):  # a name that two columns have is none of the wanted ones
        names[at] = name if firsts.setdefault(name, at) == at else f"{name}\0{at}"
    told = replace(seen.dialect, names=None if seen.dialect.names is None else names)
    job = Job([str(seen.path)], "file", list(wanted), clock.zone, clock.format, told)
    batches, rows = [], 0
    try:
        for batch in read(job, own=True):
            batches.append(batch)
            rows += batch.num_rows
            if progress is not None:
                progress(rows, max(rows, seen.rows))
    except OdanonError as error:
        raise OdanonError(f"{seen.path}: {error}") from None
    schema = schema_of([asdict(column) for column in wanted])
    table = pa.Table.from_batches(batches, schema).unify_dictionaries().combine_chunks()
    if not table.num_rows:
        raise OdanonError(f"{seen.path} has no rows; give a table of trips or flows")
    found = {name: _series(column) for name, column in zip(table.column_names, table.columns, strict=True)}
    return pd.DataFrame(found, copy=False)


def mark(column: Column) -> str:
    """The name of the mark beside a column of ids or times."""
    return column.name + MARKS[column.kind]


def _series(column: pa.ChunkedArray) -> pd.Series:
    if not pa.types.is_dictionary(column.type):
        return column.to_pandas()
    if not column.num_chunks:
        return pd.Series(pd.Categorical([]))
    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0)
    codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return pd.Series(pd.Categorical.from_codes(codes, pd.Index(whole.dictionary.to_pandas()), validate=False))


def whole_labels(labels: pd.Series) -> pd.Series:
    """Labels that a program wrote as floats, since some were missing, as the whole numbers that they are."""
    names = pa.array(labels.cat.categories.array, pa.large_string())
    if not len(names) or not pc.all(pc.match_substring_regex(names, _FLOATS)).as_py():
        return labels
    return labels.cat.rename_categories(pd.Index(pc.replace_substring_regex(names, r"\.0$", "").to_pandas()))


def categories(labels: ObjectArray) -> pd.Series:
    """An array of labels, None where there is none, as categories."""
    codes, names = pd.factorize(labels)
    return pd.Series(pd.Categorical.from_codes(codes, pd.Index(names, dtype="str")))
