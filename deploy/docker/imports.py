"""Import all that odanon imports, at the top of a module or inside a function, and the programs of Dagster that it runs.

The build ends with it, so that nothing that slim.sh took out is missed. Python leaves the byte-code of what the programs
load when they start, and of what a day loads on its way, since nothing can be written later: every process would compile
it anew. What few products use is compiled when it is used.
"""

import ast
import compileall
import importlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import odanon
import odanon_assets

# There when the build was asked for them.
EXTRAS = {"dagster_k8s", "holidays", "matplotlib", "opendp", "openlineage", "openmatrix", "pyspark"}
PROGRAMS = ("odanon.cli", "dagster._cli", "dagster._daemon.cli", "dagster_webserver.cli", "dagster_webserver.app")
STORAGE = ("dagster_postgres",)  # named in deploy/dagster.yaml
DAY = ("duckdb", "geopandas", "h3", "numba", "scipy.sparse.csgraph", "shapely")


def imported(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str | None]]:
    """Every module that these statements import, and what they take from it."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


def load(wanted: set[tuple[str, str | None]]) -> None:
    for module, name in sorted(wanted, key=str):
        try:
            if name is not None and not hasattr(importlib.import_module(module), name):
                module = f"{module}.{name}"
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in EXTRAS:
                raise


files = [file for package in (odanon, odanon_assets) for file in Path(package.__path__[0]).rglob("*.py")]
location = Path(odanon_assets.__path__[0], "definitions.py")  # itself it loads product files, which are not here
for package in (odanon, odanon_assets):
    compileall.compile_dir(package.__path__[0], quiet=1)
load({(name, None) for name in PROGRAMS + STORAGE + DAY} | {*imported(ast.parse(location.read_text()).body)})
sys.dont_write_bytecode = True
load({each for file in files for each in imported(ast.walk(ast.parse(file.read_text())))})
print(f"all that {len(files)} files import is there")
