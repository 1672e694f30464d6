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


def check_folder(out: Path, published: Iterable[Path]) -> None:
    """Refuse a folder that readers see, and one that is neither new nor of an earlier advice."""
    for public in published:
        if out.resolve().is_relative_to(public.resolve()) or public.resolve().is_relative_to(out.resolve()):
            raise OdanonError(
                f"{out} lies in {public} or around it, which readers see, and advice is restricted; choose another folder"
            )
    if out.exists() and not (out / MARKER).exists() and (not out.is_dir() or any(out.iterdir())):
        raise OdanonError(f"{out} holds something else than an earlier advice; give a new folder")
    if out.is_dir() and any(path.is_symlink() for path in out.iterdir()):
        raise OdanonError(f"{out} holds links to other places; give a new folder")


def open_folder(out: Path) -> Path:
    """The folder, which only its owner enters."""
    out.mkdir(parents=True, exist_ok=True, mode=0o700)
    out.chmod(0o700)
    (out / MARKER).write_text(_TOLD, encoding="utf-8")
    return out


def write_advice(out: Path, table: pd.DataFrame, page: str) -> None:
    """The page and the table of all settings."""
    table.to_parquet(out / "advice.parquet", index=False)
    write_csv(table, out / "advice.csv")
    (out / "advice.html").write_text(page, encoding="utf-8")
