"""How a CSV file is written, told from its beginning: encoding, what separates fields, header and decimal comma."""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from odanon.errors import OdanonError
from odanon.reading.child.dialect import UTF8, Dialect, groups_of

_HEAD_BYTES = 1 << 17
_BLOCK = 1 << 22
_MOST_ROWS = 300
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_LATIN = "cp1252"  # the letters of Western Europe; what Latin-1 files in truth are
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_PACKED = (".gz", ".bz2", ".zst", ".lz4")
EITHER = re.compile(r"[+-]?\d{1,3}[.,]\d{3}")  # thousands, or three decimals
_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+")
_POINT = re.compile(r"[+-]?(\d+|\d{1,3}(,\d{3})+)\.\d+")
_VALUE = re.compile(r"[+-]?[\d.,]*\d[\d.,]*([eE][+-]?\d+)?|\d{4}-\d\d-\d\d.*|\d\d?[./]\d\d?[./]\d{4}.*|8[0-9a-f]{14}")
_SEPARATED = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
_YEAR = re.compile(r"(19|20)\d\d")


@dataclass(frozen=True)
class Told:
    """What somebody says of a CSV file, None where it is to be found out."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    time: str | None = None


@dataclass(frozen=True)
class CsvText:
    """The beginning of a file as letters, and how much of the file it is."""

    letters: str
    encoding: str
    read_bytes: int
    total_bytes: int
    notes: tuple[str, ...]
    splits: bool = False  # whether every line is a row, so that the file can be read in parts

    @property
    def whole(self) -> bool:
        """Whether this is all of it."""
        return self.read_bytes >= self.total_bytes


@dataclass(frozen=True)
class Found:
    """A dialect with the rows of the beginning read by it; `unclear` if numbers such as 1.234 may be thousands."""

    dialect: Dialect
    rows: list[list[str]]
    unclear: bool
    notes: tuple[str, ...]


def csv_text(path: Path, encoding: str | None) -> CsvText:
    """The beginning of a CSV file in its encoding: the one told, that of its byte order mark, UTF-8, or that of Western Europe."""
    packed = path.suffix.lower() in _PACKED
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            head = stream.read(_HEAD_BYTES)
    except (OSError, pa.ArrowException):
        raise OdanonError(
            f"{path} cannot be read; give a Parquet or CSV file, or one that is packed with gzip"
        ) from None
    if b"\0" in head and _of_mark(head) is None and _wide(head) is None:
        raise OdanonError(f"{path} is no text; give a Parquet or CSV file")
    name, notes, splits = encoding or _of_mark(head) or _wide(head), list[str](), False
    if name is None:
        is_utf8, unquoted = _scanned(path, head, packed)
        name, splits = UTF8 if is_utf8 else _LATIN, unquoted and b"\n" in head
    try:
        codecs.lookup(name)
    except LookupError:
        raise OdanonError(f"{path}: there is no encoding {name!r}; write for example utf-8, cp1252 or utf-16") from None
    if name == "utf-8-sig":
        notes.append("UTF-8 with a byte order mark")
        name = UTF8
    elif name != UTF8:
        notes.append(f"encoding {name}")
    letters = head.decode(name, "replace").removeprefix("\ufeff")
    if "\n" not in letters:
        letters = re.sub(r"\r(?!$)", "\n", letters)  # lines as they ended on old Macintoshes; the reader knows them
    whole = len(head) < _HEAD_BYTES
    if not whole:  # the last line may be cut
        letters = letters[: letters.rfind("\n") + 1] or letters
    size = len(head) if whole else path.stat().st_size * (4 if packed else 1)  # text packs about fourfold
    return CsvText(letters, name, len(head), size, tuple(notes), splits)


def _of_mark(head: bytes) -> str | None:
    return next((name for mark, name in _BOMS.items() if head.startswith(mark)), None)


def _wide(head: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of Western text is zero."""
    pairs = max(1, len(head) // 2)
    if head[1::2].count(0) > 0.4 * pairs and head[::2].count(0) < 0.1 * pairs:
        return "utf-16-le"
    return "utf-16-be" if head[::2].count(0) > 0.4 * pairs and head[1::2].count(0) < 0.1 * pairs else None


def _scanned(path: Path, head: bytes, packed: bool) -> tuple[bool, bool]:
    """Whether a file is UTF-8 to its end, and whether it has no quotes, in which lines may end; of a packed one its beginning tells."""
    if packed:
        return _scan(io.BytesIO(head[: head.rfind(b"\n") + 1] or head))[0], False
    with path.open("rb") as file:
        return _scan(file)


def _scan(file: BinaryIO) -> tuple[bool, bool]:
    decoder, is_utf8, unquoted = codecs.getincrementaldecoder(UTF8)(), True, True
    while block := file.read(_BLOCK):
        unquoted = unquoted and b'"' not in block
        is_utf8 = is_utf8 and ((block.isascii() and not decoder.getstate()[0]) or _decodes(decoder, block))
    return is_utf8 and _decodes(decoder, b"", final=True), unquoted


def _decodes(decoder: codecs.IncrementalDecoder, block: bytes, *, final: bool = False) -> bool:
    try:
        decoder.decode(block, final=final)
    except UnicodeDecodeError:
        return False
    return True


def told_dialect(path: Path, text: CsvText, told: Told) -> Found:
    """The dialect of a file; what was told counts more than what its beginning shows."""
    if not text.letters.strip():
        raise OdanonError(f"{path} is empty; give a table of trips or flows")
    first = _SEPARATED.match(text.letters)  # as spreadsheets write it
    letters = text.letters[first.end() :] if first else text.letters
    delimiter = told.delimiter or (first[1] if first else _delimiter(letters))
    notes, rows = list(text.notes), _rows(letters, delimiter)
    if not rows:
        raise OdanonError(f"{path} has no rows; give a table of trips or flows")
    if delimiter != ",":
        notes.append(f"fields separated by {_DELIMITERS.get(delimiter, repr(delimiter))}")
    header = told.header if told.header is not None else not any(map(_is_value, rows[0]))
    if header:
        names = [name.strip() for name in rows[0]]
        if names != rows[0]:
            notes.append("blanks around names of columns dropped")
    else:
        names = [f"column{at + 1}" for at in range(len(rows[0]))]
        notes.append(f"no header: columns are called {names[0]} to {names[-1]}")
    body = rows[1:] if header else rows
    known = told.decimal or _decimal(body)
    if known == ",":
        notes.append("decimal comma")
    if _ends_in_a_delimiter(body, len(names)):
        names.append("")
    _refuse_other_widths(path, body, len(names))
    names = [name or f"column{at + 1}" for at, name in enumerate(names)]
    skip = (_lines(letters, delimiter) if header else 0) + bool(first)
    dialect = Dialect(delimiter, text.encoding, known or ".", groups_of(known or "."), tuple(names), skip)
    return Found(dialect, body, known is None, tuple(notes))


def _ends_in_a_delimiter(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Whether every row has an empty field more than there are names."""
    return bool(rows) and all(len(row) == width + 1 and not row[-1] for row in rows)


def _refuse_other_widths(path: Path, rows: Sequence[Sequence[str]], width: int) -> None:
    """Rows that are not those of the first line would all be lost, which somebody may mean who leaves out bad ones."""
    usual, times = Counter(map(len, rows)).most_common(1)[0] if rows else (width, 0)
    if usual != width and times > len(rows) / 2:
        raise OdanonError(
            f"{path}: the first line has {width} fields and most others have {usual}; begin the file with the names of the columns, or say what"
            " separates fields with --csv-set delimiter=;"
        )


def _is_value(field: str) -> bool:
    """Whether a field is nobody's name of a column: a number that is no year, a date or an H3 cell."""
    return bool(_VALUE.fullmatch(field.strip())) and not _YEAR.fullmatch(field.strip())


def _rows(letters: str, delimiter: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(io.StringIO(letters), delimiter=delimiter) if row]
    except csv.Error:
        return [line.split(delimiter) for line in letters.splitlines() if line]


def _lines(letters: str, delimiter: str) -> int:
    """How many lines lie before the first row below the header, whose names may be broken over several."""
    reader = csv.reader(io.StringIO(letters), delimiter=delimiter)
    try:
        while not next(reader):
            pass
    except csv.Error:  # lines that end in several ways
        return 1
    return reader.line_num


def _delimiter(letters: str) -> str:
    """What cuts most rows into as many fields as the first, and leaves no other delimiter in them."""

    def merit(delimiter: str) -> tuple[float, float, int]:
        rows = _rows(letters, delimiter)[:_MOST_ROWS]
        width = len(rows[0])
        alike = sum(len(row) == width for row in rows) / len(rows)
        fields = [field for row in rows for field in row]
        others = set(_DELIMITERS) - {delimiter}
        clean = sum(not (others & set(field)) or bool(_COMMA.fullmatch(field.strip())) for field in fields) / len(
            fields
        )
        return (round(alike, 2), round(clean, 2), width) if width > 1 else (0.0, 0.0, 1)

    return max(_DELIMITERS, key=merit)


def _decimal(rows: Sequence[Sequence[str]]) -> str | None:
    """The decimal sign that numbers show; None if none does beyond doubt."""
    seen: Counter[str] = Counter()
    for row in rows[:_MOST_ROWS]:
        for field in map(str.strip, row):
            if not EITHER.fullmatch(field):
                seen[","] += bool(_COMMA.fullmatch(field))
                seen["."] += bool(_POINT.fullmatch(field))
    return max(seen, key=lambda sign: seen[sign]) if any(seen.values()) else None
