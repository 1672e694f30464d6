"""`make docs`: the documentation site. `python docs/build FOLDER` writes it there, from the pages and from the code."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

import yaml
from commands import commands_page
from demand_files import demand_page
from plugin_lists import metrics_page, plugins_page
from products import product_page
from python_names import python_page
from sections import write_sections
from tables import checks_page, sql_page, tables_page

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent
OF_THE_REPOSITORY = ("CHANGELOG.md", "CONTRIBUTING.md")  # beside docs/, pages of the site too
GENERATED: dict[str, Callable[[], str]] = {
    "reference/commands.md": commands_page,
    "reference/product-file.md": lambda: product_page(HERE),
    "reference/demand-file.md": lambda: demand_page(HERE),
    "reference/plugins.md": plugins_page,
    "reference/python.md": python_page,
    "reference/sql.md": lambda: sql_page(HERE),
    "reference/tables.md": tables_page,
    "reference/metrics.md": lambda: metrics_page(DOCS),
    "reference/checks.md": checks_page,
}
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#\s:]+)(#[^)\s]*)?\)")


def build(out: Path) -> int:
    """Gather the pages in a folder that is thrown away, and have Sphinx make the site of them; what it warns of fails."""
    with tempfile.TemporaryDirectory(prefix="odanon-docs-") as folder:
        source = Path(folder)
        gather(source)
        sphinx = [sys.executable, "-m", "sphinx", "--builder", "html", "--conf-dir", str(HERE), "--jobs", "2"]
        strict = ["--quiet", "--fail-on-warning", "--keep-going", "--doctree-dir", f"{folder}/.trees"]
        code = subprocess.call([*sphinx, *strict, folder, str(out)])
        if not code:
            write_sections(source / ".trees", out)
        return code


def make_room(out: Path) -> None:
    """Delete an earlier site, whose pages may be gone from this one, and nothing else."""
    if (out / ".buildinfo").is_file():
        shutil.rmtree(out)
    elif out.is_dir() and any(out.iterdir()):
        sys.exit(f"{out} holds something else than an earlier site; name another folder, or empty it")


def gather(source: Path) -> None:
    """Every page of the site, those of the code too, and what is shown in them."""
    shutil.copytree(DOCS, source, dirs_exist_ok=True, ignore=shutil.ignore_patterns("build"))
    for name in OF_THE_REPOSITORY:
        (source / name).write_text((DOCS.parent / name).read_text())
    for name, written in GENERATED.items():
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(written())
    for path in source.rglob("*.md"):
        path.write_text(_moved(path.read_text(), path.relative_to(source)))
    index = source / "index.md"
    index.write_text(index.read_text() + _navigation(pages(source)))


def pages(source: Path) -> list[str]:
    """The names of all pages but the first."""
    return sorted(
        str(path.relative_to(source).with_suffix("")) for path in source.rglob("*.md") if path.name != "index.md"
    )


def sections(found: list[str]) -> dict[str, dict[str, str]]:
    """The pages of each section of the navigation and what they are called there, and those that none names."""
    named, left = dict[str, dict[str, str]](), list(found)
    for title, entries in yaml.safe_load((HERE / "navigation.yaml").read_text()).items():
        told = [(name, page) for name, pattern in map(_entry, entries) for page in left if fnmatch(page, pattern)]
        named[title] = {}
        for name, page in told:
            named[title].setdefault(page, name)
        left = [page for page in left if page not in named[title]]
    return {title: listed for title, listed in {**named, "Other pages": dict.fromkeys(left, "")}.items() if listed}


def _entry(entry: str | dict[str, str]) -> tuple[str, str]:
    """A name in the navigation, nothing for the page's own title, and a pattern of pages."""
    return next(iter(entry.items())) if isinstance(entry, dict) else ("", entry)


def _navigation(found: list[str]) -> str:
    lines = {
        title: [f"{name} <{page}>" if name else page for page, name in listed.items()]
        for title, listed in sections(found).items()
    }
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n:caption: {title}\n\n" + "\n".join(told) + "\n```\n"
        for title, told in lines.items()
    )


def _moved(text: str, page: Path) -> str:
    """Links of a page as they stand in the site: pages beside docs/ lie in it, other files of the repository do not."""
    home = DOCS.parent if str(page) in OF_THE_REPOSITORY else DOCS / page.parent

    def follow(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(home / link[2]))
        if target.is_relative_to(DOCS):
            there = target.relative_to(DOCS)
        elif target.parent == DOCS.parent and target.name in (*OF_THE_REPOSITORY, "README.md"):
            there = Path("index.md" if target.name == "README.md" else target.name)
        else:
            return link[1] if target.exists() else link[0]
        return f"[{link[1]}]({os.path.relpath(there, page.parent)}{link[3] or ''})"

    return _LINK.sub(follow, text)


if __name__ == "__main__":
    site = Path(sys.argv[1] if len(sys.argv) > 1 else DOCS.parent / "site")
    make_room(site)
    if code := build(site):
        sys.exit(code)
    print(f"The documentation is in {site}; open {site}/index.html.")
