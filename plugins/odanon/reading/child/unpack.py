"""Bytes of foreign files, bounded whatever the file says; runs in the child process (PRIVACY rule 12)."""

import io
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import pyarrow as pa

# (rows of the wanted columns under their names in the file, how many further rows could not be parsed at all)
Raw = Iterator[tuple[pa.RecordBatch, int]]

BATCH_ROWS = 1 << 17
BLOCK_BYTES = 4 << 20
ROW_BYTES = 1 << 20
_NAMED = 25  # columns that a sentence lists
# What honest files stay far below: text packs ten- to twentyfold.
_TEXT_EXPANSION, _FREE_BYTES = 200, 64 << 20


class RefusedError(Exception):
    """A file that is not read, and the code of the reason; of the file never anything but the names of its columns."""

    def __init__(self, code: str, column: str = "", names: Sequence[str] = ()) -> None:
        super().__init__(code)
        self.code = code
        self.column = column
        self.names = [*map(str, names)][:_NAMED]


class Part(io.BytesIO):
    """The next so many bytes of a file."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        super().__init__()
        self._file, self._left = file, size

    def read(self, size: int | None = -1) -> bytes:
        wanted = self._left if size is None or size < 0 else min(size, self._left)
        block = self._file.read(wanted)
        self._left -= len(block)
        return block


class Unpacked(io.RawIOBase):
    """Unpacked bytes of a file, refused when they exceed what its size can honestly hold."""

    def __init__(self, file: BinaryIO, size: int, codec: str | None) -> None:
        super().__init__()
        self._file = pa.CompressedInputStream(pa.PythonFile(file, "r"), codec) if codec else file
        self._left = size * _TEXT_EXPANSION + _FREE_BYTES if codec else size + 1
        self.packed = codec is not None
        self.refused = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        block = self._file.read(BLOCK_BYTES if size < 0 else min(size, BLOCK_BYTES))
        self._left -= len(block)
        if self._left < 0:
            self.refused = True
            raise RefusedError("bomb")
        return block


class WholeLines(io.RawIOBase):
    """A stream up to its last whole line, if it breaks off; `broken` says why.

    Whoever reads ahead of what it gives, as Arrow does, drops that when an error comes.
    """

    def __init__(self, text: io.RawIOBase) -> None:
        super().__init__()
        self._text, self._tail = text, b""
        self.broken: Exception | None = None

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self.broken is not None:
            return b""
        if 0 <= size <= len(self._tail):
            block, self._tail = self._tail[:size], self._tail[size:]
            return block
        try:
            block = self._text.read(size if size < 0 else size - len(self._tail)) or b""
        except Exception as error:
            self.broken = error
            return b""
        block, self._tail = self._tail + block, b""
        if block and (cut := block.rfind(b"\n") + 1):
            block, self._tail = block[:cut], block[cut:]
        return block


def whole_lines(text: Unpacked) -> Iterator[bytes]:
    """Blocks of whole lines."""
    kept = b""
    while block := text.read():
        kept += block
        cut = kept.rfind(b"\n") + 1
        if not cut and len(kept) > ROW_BYTES:
            raise RefusedError("long_row")
        if cut:
            yield kept[:cut]
            kept = kept[cut:]
    if kept:
        yield kept
