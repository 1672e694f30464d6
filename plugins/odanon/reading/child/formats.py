"""File formats as streams of raw columns, bounded in memory whatever the file says; runs in the child process.

Each function yields (batch of the wanted columns under their names in the file, number of rows that could not be
parsed at all). Such rows count as read and are quarantined, so that nothing disappears.
"""

import codecs
import csv
import io
import json
import re
import resource
from collections.abc import Callable
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from odanon.reading.child.dialect import UTF8, Dialect, Recoded
from odanon.reading.child.logformats import gpx, plt
from odanon.reading.child.unpack import (
    BATCH_ROWS,
    BLOCK_BYTES,
    ROW_BYTES,
    Raw,
    RefusedError,
    Unpacked,
    WholeLines,
    whole_lines,
)
from odanon.reading.ids import UnclearIdError, one_type

# What honest files stay far below: a point takes bytes.
_ROWS_PER_BYTE, _FREE_ROWS = 64, 1_000_000
_ROW_GROUP_SHARE = 0.5  # of the memory limit
_GATHERED_BYTES = 32 << 20  # of short batches that are put together
_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
_JSON_KINDS = {"text": pa.string(), "id": pa.string(), "number": pa.float64(), "texts": pa.list_(pa.string())}

_Source = Unpacked | Recoded | WholeLines


def raw_batches(
    file: BinaryIO,
    size: int,
    path: str,
    columns: list[dict[str, Any]],
    dialect: Dialect,
    time_format: str,
    *,
    lines: bool = False,
) -> Raw:
    """The wanted columns of one file, whose format its name tells; of a CSV file whose every line is a row, if so told."""
    name = path.lower()
    if name.endswith((".parquet", ".pq")):
        return parquet(file, size, columns)
    codec = next((codec for suffix, codec in _CODECS.items() if name.endswith(suffix)), None)
    text = Unpacked(file, size, codec)
    plain = re.sub(r"\.(gz|bz2|zst|lz4)$", "", name)
    if plain.endswith((".csv", ".txt", ".tsv")) or dialect.names is not None:  # somebody has looked
        return _gathered(_csv(text, columns, dialect, lines=lines))
    if plain.endswith(".gpx"):
        return gpx(text)
    if plain.endswith(".plt"):
        return plt(text)
    return _json_lines(text, columns, time_format)


def parquet(file: BinaryIO, size: int, columns: list[dict[str, Any]]) -> Raw:
    """The wanted columns of a Parquet file. The footer first: its counts must fit the size of the file (compression bombs)."""
    footer = pq.read_metadata(file)
    if footer.num_rows > size * _ROWS_PER_BYTE + _FREE_ROWS:
        raise RefusedError("bomb")
    wanted = present(columns, footer.schema.to_arrow_schema().names)
    texts = [column["source"] for column in columns if column["kind"] in ("text", "id")]
    handle = pq.ParquetFile(
        file, metadata=footer, read_dictionary=texts, pre_buffer=True, page_checksum_verification=True
    )
    prefixes = tuple(f"{name}." for name in wanted)
    largest = resource.getrlimit(resource.RLIMIT_AS)[0] * _ROW_GROUP_SHARE
    for group in range(footer.num_row_groups):
        chunks = [footer.row_group(group).column(i) for i in range(footer.num_columns)]
        unpacked = sum(c.total_uncompressed_size for c in chunks if f"{c.path_in_schema}.".startswith(prefixes))
        if not 0 <= unpacked <= largest:
            raise RefusedError("row_group")
    for batch in handle.iter_batches(BATCH_ROWS, columns=wanted):
        yield batch, 0


def present(columns: list[dict[str, Any]], names: list[str]) -> list[str]:
    """The names of the wanted columns; a missing one is refused."""
    for column in columns:
        if column["source"] not in names:
            raise RefusedError("no_column", column["source"], names)
    return list(dict.fromkeys(column["source"] for column in columns))


