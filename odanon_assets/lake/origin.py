"""What the tables of a day were read from and made with: written beside the traces, carried from stage to stage.

Files and sources are told by digests, which can be compared and not read; of a release only `keys` and, until the retention, `sample` are kept (PRIVACY rules 19 and 27).
"""

import hashlib
import json
import os
from datetime import date, datetime
from pathlib import Path
from typing import Any

from odanon.errors import OdanonError
from odanon.plugin import parameters_of
from odanon.product import Product
from odanon.protocols import NamesFiles
from odanon.reading.origin import data_sha256
from odanon_assets.lake.files import to_json
from odanon_assets.lake.lake import ORIGIN, Lake


def what_is_read(product: Product, lake: Lake, source: Any, start: datetime, end: datetime) -> dict[str, Any]:
    """What a source gives of [start, end): its files under their real names and by content, its parameters, the time zone.

    `source` may have other parameters than the product's file says. Two releases with a key in common share input.
    """
    told = {"plugin": product.source.plugin, **parameters_of(source)}
    files = source.reads(start, end) if isinstance(source, NamesFiles) else []
    contents = [digest for digest in map(_content, files) if digest is not None]
    return {
        "data_sha256": data_sha256(source, told, product.dataset),
        "dataset": product.dataset,
        "source": choice_digest(told),
        "timezone": product.timezone,
        "keys": sorted({*(lake.hidden(name) for name in files), *contents}),
    }


def choice_digest(told: dict[str, Any]) -> str:
    """A plugin and its parameters so that they can be compared and not read: a path may hold a person's name."""
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def rules_of(product: Product, *sections: str) -> dict[str, str]:
    """The sections of a product's file that rule how tables are made, so that they can be compared and not read."""
    return {name: choice_digest(product.model_dump(mode="json", include={name})) for name in sections}


def write_origin(folder: Path, origin: dict[str, Any]) -> None:
    """Put what is known of the origin of tables into their folder."""
    (folder / ORIGIN).write_text(to_json(origin))


def carry(lake: Lake, product: Product, stage: str, day: date, folder: Path, **made_with: Any) -> None:
    """Hand the origin of an earlier stage's tables on to those made from them, with what they were made with."""
    write_origin(folder, {**origin_of(lake, product.product, stage, day), **made_with})


def origin_of(lake: Lake, product: str, stage: str, day: date) -> dict[str, Any]:
    """The origin of the tables of a stage."""
    path = lake.read(product, stage, day) / ORIGIN
    if not path.is_file():
        raise OdanonError(f"{product}/{stage} of {day} does not say what it was made from; run the day again")
    return json.loads(path.read_text())


def _content(name: str) -> str | None:
    """The digest of a local file's bytes, so that a copy is the same data; None for others and for what cannot be read."""
    if "://" in name or not os.path.isfile(name):
        return None
    try:
        with open(name, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None  # reading it will say so
