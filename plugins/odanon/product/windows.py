"""The windows of a product: which days each has, their time bins, and under which name their people have pseudonyms."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, time, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from odanon.model.when.question import WEEKDAYS
from odanon.model.window import Times, day_window, days_of, next_window, window_start
from odanon.product.model import Product
from odanon.trips.bins import bin_instants
from odanon.trips.windows import WindowBins, window_bins

_KEPT = 64  # windows whose bins are remembered; a run asks for those of one window many times


def is_longer(product: Product) -> bool:
    """Whether a release of a product covers more than a day."""
    return product.publish.window != "day"


def has_matrix(product: Product, day: date) -> bool:
    """Whether the product makes a matrix of this day at all."""
    ended = product.end is not None and day > product.end
    return day >= product.start and not ended and (product.od.days == "all" or product.calendar.is_working(day))


def window_of(product: Product, day: date) -> date:
    """The first day of the window that a day belongs to."""
    return window_start(day, product.publish.window)


def after_window(product: Product, window: date) -> date:
    """The first day after a window."""
    return next_window(window, product.publish.window)


def matrix_days(product: Product, window: date) -> list[date]:
    """The days of a window of which the product makes a matrix."""
    return [day for day in days_of(window, product.publish.window) if has_matrix(product, day)]


def key_name(product: Product, day: date) -> str:
    """The name of the pseudonym key of a day: its window's, so that a person has one pseudonym within it."""
    return f"{key_prefix(product)}{window_of(product, day)}"


def key_prefix(product: Product) -> str:
    """What the keys of windows of this length begin with; those of days are called by the day alone."""
    return f"{product.publish.window}=" if is_longer(product) else ""


def bins_of(product: Product, window: date) -> WindowBins:
    """The time bins of a window that is longer than a day."""
    types = tuple((day, day_type(product, day)) for day in matrix_days(product, window))
    return _bins(types, product.timezone, product.od.bin)


def told_bins(product: Product, window: date, made: Collection[date]) -> list[dict[str, Any]]:
    """The time bins of a longer window as its manifest tells them, with how many of the days that were made are behind each.

    Where rows may be of several bins it tells the end of each as well, on the day that the bin is named after.
    """
    return [
        {
            "time_bin": each.start.isoformat(),
            **({"time_end": each.end.isoformat()} if product.od.time == "adaptive" else {}),
            "day_type": each.day_type,
            "since": each.since,
            "until": each.until,
            "days": sum(day in made for day in each.days),
        }
        for each in bins_of(product, window).bins
    ]


def told_intervals(bins: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The intervals above the time bins of a longer window, as its manifest tells them: what rows may be of besides.

    The days behind one of several types of days are those of all of them.
    """
    times, some = Times.of_told(bins), [each for each in bins if each["days"]]
    tree, found = times.tree, []
    for first, last in sorted(zip(tree.tile_start.tolist(), tree.tile_end.tolist(), strict=True)):
        inside = some[first:last]
        types = {each["day_type"]: 0 for each in inside}
        for each in inside:
            types[each["day_type"]] = max(types[each["day_type"]], each["days"])
        told = {
            "time_start": times.start[first].isoformat(),
            "time_end": times.end[last - 1].isoformat(),
            "day_type": next(iter(types)) if len(types) == 1 else "several",
            "since": inside[0]["since"],
            "until": inside[-1]["until"],
            "days": sum(types.values()),
        }
        found += [told] if len(inside) > 1 else []
    return found


def times_of(product: Product, window: date, made: Collection[date]) -> Times | None:
    """The bins of a window that is released in time, with the tree over them; None where every row is of one bin."""
    if product.od.time == "fixed":
        return None
    if is_longer(product):
        return Times.of_told(told_bins(product, window, made))
    instants = pd.DatetimeIndex(bin_instants(window, product.zone, product.od.bin))
    starts = [moment.to_pydatetime().replace(tzinfo=UTC) for moment in instants]
    ends = [*starts[1:], day_window(window, product.zone)[1]]
    return Times.of(list(zip(starts, ends, strict=True)), [start.astimezone(product.zone) for start in starts])


def day_type(product: Product, day: date) -> str:
    """Which days share the time bins of a longer window with this one."""
    match product.od.day_types:
        case "working":
            return product.calendar.day_type(day)
        case "weekday":
            return WEEKDAYS[day.weekday()]
    return "all"


@lru_cache(_KEPT)
def _bins(types: tuple[tuple[date, str], ...], timezone: str, bins: timedelta | tuple[time, ...]) -> WindowBins:
    told = dict(types)
    return window_bins([*told], ZoneInfo(timezone), bins, told.__getitem__)
