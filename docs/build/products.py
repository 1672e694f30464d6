"""The page of product files: every key with type, default, meaning and an example."""

import json
from pathlib import Path
from typing import Any

import yaml
from keys import HEAD, Keys
from marks import fenced, page, table

from odanon.product import Product
from odanon.product.choices import Zoning
from odanon.product.schema import product_schema

_FILE = "every-key.yaml"
_INTRO = """A data product is one YAML file in `pipelines/`. `odanon check FILE` says what is wrong with one, in one sentence; `odanon schema` prints the JSON Schema that editors complete it by.
`${NAME}` is replaced by the environment. A key that names a plugin takes a name, or a name with parameters beside it: [plugins](plugins.md) lists them."""
_LEAST = "What a product cannot do without:"
_MOST = "All keys of the product of a day, for reference; nobody needs all of them:"
_CHOICES = {
    name: f"[{stage} plugin](plugins.md)"
    for name, stage in {
        "Source": "source",
        "Staypoints": "staypoints",
        "Zoning": "zoning",
        "HierarchyChoice": "hierarchy",
        "Anonymize": "anonymize",
        "Metric": "metrics",
        "CheckChoice": "checks",
        "Engine": "engine",
        "Notifier": "notify",
    }.items()
}
_SAID = {  # keys that choose a plugin and say nothing themselves
    "source": "where the data come from",
    "staypoints": "how stays are found; a source of ready trips or OD rows needs none, and then it may be left out",
    "zoning": "the tiles",
    "hierarchy": "how tiles may be joined",
    "anonymize": "the algorithm and its promise: k, unit, suppression and the limits",
    "engine": "what the stages of traces run on",
}


def _keys(examples: list[dict[str, Any]]) -> Keys:
    schema = Product.model_json_schema()
    schema["required"] = [*json.loads(product_schema())["required"], "staypoints"]
    sections = {"schedule": {}, "trips": {"home_work": {}}}  # their defaults, where they are there
    least = Product.model_validate({**examples[0], **sections}).model_dump(mode="json")
    return Keys(schema, least, [*examples[1:], examples[0]], _CHOICES, _SAID, _FILE)


def product_page(here: Path) -> str:
    """Every key of a product file."""
    text = (here / _FILE).read_text()
    keys = _keys([yaml.safe_load(part) for part in text.split("\n---\n")])
    least, most, _ = text.partition("\n")[2].split("\n---\n")
    top = keys.rows(keys.schema["properties"], keys.schema["required"])
    return page(
        "The product file",
        _INTRO,
        _LEAST,
        fenced("yaml", least),
        "## Every key",
        table(HEAD, top),
        *keys.sections((), keys.schema),
        "## zoning.weights",
        "Beside the parameters of its plugin, `zoning` has one key more.",
        table(HEAD, keys.rows(Zoning.beside, [], ("zoning",))),
        "## Everything in one file",
        _MOST,
        fenced("yaml", most),
    )
