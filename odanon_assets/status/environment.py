"""What a product needs of the machine that runs it, and does not find there; a sentence for each."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from odanon.errors import OdanonError
from odanon.product import Product
from odanon.protocols import ChecksItself
from odanon.reading.files import shown
from odanon.reading.pseudonym import window_key
from odanon_assets.checks.delivery import days_read
from odanon_assets.lake.places import default_root
from odanon_assets.stores.choice import open_store

_FILES = ("path", "table", "antennas", "demand")  # parameters that name a file


def missing(product: Product) -> Iterator[str]:
    """Every thing that is not there, or cannot be reached; variables in the file were looked at when it was loaded."""
    asked: list[tuple[str, Callable[[], Any]]] = [
        ("pseudonym key", lambda: _key(product)),
        ("data root", _writable_root),
        ("store", lambda: open_store(product).standings(product.product)),
        ("source", lambda: _first_day(product)),
        *((f"alerts {choice.plugin}", _check_of(choice.instance)) for choice in product.alerts),
    ]
    for what, ask in asked:
        try:
            ask()
        except OdanonError as error:
            yield f"{what}: {error}"
        except Exception as error:  # a stranger's; its message may quote a secret
            yield f"{what}: fails with {type(error).__name__}"
    yield from _missing_files(product.model_dump(mode="json", exclude={"source"}), ())


def _key(product: Product) -> None:
    window_key(product.data_sha256, product.start.isoformat(), simulated=product.source.plugin == "simulated")


def _writable_root() -> None:
    root = default_root()
    there = next(folder for folder in (root, *root.parents) if folder.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        raise OdanonError(f"{there} cannot be written to; change its owner, or set ODANON_ROOT to another folder")


def _first_day(product: Product) -> None:
    if not all(map(product.source.instance.available, days_read(product, product.start))):
        raise OdanonError(
            f"it has nothing for the product's first day {product.start}; correct source or start, or wait for the data"
        )


def _check_of(notifier: Any) -> Callable[[], None]:
    """How a notifier looks whether it could tell anybody; one that cannot look is taken at its word."""
    return notifier.check if isinstance(notifier, ChecksItself) else lambda: None


def _missing_files(value: Any, keys: tuple[str, ...]) -> Iterator[str]:
    """Files that a product's file names and that are not there."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _missing_files(item, (*keys, str(key)))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _missing_files(item, (*keys, str(number)))
    elif isinstance(value, str) and keys[-1] in _FILES and "://" not in value and not Path(value).exists():
        yield f"{'.'.join(keys)}: {shown(value)} does not exist; correct the path"
