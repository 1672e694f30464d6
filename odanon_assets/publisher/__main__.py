"""The process that publishes: `python -P -m odanon_assets.publisher` reads a request, publishes a day, writes an answer.

It knows plugins of odanon alone, but for the store that the product's file names. What the file promises is what it
holds the tables to; everything else it reads from the files of the day.
"""

import json
import os
import sys
import traceback
from datetime import date
from typing import Any

from odanon import registry
from odanon.errors import OdanonError, OutageError
from odanon.product import load_named
from odanon_assets.lake.files import inherited
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root, products_folder
from odanon_assets.publisher.act import publish_day
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.interface import Act
from odanon_assets.watch.memory import peak_megabytes


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Publish what is asked for; the answer tells figures, a refusal in our own words, or the type of an error and where."""
    try:
        registry.ours_alone()
        product = load_named(products_folder(), request["product"], request["strangers"])
        day, lake = date.fromisoformat(request["day"]), Lake(default_root())
        act = None if request["act"] is None else Act(**request["act"])
        with inherited(lake.day_lock(product.product, day), request["lock"]):
            figures = publish_day(product, lake, day, open_store(product), act)
        return {"figures": {**figures, "peak_memory_mb": peak_megabytes()}}
    except OdanonError as error:
        return {"refused": str(error), "transient": isinstance(error, OutageError)}
    except Exception as error:  # its message may quote data
        where = "".join(traceback.format_tb(error.__traceback__))
        return {"failed": type(error).__name__, "where": where, "transient": isinstance(error, OSError)}


if __name__ == "__main__":
    # What anything prints from here on goes nowhere; the answer has a way of its own.
    with os.fdopen(os.dup(1), "w") as answer, open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        json.dump(main(json.load(sys.stdin)), answer)
