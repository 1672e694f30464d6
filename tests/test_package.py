"""The package as somebody installs it: what the wheel holds, and an environment with nothing but its own requirements."""

import ast
import json
import os
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from datetime import date
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from bundles import accept, bundle
from distributions import needed
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from repository import REPOSITORY

from odanon.extras import BROUGHT_BY, MissingExtraError, needed_by
from odanon_assets.stores.embedded import EmbeddedStore

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
FOLDERS = {"odanon": REPOSITORY / "plugins" / "odanon", "odanon_assets": REPOSITORY / "odanon_assets"}
LEFT = ("__pycache__", "*.egg-info")
# What a newcomer may do after `pip install odanon`, in one process; the last line of its output is read.
USED = """
import json, sys
from pathlib import Path
import numpy, odanon
from odanon import cli, registry
from odanon.help.listing import offers
from shapely import box
from typer.testing import CliRunner

told = {}
for offer in offers():
    try:
        offer.load()
        told[offer.name] = ""
    except odanon.OdanonError as error:
        told[offer.name] = str(error)
broken = [str(found) for stage in registry.STAGES for found in registry.installed(stage) if isinstance(found, registry.Broken)]
town = odanon.open(sys.argv[1])["town"]
try:
    odanon.open("postgresql://reader@localhost/odanon").products
except odanon.OdanonError as error:
    database = str(error)
numbers = numpy.random.default_rng(1).integers(0, 5, (300, 2))
Path("trips.csv").write_text("origin,destination,trips\\n" + "".join(f"z{a},z{b},3\\n" for a, b in numbers))
Path("tree.csv").write_text("child,parent\\n" + "".join(f"z{at},all\\n" for at in range(5)))
words = "anonymize trips.csv --count trips --unit trips --hierarchy tree.csv --out release -k 5".split()
made = CliRunner().invoke(cli.main, words)
print(json.dumps({
    "commands": told, "broken": broken, "trips": int(town.flows()["trips"].sum()),
    "estimate": town.flow(box(0, 0, 0.5, 1), box(1, 0, 3, 1)).estimate, "database": database,
    "released": made.output + repr(made.exception),
    "there": [name for name in sys.argv[2:] if name in sys.modules],
}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built without a network, from a copy of what the build may need."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(REPOSITORY / name, source)
    for name in ("plugins", "odanon_assets", "tests/support"):
        shutil.copytree(REPOSITORY / name, source / name, ignore=shutil.ignore_patterns(*LEFT))
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--wheel-dir", source / "dist", source], check=True, capture_output=True)
    (found,) = (source / "dist").iterdir()
    return found


def test_the_wheel_holds_every_file_of_the_two_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}
    ours = {
        f"{package}/{path.relative_to(folder)}": path.read_bytes()
        for package, folder in FOLDERS.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held.keys() == ours.keys()
    assert held == ours
    assert {".py", ".pyi", ".html", ".js", ".css", ".sql"} <= {Path(name).suffix for name in held}
    assert "odanon/py.typed" in held


@pytest.fixture(scope="module")
def core(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of its own with the wheel and what its core requires, and nothing else that is installed here."""
    folder = tmp_path_factory.mktemp("core") / "venv"
    venv.create(folder, symlinks=True)
    (site,) = (folder / "lib").glob("python3*/site-packages")
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True, capture_output=True)
    for (
        name,
        source,
    ) in FOLDERS.items():  # the same bytes, as a test above shows, with their compiled kernels beside them
        shutil.rmtree(site / name)
        (site / name).symlink_to(source)
    for found in needed(PROJECT["dependencies"]).values():
        for top in {file.parts[0] for file in found.files or [] if file.parts[0] not in ("..", "__pycache__")}:
            (site / top).symlink_to(Path(str(found.locate_file(top))))
    return folder / "bin"


