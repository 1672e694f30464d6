"""Clock times and time bins as product files write them."""

import re
from datetime import time, timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from odanon.plugin import format_duration, parse_duration


def _parse_clock(value: Any) -> Any:
    """`06:30`; YAML reads an unquoted 10:30 as 630, the minutes since midnight."""
    if isinstance(value, int) and 0 <= value < 24 * 60:
        return time(*divmod(value, 60))
    if isinstance(value, str) and re.fullmatch(r"([01]?\d|2[0-3]):[0-5]\d", value):
        hour, minute = value.split(":")
        return time(int(hour), int(minute))
    if isinstance(value, time):
        return value
    raise ValueError("write a clock time such as 06:30")


Clock = Annotated[
    time,
    BeforeValidator(_parse_clock),
    PlainSerializer(lambda value: value.strftime("%H:%M")),
    WithJsonSchema({"type": "string", "pattern": r"^([01]?\d|2[0-3]):[0-5]\d$", "examples": ["06:30"]}),
]


def _parse_bins(value: Any) -> Any:
    if isinstance(value, list | tuple):
        starts = tuple(_parse_clock(item) for item in value)
        if not starts or starts[0] != time() or list(starts) != sorted(set(starts)):
            raise ValueError("list the start times of bins in order from 00:00 on, such as [00:00, 06:30, 09:00]")
        return starts
    length = parse_duration(value)
    if length < timedelta(minutes=1) or timedelta(days=1) % length or length % timedelta(minutes=1):
        raise ValueError("a time bin must divide a day evenly, such as 15min, 1h or 1d")
    return length


def _format_bins(value: Any) -> Any:
    return format_duration(value) if isinstance(value, timedelta) else [f"{start:%H:%M}" for start in value]


Bins = Annotated[
    timedelta | tuple[time, ...],
    BeforeValidator(_parse_bins),
    PlainSerializer(_format_bins),
    WithJsonSchema(
        {
            "oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
            "examples": ["15min", "1h", "1d", ["00:00", "06:00", "10:00", "16:00", "20:00"]],
        }
    ),
]
