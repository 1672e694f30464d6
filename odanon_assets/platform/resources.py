"""What the runs of a product use: the machine, and plugins as Dagster resources.

Run config and the UI show the parameters of plugins and may override them.
"""

from functools import cache
from typing import Any

from dagster import ConfigurableResource

from odanon import registry
from odanon.product import PluginChoice, Product

POOL = "odanon"  # its limit, in dagster.yaml, is how many runs may work on this machine at a time
# The stages whose plugin is a resource, with the product's attribute of the same name.
STAGES = ("source", "staypoints", "zoning", "hierarchy", "anonymize", "engine")

_SIMPLE = {"integer": int, "number": float, "string": str, "boolean": bool}


class PluginResource(ConfigurableResource):
    """Base of the resource classes made from plugins."""

    def plugin(self) -> Any:
        """The validated plugin with this resource's parameters."""
        cls = type(self)
        found = registry.find(cls.stage, cls.plugin_name)  # type: ignore[attr-defined]
        return found.create({name: getattr(self, name) for name in cls.parameter_names})  # type: ignore[attr-defined]


@cache
def resource_class(stage: str, name: str) -> type[PluginResource]:
    """A resource class whose config fields are the plugin's parameters."""
    found = registry.find(stage, name)
    fields = found.schema.get("properties", {})
    annotations = {key: _config_type(schema) for key, schema in fields.items()}
    defaults = {key: schema.get("default") for key, schema in fields.items() if "default" in schema}
    made = type(
        f"{found.cls.__name__}Resource",
        (PluginResource,),
        {"__annotations__": annotations, "__doc__": found.cls.__doc__, "__module__": __name__, **defaults},
    )
    for key, value in (("stage", stage), ("plugin_name", name), ("parameter_names", tuple(fields))):
        setattr(made, key, value)
    return made


def _config_type(schema: dict[str, Any]) -> Any:
    """The Dagster config type of a parameter; anything composite stays open and is checked by the plugin."""
    if "anyOf" in schema:
        options = [option for option in schema["anyOf"] if option.get("type") != "null"]
        inner = _config_type(options[0]) if len(options) == 1 else Any
        return inner | None if inner is not Any and len(options) < len(schema["anyOf"]) else Any
    return _SIMPLE.get(schema.get("type", ""), Any)


def resource_key(product: Product, stage: str) -> str:
    return f"{product.slug}__{stage}"


def product_resources(product: Product) -> dict[str, PluginResource]:
    """One resource per stage of a product, configured as its file says."""
    resources = {}
    for stage in STAGES:
        choice: PluginChoice = getattr(product, stage)
        resources[resource_key(product, stage)] = resource_class(stage, choice.plugin)(**choice.parameters)
    return resources
