"""The rules of the house that no linter knows (docs/architecture.md): small rooms, and imports where one sees them."""

import ast
import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
from repository import REPOSITORY

PACKAGES = {"odanon": REPOSITORY / "plugins" / "odanon", "odanon_assets": REPOSITORY / "odanon_assets"}
MOST_FILES = 12
# Rooms that hold no subject of their own: kernels belong to the room around them, migrations to the database.
UNCOUNTED = {"kernels", "versions"}


def modules() -> list[Path]:
    return sorted(path for folder in PACKAGES.values() for path in folder.rglob("*.py"))


@pytest.mark.parametrize("room", sorted({path.parent for path in modules()}), ids=lambda room: room.name)
def test_a_room_has_at_most_a_dozen_files(room: Path) -> None:
    files = [path for path in room.glob("*.py") if path.name != "__init__.py"]
    assert len(files) <= MOST_FILES or room.name in UNCOUNTED, f"{room} has {len(files)} files; split it by subject"


def hidden_imports(path: Path) -> Iterator[str]:
    """Our own modules that a function imports when it runs."""
    tree = ast.parse(path.read_text())
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    for node in (node for function in functions for node in ast.walk(function)):
        named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        named += [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []
        yield from (name for name in named if name.split(".")[0] in PACKAGES)


def test_functions_import_no_module_of_ours_but_kernels() -> None:
    """Start-up time is saved where it is spent: at compilers and slow packages, not at our own modules."""
    found = [f"{path.relative_to(REPOSITORY)}: {name}" for path in modules() for name in hidden_imports(path)]
    assert [line for line in found if "kernels" not in line] == []


def test_the_gate_imports_the_model_alone() -> None:
    """What the model needs comes with it; of all others the gate knows nothing but how a mistake is told."""
    allowed = {"gate", "model", "errors"}
    for path in sorted((PACKAGES["odanon"] / "gate").rglob("*.py")):
        nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        named = [(node.module or "").split(".") for node in nodes]
        rooms = {parts[1] for parts in named if parts[0] == "odanon" and len(parts) > 1}
        assert rooms <= allowed, f"{path.name} imports {sorted(rooms - allowed)}"


def test_every_module_says_what_it_is() -> None:
    silent = [path for path in modules() if path.stat().st_size and not ast.get_docstring(ast.parse(path.read_text()))]
    assert [path for path in silent if path.name != "__init__.py"] == []


def test_benchmarks_import_names_that_exist() -> None:
    """They run seldom, and a module that moved would be noticed late."""
    for path in sorted((REPOSITORY / "tests" / "bench").rglob("*.py")):
        nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        for node in (node for node in nodes if (node.module or "").split(".")[0] in PACKAGES):
            module = importlib.import_module(node.module or "")
            missing = [alias.name for alias in node.names if not hasattr(module, alias.name)]
            assert all(importlib.util.find_spec(f"{node.module}.{name}") for name in missing), f"{path.name}: {missing}"
