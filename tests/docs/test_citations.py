"""What code cites of the documentation is there: "ALGORITHMS, Costs" is a part of docs/algorithms.md, "PRIVACY rule 9" a rule."""

import re
from collections.abc import Iterator
from functools import cache

from repository import REPOSITORY

DOCS = REPOSITORY / "docs"
_PART = re.compile(r"\b(ARCHITECTURE|ALGORITHMS|PRIVACY|DEMAND)((?:, [^).:;]+)| section)")
_RULES = re.compile(r"\bPRIVACY rules? (\d[\d, and-]*)")
_NAME = re.compile(r"^(?:#+ (.+)|\*\*(.+?)\.?\*\*)", re.MULTILINE)


@cache
def texts() -> dict[str, str]:
    """Every module by its path, in one line each: a citation may go on in the next."""
    paths = [path for folder in ("plugins", "odanon_assets") for path in (REPOSITORY / folder).rglob("*.py")]
    return {str(path.relative_to(REPOSITORY)): " ".join(path.read_text().split()) for path in paths}


def parts(page: str) -> set[str]:
    """The headings of a page, and the words that paragraphs begin with."""
    return {heading or begun for heading, begun in _NAME.findall((DOCS / f"{page}.md").read_text())}


def lost_parts() -> Iterator[str]:
    for path, text in texts().items():
        for page, cited in _PART.findall(text):
            known, name = parts(page.lower()), cited.removeprefix(", ")
            if name not in known and not set(name.split(" and ")) <= known:
                yield f"{path}: {page}{cited}"


def test_parts_of_pages_that_code_cites_are_there() -> None:
    assert list(lost_parts()) == []
    assert sum(len(_PART.findall(text)) for text in texts().values()) > 20


def test_rules_that_code_cites_are_there() -> None:
    rules = set(
        re.findall(
            r"^(\d+)\. \*\*", (DOCS / "privacy.md").read_text().partition("## The rules by number")[2], re.MULTILINE
        )
    )
    cited = {rule for text in texts().values() for told in _RULES.findall(text) for rule in re.findall(r"\d+", told)}
    assert cited <= rules
    assert len(cited) > 20


def test_pages_that_code_cites_are_there() -> None:
    """Those that `make docs` writes from the code are no files."""
    cited = {(path, page) for path, text in texts().items() for page in re.findall(r"\bdocs/[\w/-]+\.md", text)}
    assert [each for each in sorted(cited) if not (REPOSITORY / each[1]).exists()] == []
