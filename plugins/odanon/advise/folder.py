"""The folder of an advice: restricted, marked as such, and never among what is published."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from odanon.errors import OdanonError
from odanon.tables.spreadsheet import write_csv

MARKER = "RESTRICTED.txt"
_TOLD = """RESTRICTED: made from rows of people, not for publication.

`odanon advise` wrote this folder so that the owner of the data chooses window, time bins, resolution and k by looking. Its figures
are exact figures of the original data: no rule of a release protects them. Keep the folder where the data are kept, and delete it
when the choice is made. What may be published is made by `odanon run` or `odanon anonymize`.
"""


def open_folder(out: Path, published: Iterable[Path]) -> Path:
    """A new folder, or one of an earlier advice, that only its owner enters; never one of those that readers see."""
    for public in published:
        if out.resolve().is_relative_to(public.resolve()):
            raise OdanonError(
                f"{out} lies in {public}, which readers see, and advice is restricted; choose another folder"
            )
    if out.exists() and not (out / MARKER).exists() and (not out.is_dir() or any(out.iterdir())):
        raise OdanonError(f"{out} holds something else than an earlier advice; give a new folder")
    out.mkdir(parents=True, exist_ok=True, mode=0o700)
    out.chmod(0o700)
    (out / MARKER).write_text(_TOLD, encoding="utf-8")
    return out


def write_advice(out: Path, table: pd.DataFrame, page: str) -> None:
    """The page and the table of all settings."""
    table.to_parquet(out / "advice.parquet", index=False)
    write_csv(table, out / "advice.csv")
    (out / "advice.html").write_text(page, encoding="utf-8")
