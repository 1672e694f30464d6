"""What names the data of a source, however its path is spelled: products of the same data may be subtracted."""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

_WILD = re.compile(r"[{*?\[]")
_PEOPLE = 64  # who stand for everybody in a sample
_ALIKE = 0.25  # of the smaller of two samples; a few of unlike data may be equal where ids are 1, 2, 3 and tiles few
_LOCAL = ("", "file", "local")
_STORES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "az": "abfs", "abfss": "abfs"}  # other names of one object store


def data_sha256(source: Any, told: dict[str, Any], dataset: str | None) -> str:
    """The name of the data behind a source: the data set if one is declared, else where its files or rows lie.

    `told` is the plugin with its parameters, which names the data of sources that lie nowhere.
    """
    path = getattr(source, "path", None)
    place = getattr(source, "data_place", None) if path is None else real_folder(str(path))
    return hashlib.sha256(json.dumps(dataset or place or told, sort_keys=True).encode()).hexdigest()


def real_folder(path: str) -> str:
    """The folder in which the files of a path lie: the same for folder, file, glob, template, link and `file://`."""
    protocol, _, rest = path.rpartition("://")
    protocol, local = _STORES.get(protocol, protocol), protocol in _LOCAL
    wild = None if local and os.path.exists(rest) else _WILD.search(rest)
    if wild:
        rest = rest[: wild.start()].rpartition("/")[0] or ("/" if rest.startswith("/") else ".")
    if not local:
        return f"{protocol}://{_without_file(rest.rstrip('/')) if not wild else rest.rstrip('/')}"
    real = os.path.realpath(rest)
    return real if wild or os.path.isdir(real) else _without_file(real)


def real_name(path: str, protocol: str) -> str:
    """One name for a file, however it was found."""
    return os.path.realpath(path) if protocol in _LOCAL else f"{_STORES.get(protocol, protocol)}://{path}"


def _without_file(path: str) -> str:
    folder, _, last = path.rpartition("/")
    return folder if "." in last.lstrip(".") else path


@dataclass
class Sample:
    """A few rows that stand for all: those whose digest is smallest, one for each person whose id has a smallest one.

    The same rows give the same sample from whatever file, table or view they come, in any order; a part of them gives part of it.
    """

    rows: dict[int, int] = field(default_factory=dict)  # the digest of an id, and that of a row

    def take(self, rows: pd.DataFrame, columns: Sequence[str]) -> None:
        """Look at the rows of a batch under canonical ids, told apart by some columns."""
        code, names = pd.factorize(rows["person"])
        digest = pd.util.hash_array(np.asarray(names, dtype=object), categorize=False)
        chosen = np.argsort(digest, kind="stable")[:_PEOPLE]
        taken = np.isin(code, chosen)
        plain = {name: _plain(rows.loc[taken, name]) for name in columns}
        row = pd.util.hash_pandas_object(pd.DataFrame(plain), index=False)
        least = row.groupby(digest[code[taken]]).min()
        self.add(Sample({int(person): int(value) for person, value in least.items()}))

    def add(self, other: "Sample") -> None:
        """Take in the sample of other rows of the same data."""
        least = {person: min(value, self.rows.get(person, value)) for person, value in other.rows.items()}
        self.rows = dict(sorted({**self.rows, **least}.items())[:_PEOPLE])


def alike(one: Sequence[Any], two: Sequence[Any]) -> bool:
    """Whether two samples have so many rows in common that they are of the same people."""
    fewer = min(len({*one}), len({*two}))
    return fewer > 0 and len({*one} & {*two}) >= _ALIKE * fewer


def _plain(column: pd.Series) -> pd.Series:
    """Values that have one digest, whatever type a source gives them."""
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return column.dt.tz_convert("UTC").dt.as_unit("us").astype("int64").reset_index(drop=True)
    kind = "float64" if pd.api.types.is_numeric_dtype(column.dtype) else "object"
    return column.astype(kind).reset_index(drop=True)
