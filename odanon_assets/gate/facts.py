"""What names a release and says with which others it shares input, read from the files of its day."""

from datetime import date
from importlib.metadata import version
from typing import Any

from odanon.model.perturbation import TABLE
from odanon.product import Product
from odanon_assets.gate.evidence import ROWS
from odanon_assets.lake.files import sha256
from odanon_assets.lake.lake import Lake
from odanon_assets.stores.bundle import release_id


def release_facts(product: Product, lake: Lake, day: date) -> dict[str, Any]:
    """What names the release of a day's files and says with which others it shares input; part of its manifest."""
    parameters = lake.figures(product.product, "anonymized", day)["parameters"]
    input_hash = sha256(lake.read(product.product, "od", day) / ROWS)
    identity = {
        "input": input_hash,
        "parameters": parameters,
        "hierarchy": product.hierarchy.model_dump(),
        "odanon": version("odanon"),
    }
    told = {}
    if product.publish.perturb is not None:
        told["perturb"] = TABLE.told(parameters["k"])
        identity |= told
    return {
        "release_id": release_id(product.product, day, identity),
        "product": product.product,
        "window_start": day.isoformat(),
        "timezone": product.timezone,
        "data_sha256": product.data_sha256,
        "input_sha256": input_hash,
        "parameters": {
            **parameters,
            "zoning": product.zoning.model_dump(),
            "hierarchy": product.hierarchy.model_dump(),
        },
        **({"segments": list(product.segmented)} if product.segmented else {}),
        **told,
    }
