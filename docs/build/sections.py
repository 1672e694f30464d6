"""What the search of the site looks through: every section with its words, in a script that a page from the disk can load too."""

import json
import pickle
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes

_UNSAID = (nodes.title, nodes.section, nodes.comment, nodes.Invisible)


def write_sections(trees: Path, out: Path) -> None:
    """The sections of all pages that Sphinx left in `trees`, as the script that search.js reads."""
    found = [
        section
        for path in sorted(trees.rglob("*.doctree"))
        for section in _sections(str(path.relative_to(trees).with_suffix("")), pickle.loads(path.read_bytes()))
    ]
    (out / "_static" / "sections.js").write_text(f"const SECTIONS = {json.dumps(found, ensure_ascii=False)};\n")


def _sections(page: str, tree: nodes.document) -> Iterator[dict[str, str]]:
    """Page, its title, and anchor, title and text of a section; the text of the sections below is theirs."""
    found = list(tree.findall(nodes.section))
    for section in found:
        yield {
            "page": page,
            "of": _title(found[0]),
            "anchor": "" if section is found[0] else f"#{section['ids'][0]}",
            "title": _title(section),
            "text": " ".join(text for child in section.children for text in _words(child)),
        }


def _title(section: nodes.section) -> str:
    return next(section.findall(nodes.title)).astext()


def _words(node: nodes.Node) -> Iterator[str]:
    if not isinstance(node, _UNSAID):
        yield " ".join(node.astext().split())
