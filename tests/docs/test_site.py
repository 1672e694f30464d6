"""The built site: whole, linked, silent towards other hosts, and found by searching."""

import json
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from browser import find_browser, probed
from repository import REPOSITORY

# What newcomers and leaders of teams ask, the words they would type, and the page that answers.
QUESTIONS = (
    ("How do I correct a day?", "correct a day", "how-to/correct-a-day"),
    ("What does k count?", "unit k counts", "algorithms"),
    ("Can I use my own zones?", "own zones", "how-to/own-areas"),
    ("Which columns has flows?", "columns flows", "reference/tables"),
    ("How do I back up?", "backup", "how-to/back-up"),
    ("Can I try it without publishing?", "try trial", "how-to/try-without-publishing"),
    ("How do I open it in QGIS?", "export qgis", "how-to/export"),
    ("What is promised about people?", "promises", "privacy"),
    ("How do I choose k?", "choose k", "privacy"),
    ("Which options has odanon run?", "odanon run", "reference/commands"),
    ("What may a product file say under publish?", "publish retention", "reference/product-file"),
    ("How do I publish every night?", "nightly", "tutorials/product"),
    ("How do I anonymise my CSV file?", "csv table", "tutorials/own-table"),
    ("Which SQL functions are there?", "sql functions", "reference/sql"),
    ("What is the reconstruction loss?", "reconstruction loss formula", "reference/metrics"),
    ("How do I write an anonymiser?", "anonymiser plugin", "how-to/add-a-plugin"),
    ("Does it run on Spark?", "spark", "how-to/move-to-spark"),
    ("What happens when a check fails?", "check fails", "reference/checks"),
    ("What parameters has dwell?", "staypoints dwell", "reference/plugins"),
    ("How do I read results in Python?", "odanon.open", "reference/python"),
    ("How do I run a day again that failed?", "rerun failed day", "operations"),
    ("How do I limit the memory of a container?", "container memory limit", "deployment"),
    ("Can I open it in Excel?", "excel", "how-to/export"),
    ("Who withdrew a day?", "who withdrew", "how-to/who-did-what"),
    ("Is it the same again with a seed?", "seed reproducible", "demand"),
)
ASK = """
addEventListener("load", () => {
  const left = document.createElement("pre");
  left.id = "probe";
  left.textContent = JSON.stringify(%s);
  document.body.append(left);
});
"""
SHOWN = """[...document.querySelectorAll("ul.search li")].map((item) => ({
  page: item.querySelector("a").getAttribute("href"),
  excerpt: item.querySelector("p").textContent,
  marked: [...item.querySelectorAll("mark")].map((mark) => mark.textContent.toLowerCase()),
}))"""


class Page:
    """A built page: where it links to and what can be linked to in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")

    @cached_property
    def anchors(self) -> set[str]:
        return set(re.findall(r'\bid="([^"]+)"', self.text))

    def links(self) -> Iterator[tuple[Path, str]]:
        """Files and anchors inside the site."""
        for target in re.findall(r'<(?:a|link|img|script)\b[^>]*?\b(?:href|src)="([^"]+)"', self.text):
            if not re.match(r"[a-z]+:", target):
                file, _, anchor = target.partition("#")
                file = file.partition("?")[0]
                yield (self.path.parent / unquote(file)).resolve() if file else self.path.resolve(), unquote(anchor)


@pytest.fixture(scope="module")
def pages(built: Path) -> dict[Path, Page]:
    return {path.resolve(): Page(path) for path in built.rglob("*.html")}


def test_every_page_has_a_place_in_the_navigation(pages: dict[Path, Page], built: Path) -> None:
    """A page of a new kind gets a line in docs/build/navigation.yaml."""
    told = pages[(built / "index.html").resolve()].text
    _, found, rest = told.partition(">Other pages<")
    assert re.findall(r'class="reference internal" href="([^"]+)"', rest.partition("</ul>")[0] if found else "") == []
    assert re.findall(r'caption-text">([^<]+)<', told)[:2] == ["Tutorials", "How to"]


def test_every_link_and_anchor_inside_the_site_exists(pages: dict[Path, Page]) -> None:
    lost = [
        f"{page.path.name} -> {file.name}#{anchor}"
        for page in pages.values()
        for file, anchor in page.links()
        if not file.exists() or (anchor and file in pages and anchor not in pages[file].anchors)
    ]
    assert lost == []
    assert sum(len(list(page.links())) for page in pages.values()) > 1000


def test_every_example_can_be_had_from_a_page(pages: dict[Path, Page]) -> None:
    """Scripts and notebooks are linked to download."""
    linked = {file.name for page in pages.values() for file, _ in page.links() if "_downloads" in file.parts}
    examples = (REPOSITORY / "docs" / "examples").glob("*.*")
    assert {path.name for path in examples} - {"README.md"} <= linked


def test_no_page_asks_another_host(pages: dict[Path, Page], built: Path) -> None:
    fetched = re.compile(r'<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)="((?:https?:)?//[^"]+)"')
    assert [found for page in pages.values() for found in fetched.findall(page.text)] == []
    sheets = [path.read_text(encoding="utf-8") for path in built.rglob("*.css")]
    assert [
        found for sheet in sheets for found in re.findall(r"(?:url\(|@import\s+)['\"]?((?:https?:)?//[^)'\"]+)", sheet)
    ] == []
    assert not [path for path in built.rglob("*.js") if "MathJax" in path.read_text(encoding="utf-8")]


def asked(built: Path, folder: Path, script: str, query: str = "") -> Any:
    """What a script finds on the page of the search, in a browser, from the disk."""
    page = built / f"{folder.name}.html"
    page.write_text((built / "search.html").read_text().replace("</body>", f"<script>{ASK % script}</script></body>"))
    found = probed(find_browser(), f"{page.as_uri()}{query}", folder / "profile")
    page.unlink()
    return found


def test_the_questions_are_answered_by_searching(built: Path, tmp_path: Path) -> None:
    """The site's own search: the page is among the first three."""
    words = json.dumps([words for _, words, _ in QUESTIONS])
    script = f"Object.fromEntries({words}.map((each) => [each, Search.found(each).map((one) => one.page)]))"
    answers = asked(built, tmp_path, script)
    missed = {words: answers[words][:5] for _, words, page in QUESTIONS if page not in answers[words][:3]}
    assert missed == {}
    assert len(QUESTIONS) == 25


def test_results_show_the_words_and_lead_to_the_section(built: Path, tmp_path: Path, pages: dict[Path, Page]) -> None:
    shown = asked(built, tmp_path, SHOWN, "?q=choose+k")
    assert shown[0]["page"] == "privacy.html#how-to-choose-k"
    assert "k" in shown[0]["marked"]
    for result in shown[:10]:
        file, _, anchor = result["page"].partition("#")
        assert not anchor or anchor in pages[(built / file).resolve()].anchors
        assert len(result["excerpt"]) > 20


def test_where_no_page_has_all_words_those_with_most_are_found(built: Path, tmp_path: Path) -> None:
    shown = asked(built, tmp_path, SHOWN, "?q=rerun+failed+day+xylophone")
    assert shown[0]["page"] == "operations.html#a-bad-day"


def test_what_nobody_wrote_is_not_found(built: Path, tmp_path: Path) -> None:
    assert asked(built, tmp_path, SHOWN, "?q=xylophone") == []
