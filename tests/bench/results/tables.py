"""Numbers and tables as Markdown."""

from collections.abc import Iterable
from typing import Any

import pandas as pd


def share(value: float | None) -> str:
    return "–" if value is None or pd.isna(value) else f"{value:.1%}"


def table(heads: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'|'.join('---' if at == 0 else '---:' for at in range(len(heads)))}|"]
    lines += [f"| {' | '.join(cell(value) for value in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and pd.isna(value)):
        return "–"
    if isinstance(value, str):
        return value
    if abs(value) >= 1e6:
        return f"{value:.1e}".replace("e+0", "e").replace("e+", "e")
    return f"{value:,.0f}" if abs(value) >= 1000 or float(value).is_integer() else f"{value:.3g}"
