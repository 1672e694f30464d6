"""JSON Schema of product files, so that editors complete and check them while typing."""

import json

from odanon.product.model import Product

# Keys that have a default which depends on others or on what is installed; traces need staypoints, ready rows do not.
_DEFAULTED = ("alerts", "engine", "metrics", "staypoints")


def product_schema() -> str:
    """The schema with the plugins installed now, as stable text."""
    schema = Product.model_json_schema(mode="validation")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["required"] = [key for key in schema["required"] if key not in _DEFAULTED]
    return json.dumps(schema, indent=1, sort_keys=True) + "\n"
