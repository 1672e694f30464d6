"""Is an XML text valid against the declarations of a DTD? For what our files use: elements, mixed text and attributes."""

import re
from typing import Any
from xml.parsers import expat

_QUANTITY = {0: "", 1: "?", 2: "*", 3: "+"}  # as expat numbers them
_EMPTY, _ANY, _MIXED, _NAME, _CHOICE = 1, 2, 3, 4, 5


def faults(xml: str, declarations: str) -> list[str]:
    """What is wrong with it; the document type that it names is replaced by the declarations."""
    models: dict[str, Any] = {}
    allowed: dict[str, dict[str, tuple[str, bool]]] = {}
    found: list[str] = []
    open_elements: list[list[str]] = [[]]

    def start(name: str, given: dict[str, str]) -> None:
        open_elements[-1].append(name)
        open_elements.append([])
        known = allowed.get(name, {})
        found.extend(f"{name} has {each}" for each in given if each not in known)
        for each, (kind, required) in known.items():
            if required and each not in given:
                found.append(f"{name} lacks {each}")
            elif kind.startswith("(") and each in given and given[each] not in kind.strip("()").split("|"):
                found.append(f"{name} has {each}={given[each]}")

    def end(name: str) -> None:
        children = "".join(f"{child} " for child in open_elements.pop())
        if name not in models:
            found.append(f"nobody knows {name}")
        elif not re.fullmatch(_pattern(models[name]), children):
            found.append(f"{name} has the children {children}")

    def text(data: str) -> None:
        inside = models.get(_last(open_elements))
        if data.strip() and inside is not None and inside[0] != _MIXED:
            found.append(f"text in {_last(open_elements)}")

    def attribute(element: str, name: str, kind: str, _default: str | None, required: bool) -> None:
        allowed.setdefault(element, {})[name] = (kind, required)

    parser = expat.ParserCreate()
    parser.ElementDeclHandler = models.__setitem__
    parser.AttlistDeclHandler = attribute
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    inner = re.sub(r"<!DOCTYPE (\w+)[^>]*>", lambda told: f"<!DOCTYPE {told[1]} [{declarations}]>", xml, count=1)
    parser.Parse(inner.encode(), True)
    return found


def _last(open_elements: list[list[str]]) -> str:
    return open_elements[-2][-1]


def _pattern(model: tuple[int, int, str | None, tuple[Any, ...]]) -> str:
    """The children that a model allows, as an expression over their names."""
    kind, quantity, name, inner = model
    if kind == _ANY:
        return ".*"
    if kind == _EMPTY or (kind == _MIXED and not inner):
        return ""
    if kind == _NAME:
        return f"(?:{name} ){_QUANTITY[quantity]}"
    joint = "|" if kind in (_CHOICE, _MIXED) else ""
    return f"(?:{joint.join(map(_pattern, inner))}){_QUANTITY[quantity]}"
