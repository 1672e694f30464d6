"""The wanted columns of a table and nothing else, read by the process with little memory: labels as categories, numbers, instants."""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from odanon.errors import OdanonError
from odanon.geo.arrays import ObjectArray
from odanon.reading.batches import Column, Job, read
from odanon.reading.child.columns import MARKS, schema_of
from odanon.tables.look import Seen

Progress = Callable[[int, int], None]  # rows so far, and about how many there are
_MOST_PARTS = 8  # processes that read one file
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
    try:
        table = _read_parts(seen, job, progress)
    except OdanonError as error:
        raise OdanonError(f"{seen.path}: {error}") from None
    if not table.num_rows:
        raise OdanonError(f"{seen.path} has no rows; give a table of trips or flows")
    found = {name: _series(column) for name, column in zip(table.column_names, table.columns, strict=True)}
    return pd.DataFrame(found, copy=False)


def _read_parts(seen: Seen, job: Job, progress: Progress | None) -> pa.Table:
    """All rows in their order; large files are read in parts at the same time, each under one dictionary by who reads it."""
    schema, done, counting = schema_of([asdict(column) for column in job.columns]), 0, threading.Lock()

    def told(rows: int) -> None:
        nonlocal done
        with counting:
            done += rows
            if progress is not None:
                progress(done, max(done, seen.rows))

    def part(job: Job) -> pa.Table:
        found = []
        for batch in read(job, own=True):
            found.append(batch)
            told(batch.num_rows)
        return _one_dictionary(pa.Table.from_batches(found, schema))

    spans = seen.parts(min(os.cpu_count() or 1, _MOST_PARTS))
    if len(spans) == 1:
        return part(job).combine_chunks()
    later = replace(job, dialect=replace(job.dialect, skip=0))  # the header is in the first part
    jobs = [replace(job if at == 0 else later, span=span) for at, span in enumerate(spans)]
    with ThreadPoolExecutor(len(jobs)) as pool:
        return pa.concat_tables(pool.map(part, jobs)).unify_dictionaries().combine_chunks()


def _one_dictionary(table: pa.Table) -> pa.Table:
    """The table with one chunk a dictionary; of the other columns nothing is copied."""
    columns = table.unify_dictionaries().columns
    return pa.table(
        [column.combine_chunks() if pa.types.is_dictionary(column.type) else column for column in columns],
        schema=table.schema,
    )


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
    codes = (whole.indices.fill_null(-1) if whole.null_count else whole.indices).to_numpy()
    return pd.Series(pd.Categorical.from_codes(codes, pd.Index(whole.dictionary.to_pandas()), validate=False))


def whole_labels(labels: pd.Series) -> pd.Series:
    """Labels without blanks around them; those that a program wrote as floats, since some were missing, as the whole numbers that they are."""
    written = pa.array(labels.cat.categories.array, pa.large_string())
    names = pc.utf8_trim_whitespace(written)
    if len(names) and pc.all(pc.match_substring_regex(names, _FLOATS)).as_py():
        names = pc.replace_substring_regex(names, r"\.0$", "")
    if names.equals(written):
        return labels
    number, distinct = pd.factorize(names.to_pandas().replace("", None))
    codes = np.append(number, -1)[labels.cat.codes.to_numpy()]
    return pd.Series(pd.Categorical.from_codes(codes, pd.Index(distinct)), labels.index)


def categories(labels: ObjectArray) -> pd.Series:
    """An array of labels, None where there is none, as categories."""
    codes, names = pd.factorize(labels)
    return pd.Series(pd.Categorical.from_codes(codes, pd.Index(names, dtype="str")))
