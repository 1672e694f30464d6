"""YAML without anchors and aliases: a page of them can stand for more than any memory holds."""

from typing import Any

import yaml
from yaml.composer import ComposerError


class _PlainLoader(yaml.SafeLoader):
    """Refuses an anchor or an alias where it meets it, before anything is made of it."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        if getattr(event, "anchor", None) is not None:
            problem = "has an anchor (&) or an alias (*), which are not read; write the value out"
            raise ComposerError(None, None, problem, event.start_mark)
        return super().compose_node(parent, index)


def plain_yaml(text: str) -> Any:
    """The value that a text stands for; raises YAMLError."""
    try:
        return yaml.load(text, Loader=_PlainLoader)
    except (RecursionError, ValueError):  # nested without end; a number or a date that is none
        raise yaml.YAMLError from None