def _csv(text: Unpacked, columns: list[dict[str, Any]], dialect: Dialect, *, lines: bool) -> Raw:
    """All columns as bytes; a row with too many or too few fields is lost, and counted.

    Without looking for values that are broken over several lines, a file is read in two thirds of the time.
    """
    source: _Source = text if dialect.encoding == UTF8 else Recoded(text, dialect.encoding)
    if text.packed or source is not text:  # which may break off anywhere
        source = WholeLines(source)
    first = b""
    while b"\n" not in first and len(first) < ROW_BYTES and (more := source.read(1 << 16)):
        first += more
    if dialect.names is None:
        header = first.decode("utf-8-sig", "replace")
        names = next(csv.reader([header.split("\n", 1)[0].rstrip("\r")], delimiter=dialect.delimiter), [])
        options: dict[str, Any] = {}
    else:
        names = list(dialect.names)
        first = first.removeprefix(codecs.BOM_UTF8)
        options = {"column_names": names, "skip_rows": dialect.skip}
    wanted = present(columns, names)
    lost = told = 0  # the reader is ahead of the batches that it gives, so neither may be set back

    def skip(_row: Any) -> str:
        nonlocal lost
        lost += 1
        return "skip"

    try:
        reader = pyarrow.csv.open_csv(
            pa.PythonFile(_Joined(first, source), "r"),
            pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False, **options),
            pyarrow.csv.ParseOptions(
                delimiter=dialect.delimiter,
                quote_char=False if lines else '"',
                newlines_in_values=not lines,
                invalid_row_handler=skip,
            ),
            pyarrow.csv.ConvertOptions(
                include_columns=wanted, column_types=dict.fromkeys(wanted, pa.binary()), strings_can_be_null=True
            ),
        )
        for batch in reader:
            before, told = told, lost
            yield batch, told - before
        if lost > told:
            yield pa.RecordBatch.from_arrays([pa.nulls(0, pa.binary())] * len(wanted), wanted), lost - told
        _refuse_broken(source)
    except pa.ArrowInvalid as error:
        _refuse_broken(source)
        if text.refused:
            raise RefusedError("bomb") from None
        raise RefusedError("long_row" if "straddling" in str(error) else "damaged") from None


def _refuse_broken(source: _Source) -> None:
    if isinstance(source, WholeLines) and source.broken is not None:
        raise source.broken from None


def _gathered(batches: Raw) -> Raw:
    """Batches of as many rows as other formats have: labels and ids that rows repeat are sent, and put together, less often.

    What came before a row that cannot be read is given first.
    """
    held, lost = list[pa.RecordBatch](), 0
    damage: Exception | None = None
    try:
        for batch, more in batches:
            held.append(batch)
            lost += more
            rows, size = (sum(getattr(each, what) for each in held) for what in ("num_rows", "nbytes"))
            if rows >= BATCH_ROWS or size >= _GATHERED_BYTES:
                yield pa.concat_batches(held), lost
                held, lost = [], 0
    except Exception as error:
        damage = error
    if held:
        yield pa.concat_batches(held), lost
    if damage is not None:
        raise damage


class _Joined(io.RawIOBase):
    """The bytes already taken from a stream, then the rest of it."""

    def __init__(self, first: bytes, rest: _Source) -> None:
        super().__init__()
        self._first = io.BytesIO(first)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._first.read(size) or self._rest.read(size)


def _json_lines(text: Unpacked, columns: list[dict[str, Any]], time_format: str) -> Raw:
    """Arrow's reader on whole blocks, ids as texts or as integers; a block it cannot read is read line by line."""
    types = {**_JSON_KINDS, "time": pa.float64() if time_format.startswith("epoch") else pa.string()}
    schemas = [
        pa.schema([(column["source"], kinds[column["kind"]]) for column in columns])
        for kinds in (types, {**types, "id": pa.int64()})
    ]
    missing = {column["source"] for column in columns}
    for block in whole_lines(text):
        if not block.strip():
            continue
        for name in sorted(missing):
            if json.dumps(name).encode() not in block:
                raise RefusedError("no_column", name)
        missing.clear()  # the first block tells
        table = _json_block(block, schemas) or _json_by_line(block, columns, types)
        for batch in table.to_batches(BATCH_ROWS):
            yield batch, 0


def _json_block(block: bytes, schemas: list[pa.Schema]) -> pa.Table | None:
    """The rows of a block by the first schema that fits it."""
    reading = pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1)
    for schema in schemas:
        options = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        try:
            return pyarrow.json.read_json(pa.BufferReader(block), reading, options).combine_chunks()
        except pa.ArrowInvalid:
            continue
    return None


def _json_by_line(block: bytes, columns: list[dict[str, Any]], kinds: dict[str, pa.DataType]) -> pa.Table:
    arrays = {}
    for column in columns:
        name, kind = column["source"], kinds[column["kind"]]
        if column["kind"] == "id":
            arrays[name] = _json_ids(name, _line_values(block, name, _id))
        else:
            take = _float if pa.types.is_floating(kind) else _texts if pa.types.is_list(kind) else _text
            arrays[name] = pa.array(_line_values(block, name, take), kind)
    return pa.table(arrays)


def _json_ids(name: str, values: list[Any]) -> pa.Array:
    try:
        return one_type(values)
    except UnclearIdError as unclear:
        raise RefusedError(unclear.code, name) from None


def _line_values(block: bytes, name: str, take: Callable[[Any], Any]) -> list[Any]:
    """One field of every line that is not blank; None where a line or a value is not what it should be."""
    values: list[Any] = []
    for line in block.split(b"\n"):
        if line.strip():
            try:
                row = json.loads(line)
                values.append(take(row.get(name)) if isinstance(row, dict) else None)
            except (ValueError, RecursionError):
                values.append(None)
    return values


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _id(value: Any) -> str | int | float | None:
    if isinstance(value, str):
        return _text(value)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _texts(value: Any) -> list[str | None] | None:
    return [_text(item) for item in value] if isinstance(value, list) else None


def _float(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool) or value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
