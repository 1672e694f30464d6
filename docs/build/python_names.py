"""The page of Python names: what `odanon`, `odanon.api` and the suites offer, read from their sources."""

import ast
import inspect
import re
import textwrap
from importlib import import_module
from typing import Any

from marks import code, fenced, page, table

_MODULES = {
    "odanon": "What users call: `import odanon`. The same names are in `odanon.api`.",
    "odanon.api": "The stable names for those who write plugins. Every other path is private and moves without notice.",
    "odanon.testing": "The conformance suites: each raises `AssertionError` with a sentence that names the broken rule.",
    "odanon_assets.api": "The stable names for packages that bring a store.",
    "odanon_assets.testing": "The conformance suite of stores.",
}
_DEFAULT = re.compile(r"^(\w+: [^=]+)=(.+)$")  # an argument with type and default
_INTRO = """Everything public in Python. To read what is published see [odanon.open](#odanon-open) and `PublishedProduct`; to anonymise a table,
[odanon.anonymize](#odanon-anonymize); to write a plugin, [Writing a plugin](../plugins/README.md)."""


def python_page() -> str:
    """One section a module, one below it a name; a name stands where it is offered first."""
    parts, told = [], set[int]()
    for module, text in _MODULES.items():
        found = import_module(module)
        names = [(name, getattr(found, name)) for name in _public(found)]
        new = [(name, value) for name, value in names if id(value) not in told]
        told |= {id(value) for _, value in names}
        parts += [f"## {module}", text, *(_described(f"{module}.{name}", value) for name, value in new)]
    return page("Python names", _INTRO, *parts)


def _public(module: Any) -> list[str]:
    """The names that a module offers; without a list, its functions."""
    return sorted(getattr(module, "__all__", None) or _functions(module), key=str.lower)


def _functions(module: Any) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]


def _described(name: str, value: Any) -> str:
    anchor = f"({name.replace('.', '-').lower()})="
    parts = [anchor, f"### {name}"]
    if inspect.isfunction(value):
        return "\n\n".join([*parts, fenced("python", _signature(_node(value), name)), _doc(value)])
    if inspect.isclass(value):
        return "\n\n".join([*parts, _doc(value), *_members(_node(value))]).rstrip()
    return "\n\n".join([*parts, fenced("python", f"{name} = {_value(value)}")])


def _value(value: Any) -> str:
    return repr(set(value)) if isinstance(value, frozenset) and value else str(value).replace("typing.", "")


def _node(value: Any) -> Any:
    return ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]


def _doc(value: Any) -> str:
    """A docstring, its sessions as code."""
    text = inspect.getdoc(value) or ""
    return re.sub(
        r"^>>> .+?(?=\n\n|\Z)", lambda session: fenced("pycon", session[0]), text, flags=re.DOTALL | re.MULTILINE
    )


def _signature(node: Any, name: str = "") -> str:
    """A function as it is called, one line an argument where it is long."""
    name = name or node.name
    answer = "" if node.returns is None else f" -> {_unquoted(node.returns)}"
    pieces = [_DEFAULT.sub(r"\1 = \2", piece.strip()) for piece in _split(ast.unparse(node.args))]
    line = f"{name}({', '.join(pieces)}){answer}"
    return line if len(line) <= 110 else f"{name}(\n    " + ",\n    ".join(pieces) + f",\n){answer}"


def _unquoted(annotation: ast.expr) -> str:
    return str(annotation.value) if isinstance(annotation, ast.Constant) else ast.unparse(annotation)


def _split(arguments: str) -> list[str]:
    """Arguments, cut at the commas that lie in no bracket."""
    pieces, depth = [""], 0
    for letter in arguments:
        depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(letter, 0)
        if letter == "," and not depth:
            pieces.append("")
        else:
            pieces[-1] += letter
    return pieces


def _members(node: ast.ClassDef) -> list[str]:
    """Fields and methods of a class."""
    fields = [each for each in node.body if isinstance(each, ast.AnnAssign) and not _hidden(each.target)]
    methods = [each for each in node.body if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")]
    rows = [(code(ast.unparse(each.target)), code(ast.unparse(each.annotation)), _given(each)) for each in fields]
    parts = [table(("field", "type", "default"), rows)]
    parts.append(table(("method", "what it does"), [(_call(each), _first(each)) for each in methods]))
    return [part for part in parts if part]


def _hidden(target: ast.expr) -> bool:
    return ast.unparse(target).startswith("_")


def _given(each: ast.AnnAssign) -> str:
    """The default of a field; that of a parameter with what it means."""
    if isinstance(each.value, ast.Call) and ast.unparse(each.value.func) == "parameter":
        default, meaning = (ast.literal_eval(argument) for argument in each.value.args[:2])
        return f"{code(default)}: {meaning}"
    return code(ast.unparse(each.value)) if each.value is not None else ""


def _call(node: ast.FunctionDef) -> str:
    if any(ast.unparse(each).endswith("property") for each in node.decorator_list):
        return code(node.name)
    arguments = ast.unparse(node.args).removeprefix("self").removeprefix("cls").removeprefix(", ")
    return code(f"{node.name}({arguments})")


def _first(node: ast.FunctionDef) -> str:
    return (ast.get_docstring(node) or "").partition("\n\n")[0]
