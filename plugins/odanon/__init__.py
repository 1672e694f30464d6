"""odanon: publish where people travel without showing who does."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odanon.api import anonymize

__all__ = ["anonymize"]


def __getattr__(name: str) -> Any:
    """The library call, imported when first used: most commands need none of it."""
    if name == "anonymize":
        from odanon.api import anonymize

        return anonymize
    raise AttributeError(f"module 'odanon' has no attribute {name!r}")
