"""Which store is meant by a folder or an address; reading it needs the rights of a reader and no pipeline."""

from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import pandas as pd

from odanon import registry
from odanon.errors import OdanonError

_PUBLISHED = "published"  # the folder of a data root that is for readers
_DATABASES = ("postgresql", "postgresql+psycopg2", "postgres")


class Readable(Protocol):
    """What a reader asks of a store."""

    @property
    def address(self) -> str: ...

    def windows(self, product: str) -> list[str]: ...

    def released(self, product: str, window_start: Any) -> str | None: ...

    def query(self, sql: str, product: str | None = None, areas: Any = None) -> pd.DataFrame: ...

    def flow(self, *asked: Any, **more: Any) -> Any: ...

    def matrix(self, *asked: Any, **more: Any) -> pd.DataFrame: ...

    def profile(self, *asked: Any, **more: Any) -> pd.DataFrame: ...


def store_at(place: str | Path) -> Readable:
    """The embedded store in a folder, or the database at an address."""
    if "://" in str(place):
        return _database(str(place))
    folder = Path(place)
    root = folder.parent if folder.name == _PUBLISHED else folder
    if not (root / _PUBLISHED).is_dir():
        raise OdanonError(
            f"{folder} has no folder {_PUBLISHED!r}; give the data root of a pipeline, or the address of a database:"
            " postgresql://reader@host/name"
        )
    return registry.create("store", "embedded", {}).open(root)


def _database(address: str) -> Readable:
    if urlsplit(address).scheme not in _DATABASES:
        raise OdanonError("the address is not one of PostgreSQL; write postgresql://reader@host/name, or give a folder")
    return registry.create("store", "postgis", {"url": address}).open(Path())
