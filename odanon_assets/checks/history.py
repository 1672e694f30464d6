"""What a product's earlier days looked like, told from the figures that stages leave beside their tables."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from statistics import median

from odanon.product import Product
from odanon.product.windows import is_longer, window_of
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import DAY_STAGES

_WEEKS = 4
_ENOUGH = 2


def usual(product: Product, lake: Lake, day: date, stage: str, figure: str) -> float | None:
    """The median of a figure on the same day of the four weeks before; else over the week before; else None.

    Weekdays differ, so the same weekday comes first. Fewer than two earlier days say nothing. Of a day that was only tried,
    or of which there is no trial, the other run tells. Longer windows are held against the four before.
    """
    same_weekday = [day - timedelta(weeks=n) for n in range(1, _WEEKS + 1)]
    week_before = [day - timedelta(days=n) for n in range(1, 8)]
    of_windows = is_longer(product) and stage not in DAY_STAGES
    for days in [_windows_before(product, day)] if of_windows else (same_weekday, week_before):
        found = [value for past in days if (value := _figure(product, lake, past, stage, figure)) is not None]
        if len(found) >= _ENOUGH:
            return median(found)
    return None


def _windows_before(product: Product, window: date) -> list[date]:
    found = [window]
    for _ in range(_WEEKS):
        found.append(window_of(product, found[-1] - timedelta(days=1)))
    return found[1:]


def _figure(product: Product, lake: Lake, day: date, stage: str, figure: str) -> float | None:
    for here in (lake, replace(lake, trial=not lake.trial)):
        with suppress(OSError):
            value = json.loads((here.folder(product.product, stage, day) / "figures.json").read_text()).get(figure)
            return float(value) if isinstance(value, int | float) else None
    return None
