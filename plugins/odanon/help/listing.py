"""The commands that installed packages offer (entry points `odanon.commands`), listed without importing any of them.

What `odanon --help` says of a command is read from its source: the first paragraph of its docstring (or the `help` of a
Typer app), the constant `PANEL`, the panel it stands in and its place there, and `NEEDS`, the extra without which it does
not work. A command is imported when it is called: the help tells what its source shows to be broken, and the call whatever
else is.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from typing import Any

from odanon.errors import OdanonError, pass_on
from odanon.extras import MissingExtraError, is_installed, needed_by
from odanon.offered import AMBIGUOUS, TAKEN, offered, packages

GROUP = "odanon.commands"
PANELS = ("Run and watch", "One table", "Traces", "Stores", "Demand", "Plugins", "Other packages")
_UNPLACED = (PANELS[-1], 0)


@dataclass(frozen=True)
class Offer:
    """A command by its name, with every different thing that installed packages offer under it."""

    name: str
    points: tuple[EntryPoint, ...]
    losing: tuple[EntryPoint, ...]

    @property
    def packages(self) -> str:
        return packages(self.points)

    def broken(self, why: str, error: BaseException | None = None) -> OdanonError:
        """The sentence of a command that cannot be called, with the first line of what a stranger's module says."""
        first_line = str(error).partition("\n")[0]
        said = "" if error is None else f" ({type(error).__name__}: {first_line})"
        return OdanonError(f"the command {self.name!r} of {self.packages} is broken: {why}{said}")

    def load(self) -> Any:
        """What is behind the command; whatever goes wrong with a stranger's module is one sentence."""
        if len(self.points) > 1:
            raise self.broken(AMBIGUOUS)
        try:
            with needed_by(f"`odanon {self.name}`"):
                return self.points[0].load()
        except MissingExtraError:
            raise
        except BaseException as error:
            pass_on(error)
            raise self.broken("it cannot be imported", error) from error


@dataclass(frozen=True)
class Listing:
    """A line of `odanon --help`."""

    help: str
    panel: str
    place: int


class _BrokenError(Exception):
    """A module that cannot be imported, as its source already shows."""


def offers() -> list[Offer]:
    """All commands by name."""
    return [Offer(name, found.points, found.losing) for name, found in offered(GROUP).items()]


def listing(offer: Offer) -> Listing:
    """What the help says of a command; of a broken one, that it is broken and why."""
    try:
        if len(offer.points) > 1:
            raise _BrokenError(AMBIGUOUS)
        line = _read(offer.points[0])
        lost = f" (**broken**: the one of {packages(offer.losing)}: {TAKEN})" if offer.losing else ""
        return replace(line, help=line.help + lost)
    except Exception as error:  # whatever a stranger's source looks like
        why = str(error) if isinstance(error, _BrokenError) else f"{type(error).__name__} when it was read"
        return Listing(f"**broken** ({offer.packages}): {why}", *_UNPLACED)


def source_of(module: str) -> ast.Module:
    """The source of a module, of which nothing runs."""
    return list(_sources(module))[-1]


def _read(point: EntryPoint) -> Listing:
    *packages, module = _sources(point.module)
    name, needs = point.attr.partition(".")[0], _needs(module)
    if needs and not is_installed(needs):
        return Listing(f"{_first_paragraph(_help(module, name))} (needs `odanon[{needs}]`)", *_place(module))
    for source in (*packages, module):
        _check_imports(source)
    if not _defines(module, name):
        raise _BrokenError(f"{point.module} defines no {name!r}")
    return Listing(_first_paragraph(_help(module, name)), *_place(module))


def _sources(module: str) -> Iterator[ast.Module]:
    """A module after the packages around it; they are found and parsed, and nothing of them runs."""
    spec: ModuleSpec | None = None
    names = module.split(".")
    for depth in range(1, len(names) + 1):
        name = ".".join(names[:depth])
        spec = find_spec(name) if spec is None else PathFinder.find_spec(name, spec.submodule_search_locations)
        if spec is None:
            raise _BrokenError(f"there is no module {name}")
        read = getattr(spec.loader, "get_source", None)  # a compiled module has no source
        yield ast.parse((read(name) if read else None) or "")


def _check_imports(source: ast.Module) -> None:
    """Refuse a module that raises as a matter of course, or needs a package that is not installed."""
    for statement in source.body:
        match statement:
            case ast.Raise():
                raise _BrokenError("its module raises an error when it is imported")
            case ast.Import(names=aliases):
                wanted = [alias.name for alias in aliases]
            case ast.ImportFrom(module=str(module), level=0):
                wanted = [module]
            case _:
                wanted = []
        for package in (name.partition(".")[0] for name in wanted):
            if not _is_installed(package):
                raise _BrokenError(f"it needs the package {package}, which is not installed")


@cache
def _is_installed(package: str) -> bool:
    return find_spec(package) is not None


def _defines(source: ast.Module, name: str) -> bool:
    """Whether a module may have a name: one without source, with `import *` or with `__getattr__` may have any."""
    if name in {getattr(statement, "name", None) for statement in source.body}:
        return True
    bound = {name} if not source.body else set()
    for node in ast.walk(source):
        match node:
            case ast.FunctionDef(name=given) | ast.ClassDef(name=given) | ast.Name(id=given, ctx=ast.Store()):
                bound.add(given)
            case ast.alias():
                bound.add(node.asname or node.name)
    return bool(bound & {name, "*", "__getattr__"})


def _help(source: ast.Module, name: str) -> str:
    """The docstring of a function, the `help` of a Typer app, or else the docstring of the module."""
    for node in source.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return ast.get_docstring(node) or ""
    called = _assigned(source, name)
    for keyword in called.keywords if isinstance(called, ast.Call) else ():
        match keyword:
            case ast.keyword(arg="help", value=ast.Constant(value=str(text))):
                return text
    return ast.get_docstring(source) or ""


def _place(source: ast.Module) -> tuple[str, int]:
    """Panel and place, `PANEL = ("Traces", 2)`; a module that says nothing of them stands among other packages."""
    match _assigned(source, "PANEL"):
        case ast.Tuple(elts=[ast.Constant(value=str(panel)), ast.Constant(value=int(place))]):
            return panel, place
    return _UNPLACED


def _needs(source: ast.Module) -> str | None:
    """The extra that a command cannot do without, `NEEDS = "pipeline"`."""
    match _assigned(source, "NEEDS"):
        case ast.Constant(value=str(extra)):
            return extra
    return None


def _assigned(source: ast.Module, name: str) -> ast.expr | None:
    """The expression that a module assigns to a name."""
    for node in source.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=given)], value=value) if given == name:
                return value
    return None


def _first_paragraph(text: str) -> str:
    return " ".join(text.strip().partition("\n\n")[0].split())
