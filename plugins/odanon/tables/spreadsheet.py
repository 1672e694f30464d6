"""Tables as CSV that a spreadsheet shows and does not run."""

from pathlib import Path
from typing import Any

import pandas as pd

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how cells begin that spreadsheets run


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, texts inert."""
    inert(table).to_csv(path, index=False, lineterminator="\n")


def inert(table: pd.DataFrame) -> pd.DataFrame:
    """A table with an apostrophe before texts that a spreadsheet would run as a formula."""
    texts = [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]
    return table.assign(**{name: table[name].astype(object).map(_inert) for name in texts})


def _inert(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
