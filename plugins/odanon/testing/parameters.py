"""Rules about parameters, the same for every plugin."""

import dataclasses
import json
from typing import Any

from pydantic import TypeAdapter

from odanon.plugin import parameters_of


def check_parameters(plugin: Any) -> None:
    """Frozen, described, and unchanged by a round trip through JSON."""
    cls = type(plugin)
    assert (cls.__doc__ or "").strip(), f"{cls.__name__} has no docstring; its first line is shown to users"
    parameters = parameters_of(plugin)
    again = TypeAdapter(cls).validate_python(json.loads(json.dumps(parameters)))
    assert again == plugin, f"{cls.__name__} changes when its parameters go through JSON"
    for name, field in TypeAdapter(cls).json_schema().get("properties", {}).items():
        assert field.get("description"), f"parameter {name} of {cls.__name__} has no description"
    for field in dataclasses.fields(cls):
        try:
            setattr(plugin, field.name, None)
        except dataclasses.FrozenInstanceError:
            continue
        raise AssertionError(f"{cls.__name__}.{field.name} can be changed after construction; freeze the dataclass")
