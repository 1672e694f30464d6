"""One offline HTML file: shell, style, scripts and data inlined, nothing fetched.

The shell carries a content security policy that forbids every request, so a browser enforces what the page
promises.
"""

import datetime as dt
import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from string import Template
from typing import Any

MAP = ("zones.js", "scene.js", "film.js", "hands.js", "map.js")  # the scripts of a map, in order
_UNSAFE_IN_SCRIPT = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def build_page(title: str, body: str, data: Mapping[str, Any], scripts: Sequence[str]) -> str:
    """The page as text; `body` is safe HTML, `title` and `data` may hold anything, `scripts` run in order."""
    return Template(asset("page.html")).substitute(
        title=escape(title),
        style=asset("page.css"),
        body=body,
        data=script_json(data),
        scripts="\n".join(f"<script>\n{asset(name)}</script>" for name in scripts),
    )


def asset(name: str) -> str:
    """A file that lies beside this module."""
    return resources.files("odanon.report").joinpath(name).read_text(encoding="utf-8")


def script_json(data: Any) -> str:
    """JSON that can stand inside a script element whatever the strings in it contain."""
    text = json.dumps(plain(data), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.translate(_UNSAFE_IN_SCRIPT)


def plain(value: Any) -> Any:
    """Dates, numpy scalars and not-a-number as JSON knows them."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if hasattr(value, "item"):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def table_rows(values: Mapping[str, Any], prefix: str = "") -> str:
    """Nested names and values as rows of a two-column table."""
    rows = []
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            rows.append(table_rows(value, f"{name}."))
        else:
            rows.append(f'<tr><th scope="row">{text(name)}</th><td>{text(in_words(value))}</td></tr>')
    return "".join(rows)


def text(value: Any) -> str:
    """A name from the data, isolated so that a right-to-left one cannot reorder what surrounds it."""
    return f"<bdi>{escape(str(value))}</bdi>"


def in_words(value: Any) -> str:
    """A value for people: grouped thousands, no needless digits."""
    value = plain(value)
    if value is None or value == "":
        return "not given"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(in_words(item) for item in value)
    return str(value)
