"""The fresh process that publishes, as those see it who ran the plugins of a day (PRIVACY rule 17)."""

import json
import os
from dataclasses import asdict
from datetime import date
from typing import Any

from odanon import registry
from odanon.errors import OdanonError, OutageError
from odanon.product import Product
from odanon.system.standby import Standby
from odanon_assets.lake.files import held_by
from odanon_assets.lake.lake import Lake
from odanon_assets.stores.interface import Act

SETTINGS = ("ODANON_", "TMPDIR")  # variables that count as they are when a day is published
# Taken before any plugin is loaded: one could name a library here that the next process would load first. Packages that ask
# to be loaded by pydantic are not.
_ENVIRONMENT = {**os.environ, "PYDANTIC_DISABLE_PLUGINS": "__all__"}
_PUBLISHER = Standby("odanon_assets.publisher", lambda: _ENVIRONMENT)
_CHOICES = ("source", "staypoints", "zoning", "hierarchy", "anonymize")


class PublisherError(Exception):
    """An error of the fresh process that nobody foresaw: its type and where it was; its message may quote data."""

    def __init__(self, kind: str, where: str, transient: bool) -> None:
        super().__init__(f"{kind} in the process that publishes\n{where}")
        self.kind, self.where, self.transient = kind, where, transient


def publish_fresh(product: Product, lake: Lake, day: date, act: Act | None = None) -> dict[str, Any]:
    """Publish a day in a process that has run nothing yet, while this one waits; the figures of its release.

    The lock of the day goes along and is held until both processes have ended, however they end. One that ends without an
    answer may have published or not; another try finds out.
    """
    with lake.holding(product.product, day):
        request = {
            "product": product.product,
            "day": day.isoformat(),
            "trial": lake.trial,
            "act": None if act is None else asdict(act),
            "strangers": _strangers(product),
            "settings": {name: value for name, value in os.environ.items() if name.startswith(SETTINGS)},
            "folder": os.getcwd(),
        }
        with _PUBLISHER.asked(json.dumps(request).encode(), held_by(lake.day_lock(product.product, day))) as way_back:
            answer = way_back.read()
    if not answer.endswith(b"\n"):
        raise OutageError(
            f"{product.product} {day}: the process that publishes ended without an answer; if memory was short give it"
            " more, and run the day again"
        )
    return _figures(json.loads(answer))


def _strangers(product: Product) -> dict[str, dict[str, Any]]:
    """What plugins of other packages were set up with: the fresh process cannot ask them."""
    choices = {name: getattr(product, name) for name in _CHOICES}
    return {
        name: choice.model_dump(mode="json")
        for name, choice in choices.items()
        if not registry.is_ours(name, choice.plugin)
    }


def _figures(answer: dict[str, Any]) -> dict[str, Any]:
    if "figures" in answer:
        return answer["figures"]
    if "refused" in answer:
        raise (OutageError if answer["transient"] else OdanonError)(answer["refused"])
    raise PublisherError(answer["failed"], answer["where"], answer["transient"])
