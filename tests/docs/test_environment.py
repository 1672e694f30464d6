"""The page of environment variables names all that the code and the files around it use, and no others."""

import re

from repository import REPOSITORY

USED_IN = ("plugins", "odanon_assets", "deploy", "dagster.yaml", "Makefile", "docs")
PAGE = REPOSITORY / "docs" / "environment.md"
_NAME = re.compile(rb"\bODANON_[A-Z_]*[A-Z]\b")


def used() -> set[str]:
    paths = [path for name in USED_IN for path in (REPOSITORY / name, *(REPOSITORY / name).rglob("*"))]
    texts = [path.read_bytes() for path in paths if path.is_file() and path != PAGE and path.suffix != ".pyc"]
    return {found.decode() for text in texts for found in _NAME.findall(text)}


def test_the_page_of_variables_is_complete() -> None:
    told = set(re.findall(r"`(ODANON_[A-Z_]+)`", PAGE.read_text()))
    assert sorted(used() - told) == []
    assert sorted(told - used()) == []
