"""What stages hand to each other, in a folder: a stage that would be made from the same again is not made again."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import pyarrow.parquet as pq

from odanon.system.scratch import scratch

T = TypeVar("T")
_TOLD = "stage.json"


def digest_of(*parts: Any) -> str:
    """A text that changes when any part does; parts are values for JSON."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True)
class Kept:
    """The folder `work`: for each stage its tables, its figures and the digest of what it was made from."""

    folder: Path

    def has(self, stage: str, digest: str) -> bool:
        """Whether a stage was made from this."""
        try:
            return json.loads((self.folder / stage / _TOLD).read_text())["made from"] == digest
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def read(self, stage: str, kind: type[T]) -> T:
        """What a stage made."""
        place = self.folder / stage
        names = [field.name for field in fields(kind) if field.name != "figures"]  # type: ignore[arg-type]
        tables = {name: _read(place / f"{name}.parquet") for name in names}
        made: Callable[..., T] = kind
        return made(**tables, figures=json.loads((place / _TOLD).read_text())["figures"])

    def write(self, stage: str, digest: str, made: Any) -> None:
        """Keep what a stage made: all of it or nothing."""
        with scratch(self.folder) as near:
            whole = near / stage
            whole.mkdir()
            for field in fields(made):
                if field.name != "figures":
                    _write(getattr(made, field.name), whole / f"{field.name}.parquet")
            told = {"made from": digest, "figures": made.figures}
            (whole / _TOLD).write_text(json.dumps(told, indent=1) + "\n")
            if (self.folder / stage).exists():
                (self.folder / stage).rename(near / "before")
            whole.rename(self.folder / stage)


def _write(table: pd.DataFrame, path: Path) -> None:
    plain = table.copy(deep=False)
    plain.attrs = {}
    plain.to_parquet(path, index=False)


def _read(path: Path) -> pd.DataFrame:
    if b"geo" in (pq.read_schema(path).metadata or {}):
        import geopandas

        return geopandas.read_parquet(path)
    return pd.read_parquet(path)
