"""Pieces of Markdown that the generated pages share."""

import re
from collections.abc import Iterable, Sequence

_TYPES = {
    "string": "text",
    "integer": "whole number",
    "boolean": "true or false",
    "null": "none",
    "array": "list",
    "object": "mapping",
}


def plain_type(name: str) -> str:
    """A type of JSON Schema, or several, in words."""
    return " or ".join(_TYPES.get(each, each) for each in name.split(" | "))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; nothing where there are no rows."""
    lines = [_row(cells) for cells in rows]
    return "\n".join([_row(head), "|---" * len(head) + "|", *lines]) + "\n" if lines else ""


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(re.sub(r"(?<!\\)\|", r"\|", " ".join(cell.split())) for cell in cells) + " |"


def code(text: object) -> str:
    """A value or name in a line of text; nothing stays nothing."""
    return f"`{text}`" if str(text) else ""


def fenced(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


def page(title: str, *parts: str) -> str:
    """A page of paragraphs, tables and sections, a blank line between them."""
    return "\n\n".join([f"# {title}", *(part.strip("\n") for part in parts if part.strip())]) + "\n"