def run(core: Path, folder: Path, *words: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ODANON", "VIRTUAL"))}
    environment = {**plain, "COLUMNS": "200", **settings}
    command = [core / words[0], *words[1:]]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def used(core: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the core alone did."""
    folder = tmp_path_factory.mktemp("used")
    EmbeddedStore(folder).publish(bundle(day=date(2026, 3, 2), rows=9), accept)
    done = run(core, folder, "python", "-c", USED, folder, *BROUGHT_BY)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_core_anonymises_a_table_and_reads_a_published_folder(used: dict[str, Any]) -> None:
    assert "every flow holds at least 5 trips" in used["released"]
    assert used["trips"] > 0
    assert used["estimate"] > 0
    assert used["there"] == []  # or the environment is not as empty as it should be


def needs() -> dict[str, str]:
    """The extra that our commands declare."""
    found = {}
    for name, value in PROJECT["entry-points"]["odanon.commands"].items():
        package, _, rest = value.partition(":")[0].partition(".")
        tree = ast.parse((FOLDERS[package] / f"{rest.replace('.', '/')}.py").read_text())
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "NEEDS":
                found[name] = ast.literal_eval(node.value)
    return found


def test_a_command_whose_extra_is_missing_says_what_to_install(used: dict[str, Any]) -> None:
    told = {name: sentence for name, sentence in used["commands"].items() if sentence}
    module = {"pipeline": "dagster", "explore": "uvicorn"}
    assert told.keys() == {name for name, extra in needs().items() if extra in module}
    for name, sentence in told.items():
        extra = needs()[name]
        assert sentence == f"`odanon {name}` needs {module[extra]}; run: pip install 'odanon[{extra}]'"


def test_none_of_our_plugins_is_broken_for_want_of_an_extra(used: dict[str, Any]) -> None:
    assert used["broken"] == []
    assert used["database"] == "a database needs sqlalchemy; run: pip install 'odanon[postgis]'"


def test_the_help_of_the_core_lists_every_command_and_marks_those_that_need_more(core: Path, tmp_path: Path) -> None:
    shown = run(core, tmp_path, "odanon", "--help").stdout
    assert "broken" not in shown
    lines = {line.split()[1]: line for line in shown.splitlines() if line.startswith("│ ") and line[2] != " "}
    for name in PROJECT["entry-points"]["odanon.commands"]:
        extra = needs().get(name)
        assert (f"(needs odanon[{extra}])" in lines[name]) == (extra is not None)


@pytest.mark.parametrize("words", [("run", "demo"), ("db", "check")], ids=" ".join)
def test_a_call_without_its_extra_is_one_sentence(core: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run(core, tmp_path, "odanon", *words, ODANON_DB_URL="postgresql://nobody@localhost/none")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"pip install 'odanon[{needs()[words[0]]}]'" in done.stderr


def names(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=aliases):
            return [alias.name.partition(".")[0] for alias in aliases]
        case ast.ImportFrom(module=str(module), level=0):
            return [module.partition(".")[0]]
    return []


def test_what_modules_import_is_required_by_the_core_or_brought_by_a_known_extra() -> None:
    """At the top of a module of the library the core alone; the rest inside functions, where its want can be told."""
    declared = {canonicalize_name(Requirement(each).name) for each in PROJECT["dependencies"]}
    owners = packages_distributions()

    def is_core(module: str) -> bool:
        own = module in FOLDERS or module in sys.stdlib_module_names
        return own or not declared.isdisjoint(map(canonicalize_name, owners.get(module, [])))

    for folder in FOLDERS.values():
        for path in folder.rglob("*.py"):
            tree = ast.parse(path.read_text())
            unknown = {name for node in ast.walk(tree) for name in names(node) if not is_core(name)} - {*BROUGHT_BY}
            assert not unknown, f"{path} imports {unknown}"
            if folder == FOLDERS["odanon"]:
                assert all(is_core(name) for node in tree.body for name in names(node)), path


def test_extras_bring_what_is_said_of_them() -> None:
    owners = packages_distributions()
    for module, extra in BROUGHT_BY.items():
        wanted = {canonicalize_name(Requirement(each).name) for each in PROJECT["optional-dependencies"][extra]}
        assert not wanted.isdisjoint(map(canonicalize_name, owners[module])), module
    (everything,) = (Requirement(each) for each in PROJECT["optional-dependencies"]["all"])
    assert everything.extras | {"explore", "postgis"} == PROJECT["optional-dependencies"].keys() - {
        "all",
        "bench",
        "dev",
        "docs",
    }


def test_only_modules_of_extras_are_told_of() -> None:
    with pytest.raises(ModuleNotFoundError), needed_by("this test"):
        import no_such_module  # noqa: F401
    with pytest.raises(MissingExtraError, match="this test needs dagster; run: pip install"), needed_by("this test"):
        raise ModuleNotFoundError("no", name="dagster.deep")
