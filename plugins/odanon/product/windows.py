"""The windows of a product: which days each has, their time bins, and under which name their people have pseudonyms."""

from datetime import date, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from odanon.model.window import days_of, next_window, window_start
from odanon.product.model import WEEKDAYS, Product
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
    types = tuple((day, _day_type(product, day)) for day in matrix_days(product, window))
    return _bins(types, product.timezone, product.od.bin)


def _day_type(product: Product, day: date) -> str:
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
