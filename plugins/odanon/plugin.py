"""How a plugin is written: a frozen dataclass whose fields are its validated parameters.

    from odanon.api import parameter, plugin

    @plugin
    class Shout:
        \"\"\"One line that `odanon plugins` shows.\"\"\"

        volume: int = parameter(3, "how loud", ge=1)

Parameters are keyword-only, checked on construction and JSON-serialisable, so a product file, Dagster's
run config and a release manifest all speak of them in the same words.
"""

import re
from datetime import timedelta
from typing import Annotated, Any, TypeVar, dataclass_transform

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, TypeAdapter, WithJsonSchema
from pydantic.dataclasses import dataclass

T = TypeVar("T")

_UNIT_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(s|min|h|d)\s*$")


def parse_duration(value: Any) -> timedelta:
    """Read `90s`, `10min`, `2h` or `1d`; a bare number is refused because its unit is a guess."""
    if isinstance(value, timedelta):
        return value
    match = _DURATION.match(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("write a number with its unit, such as 90s, 10min, 2h or 1d")
    return timedelta(seconds=float(match[1]) * _UNIT_SECONDS[match[2]])


def format_duration(value: timedelta) -> str:
    """The shortest text that `parse_duration` reads back."""
    seconds = value.total_seconds()
    for unit in ("d", "h", "min"):
        count = seconds / _UNIT_SECONDS[unit]
        if count >= 1 and count == int(count):
            return f"{int(count)}{unit}"
    return f"{seconds:g}s"


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration),
    WithJsonSchema({"type": "string", "pattern": _DURATION.pattern, "examples": ["10min", "2h"]}),
]


def is_none(value: Any) -> bool:
    """For `exclude_if`: a parameter that is told only where it has a value, so that what was made before it existed is still the same."""
    return value is None


def parameter(default: Any, description: str, **constraints: Any) -> Any:
    """A plugin field: its default, one line of meaning (with the unit) and pydantic constraints (`ge=2`)."""
    return Field(default, description=description, **constraints)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(parameter,))
def plugin(cls: type[T]) -> type[T]:
    """Turn a class into a plugin: frozen, keyword-only, unknown parameters refused, values validated."""
    config = ConfigDict(extra="forbid", validate_default=True)
    return dataclass(cls, frozen=True, kw_only=True, config=config)  # type: ignore[return-value]


def parameters_of(instance: Any) -> dict[str, Any]:
    """The parameters of a plugin instance as plain JSON values."""
    return TypeAdapter(type(instance)).dump_python(instance, mode="json")
