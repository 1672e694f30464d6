"""Values of options that are written as text: durations and parameters of plugins."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import yaml

from odanon.errors import OdanonError
from odanon.plugin import parse_duration
from odanon.product.plain_yaml import plain_yaml


def duration(option: str, text: str) -> timedelta:
    """A duration such as 10min."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise OdanonError(f"{option} {text}: {error}") from None


def plugin_parameters(texts: Sequence[str] | None, option: str = "--set") -> dict[str, Any]:
    """Parameters given as `--set name=value`; values are read as in a product file."""
    parameters = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        try:
            parameters[name] = plain_yaml(value)
        except yaml.YAMLError:
            equals = ""
        if not equals:
            raise OdanonError(f"{option} {text}: write name=value as in a product file, such as {option} min_tiles=3")
    return parameters
