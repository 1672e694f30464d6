"""A command as far as its help needs it: options and their words, without what it imports to do its work.

Help must come at once, and to import pandas and all that a command works with takes a second. So only those statements of a
module run that the signature of the command stands on: what its annotations, defaults and decorators name, and what these name
in turn, through our own modules. Bodies of functions are left alone, but for those that are called on the way.
"""

import ast
import importlib
from collections.abc import Callable, Iterator
from typing import Any

from odanon.help.listing import source_of

_OURS = ("odanon", "odanon_assets")


def outlined(module: str, name: str) -> Any:
    """A function or Typer app of a module, to be asked for its options and never to be called."""
    modules: dict[str, _Outline] = {}

    def known(wanted: str) -> _Outline:
        if wanted not in modules:
            modules[wanted] = _Outline(wanted, known)
        return modules[wanted]

    found = known(module)
    found.make(name, called=False)
    found.make_commands(name)
    return found.names[name]


class _Outline:
    """A module of which only what was asked for has run."""

    def __init__(self, name: str, known: "Callable[[str], _Outline]") -> None:
        self.name, self.known = name, known
        self.names: dict[str, Any] = {"__name__": name}
        self.source = source_of(name)
        for method in (node for node in ast.walk(self.source) if isinstance(node, ast.ClassDef) for node in node.body):
            _forget_types(method)
        self.binding = {bound: statement for statement in self.source.body for bound in _bound(statement)}
        self.asked: set[tuple[str, bool]] = set()

    def make(self, name: str, called: bool) -> None:
        """Give a name its value; what is no name of the module is left to Python."""
        if name not in self.binding or (name, called) in self.asked:
            return
        self.asked.add((name, called))
        statement = self.binding[name]
        if isinstance(statement, ast.ImportFrom) and str(statement.module).partition(".")[0] in _OURS:
            self._take(name, statement, called)
            return
        if called and isinstance(statement, ast.FunctionDef):
            self._make_all(*statement.body)
        if name not in self.names:
            self._make_all(statement)
            exec(compile(ast.Module([statement], []), self.name, "exec"), self.names)

    def make_commands(self, app: str) -> None:
        """Run what adds commands to a Typer app: the functions that it decorates."""
        for statement in self.source.body:
            if isinstance(statement, ast.FunctionDef) and app in dict(_used(*statement.decorator_list)):
                self.make(statement.name, called=False)

    def _take(self, name: str, statement: ast.ImportFrom, called: bool) -> None:
        """A name of another module of ours, in outline too; one that is a module itself is imported."""
        module = str(statement.module)
        (wanted,) = (alias.name for alias in statement.names if name == (alias.asname or alias.name))
        other = self.known(module)
        if wanted not in other.binding:
            self.names[name] = importlib.import_module(f"{module}.{wanted}")
            return
        other.make(wanted, called)
        self.names[name] = other.names[wanted]

    def _make_all(self, *nodes: ast.AST) -> None:
        for name, called in _used(*nodes):
            self.make(name, called)


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement gives a value."""
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.Assign(targets=targets):
            named = (node for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
            yield from (name.id for name in named if isinstance(name.ctx, ast.Store))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def _forget_types(method: ast.stmt) -> None:
    """Nobody asks for the types of methods, which may be those of large packages."""
    if not isinstance(method, ast.FunctionDef):
        return
    method.returns = None
    for argument in ast.walk(method.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None


def _used(*nodes: ast.AST) -> Iterator[tuple[str, bool]]:
    """The names that are looked up when these are run, and whether what they stand for is called."""
    for node in nodes:
        match node:
            case ast.FunctionDef(args=arguments, decorator_list=decorators, returns=returns):
                yield from ((name, True) for name, _ in _used(*decorators))
                yield from _used(arguments, *([returns] if returns else []))
            case ast.ClassDef(decorator_list=decorators):
                yield from ((name, True) for name, _ in _used(*decorators))
                yield from _used(*node.bases, *node.keywords, *node.body)
            case ast.Lambda(args=arguments):
                yield from _used(arguments)
            case ast.Call(func=ast.Name(id=name)):
                yield name, True
                yield from _used(*node.args, *node.keywords)
            case ast.Name(id=name):
                yield name, False
            case _:
                yield from _used(*ast.iter_child_nodes(node))
