"""The process that publishes: `python -P -m odanon_assets.publisher` stands ready, and copies itself for every request.

It knows plugins of odanon alone, but for the store that the product's file names. Each copy is as fresh as a new process, without
the time that a start takes. What the product's file promises is what it holds the tables to; everything else it reads from the
files of the day.
"""

import json
import os
import signal
import socket
import sys
import time
import traceback
from datetime import date
from typing import Any

import geopandas  # noqa: F401  with h3 and PyArrow needed for every release, and slow to import
import h3  # noqa: F401
import pyarrow.dataset  # noqa: F401

from odanon import registry
from odanon.errors import OdanonError, OutageError
from odanon.product import load_named
from odanon_assets.lake.files import inherited
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root, products_folder
from odanon_assets.publisher.act import publish_day
from odanon_assets.publisher.process import LARGEST_REQUEST, SETTINGS
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


def serve(control: socket.socket) -> None:
    """Answer requests until whoever asks has gone; a copy that has begun goes on to its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # copies that have ended need no burial
    while True:
        request, descriptors, *_ = socket.recv_fds(control, LARGEST_REQUEST, 2)
        if not request:
            return
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.close()
            _answer(json.loads(request), *descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)


def _answer(request: dict[str, Any], answer: int, lock: int) -> None:
    """Say who works on the request, and then how it ended."""
    for name in [name for name in os.environ if name.startswith(SETTINGS)]:
        del os.environ[name]
    os.environ.update(request["settings"])
    os.chdir(request["folder"])
    with os.fdopen(answer, "w") as way_back:
        print(os.getpid(), file=way_back, flush=True)
        print(json.dumps(main(request, lock)), file=way_back)


if __name__ == "__main__":
    registry.ours_alone()
    for _stage in _USED:
        registry.installed(_stage)  # so that no copy has to import them
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        serve(asked)
