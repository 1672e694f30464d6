"""Checks that installed packages bring and product files name (`odanon.checks`)."""

import logging
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from odanon.checking import Verdict
from odanon.errors import OdanonError
from odanon.product import Product
from odanon.product.choices import CheckChoice
from odanon.risk.bands import rounded_down
from odanon_assets.checks.check import Check, Run
from odanon_assets.lake.lake import Lake

_log = logging.getLogger("odanon")


@dataclass(frozen=True)
class LakeDay:
    """A day in the lake, as a check plugin sees it."""

    lake: Lake
    product: str
    day: date

    def figures(self, stage: str) -> dict[str, Any]:
        return self.lake.figures(self.product, stage, self.day)

    def folder(self, stage: str) -> Path:
        return self.lake.read(self.product, stage, self.day)


def plugin_check(choice: CheckChoice) -> Check:
    """A plugin as a check of its stage."""
    plugin = choice.instance
    summary = (type(plugin).__doc__ or choice.plugin).strip().split("\n")[0]
    return Check(plugin.stage, choice.plugin.replace("-", "_"), plugin.blocking, summary, _run(choice))


def _fit(figures: dict[str, float], k: int) -> dict[str, float]:
    """Figures fit for the UI: a whole number may count people, so it is told coarsely and from k on."""
    whole = {name for name, value in figures.items() if float(value).is_integer() and value > 0}
    fit = {name: rounded_down(int(value), k) if name in whole else value for name, value in figures.items()}
    return {name: value for name, value in fit.items() if value or name not in whole}


def _run(choice: CheckChoice) -> Run:
    def run(product: Product, lake: Lake, day: date) -> Verdict:
        try:
            verdict = choice.instance.run(LakeDay(lake, product.product, day))
            return replace(verdict, figures=_fit(verdict.figures, product.anonymize.promise.k))
        except OdanonError as error:
            return Verdict(False, str(error))
        except Exception as error:  # a stranger's mistake is told as one; its message may quote data
            _log.warning("the check %s failed with %s", choice.plugin, type(error).__name__)
            return Verdict(False, f"the check itself failed ({type(error).__name__}); report it to who made it")

    return run
