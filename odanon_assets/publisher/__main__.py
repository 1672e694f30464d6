"""The process that publishes: `python -P -m odanon_assets.publisher` stands ready, and copies itself for every request.

It knows plugins of odanon alone, but for the store that the product's file names. Each copy is as fresh as a new process, without
the time that a start takes. What the product's file promises is what it holds the tables to; everything else it reads from the
files of the day.
"""

import json
import os
import socket
import sys
import time
import traceback
from collections.abc import Sequence
from datetime import date
from typing import IO, Any

import geopandas  # noqa: F401  with h3 and PyArrow needed for every release, and slow to import
import h3  # noqa: F401
import pyarrow.dataset  # noqa: F401

from odanon import registry
from odanon.errors import OdanonError, OutageError
from odanon.product import load_named
from odanon.system.standby import serve
from odanon_assets.lake.files import inherited
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root, products_folder
from odanon_assets.publisher.act import publish_day
from odanon_assets.publisher.process import SETTINGS
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.interface import Act
from odanon_assets.watch.memory import peak_megabytes

_USED = ("source", "staypoints", "zoning", "hierarchy", "anonymize", "metrics", "engine")


def main(request: dict[str, Any], lock: int) -> dict[str, Any]:
    """Publish what is asked for; the answer tells figures, a refusal in our own words, or the type of an error and where."""
    try:
        product = load_named(products_folder(), request["product"], request["strangers"])
        day, lake = date.fromisoformat(request["day"]), Lake(default_root(), request["trial"])
        act = None if request["act"] is None else Act(**request["act"])
        with inherited(lake.day_lock(product.product, day), lock):
            figures = publish_day(product, lake, day, open_store(product), act)
        used = {"cpu_seconds": time.process_time(), "peak_memory_mb": peak_megabytes()}
        return {"figures": {**figures, **used}}
    except OdanonError as error:
        return {"refused": str(error), "transient": isinstance(error, OutageError)}
    except Exception as error:  # its message may quote data
        where = "".join(traceback.format_tb(error.__traceback__))
        return {"failed": type(error).__name__, "where": where, "transient": isinstance(error, OSError)}


def _answer(message: bytes, way_back: IO[bytes], descriptors: Sequence[int]) -> None:
    """Say how a request ended."""
    request = json.loads(message)
    for name in [name for name in os.environ if name.startswith(SETTINGS)]:
        del os.environ[name]
    os.environ.update(request["settings"])
    os.chdir(request["folder"])
    way_back.write(json.dumps(main(request, *descriptors)).encode() + b"\n")


if __name__ == "__main__":
    registry.ours_alone()
    for _stage in _USED:
        registry.installed(_stage)  # so that no copy has to import them
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        serve(asked, 1, _answer)
