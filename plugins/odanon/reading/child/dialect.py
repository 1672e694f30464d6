"""How the text of a CSV file is written: its letters, fields and numbers; the child process reads by it."""

import codecs
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from odanon.reading.child.unpack import RefusedError, Unpacked

UTF8 = "utf-8"
_BLANKS = " '\u2019\u00a0\u2009\u202f"  # between groups of digits


@dataclass(frozen=True)
class Dialect:
    """What separates fields, in which encoding, and how numbers are written.

    `names` are those of the columns where the first line does not tell them as they should be called; `skip` lines then lie before
    the rows. Without `thousands` a number has no groups of digits.
    """

    delimiter: str = ","
    encoding: str = UTF8
    decimal: str = "."
    thousands: str = ""
    names: Sequence[str] | None = None
    skip: int = 0

    @property
    def plain(self) -> bool:
        """Whether numbers are written as programs write them."""
        return self.decimal == "." and not self.thousands


class Recoded(io.RawIOBase):
    """The bytes of a text in another encoding, in UTF-8; letters that it does not have refuse the file."""

    def __init__(self, text: Unpacked, encoding: str) -> None:
        super().__init__()
        self._text = text
        self._decoder = codecs.getincrementaldecoder(encoding)()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """The next letters; a block may end within one, which then comes with the next."""
        while True:
            block = self._text.read(size)
            try:
                letters = self._decoder.decode(block, final=not block)
            except UnicodeDecodeError:
                raise RefusedError("encoding") from None
            if letters or not block:
                return letters.encode(UTF8, "surrogatepass")


def plain_numbers(texts: pa.Array, dialect: Dialect) -> pa.Array:
    """Numbers as programs write them; a text that is no number of the dialect stays none."""
    if dialect.plain:
        return texts
    point, groups = re.escape(dialect.decimal), "".join(map(re.escape, dialect.thousands))
    if dialect.thousands:
        grouped = pc.match_substring_regex(texts, rf"^[+-]?\d{{1,3}}([{groups}]\d{{3}})+({point}\d*)?$")
        texts = pc.if_else(grouped, pc.replace_substring_regex(texts, f"[{groups}]", ""), texts)
    if dialect.decimal == ".":
        return texts
    pointed = pc.match_substring(texts, ".")  # of another dialect
    return pc.if_else(pointed, None, pc.replace_substring(texts, dialect.decimal, "."))


def groups_of(decimal: str) -> str:
    """What may lie between the groups of digits of numbers with a decimal point, or comma."""
    return ("," if decimal == "." else ".") + _BLANKS
