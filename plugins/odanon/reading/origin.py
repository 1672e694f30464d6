"""What names the data of a source, however its path is spelled: products of the same data may be subtracted."""

import hashlib
import json
import os
import re
from typing import Any

_WILD = re.compile(r"[{*?\[]")
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
