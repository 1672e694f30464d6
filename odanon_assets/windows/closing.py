"""When a window longer than a day can be published: which of its days are there, what the others lack, and how many it may do without."""

from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime

from odanon.errors import OdanonError
from odanon.product import Product
from odanon.product.windows import after_window, has_matrix, matrix_days, window_of
from odanon_assets.checks.catalogue import OF_THE_GATE, checks_of
from odanon_assets.checks.check import Check
from odanon_assets.checks.delivery import COMPLETE, found_short
from odanon_assets.gate.facts import other_rules
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.origin import choice_digest, origin_of
from odanon_assets.lake.places import DAY_STAGES, DAYS

_SHOWN = 3  # days whose lack is told


@dataclass(frozen=True)
class WindowDays:
    """The days of a window whose rows are there, and why those of the others are not."""

    made: tuple[date, ...]
    lacking: dict[date, str]

    def told_lacking(self) -> str:
        """The first days that are not there, in a sentence."""
        first = [f"{day} {why}" for day, why in sorted(self.lacking.items())[:_SHOWN]]
        more = [f"{len(self.lacking) - _SHOWN} more"] if len(self.lacking) > _SHOWN else []
        return "; ".join([*first, *more])


def window_days(product: Product, lake: Lake, window: date) -> WindowDays:
    """How the days of a window stand."""
    lacks = {day: day_lacks(product, lake, day) for day in matrix_days(product, window)}
    return WindowDays(
        tuple(day for day, why in lacks.items() if not why), {day: why for day, why in lacks.items() if why}
    )


def day_lacks(product: Product, lake: Lake, day: date) -> str:
    """Why the rows of a day cannot go into its window; empty when they can.

    They were made as the product's file says now, from what was read last, and no check that can stop a day objects.
    """
    folders = [lake.folder(product.product, stage, day) for stage in DAY_STAGES]
    if not all(folder.is_dir() for folder in folders):
        return "is not made yet"
    try:
        read, rows = (origin_of(lake, product.product, stage, day) for stage in ("traces", DAYS))
    except OdanonError:
        return "does not say what it was made from; run it again"
    if read != {name: rows.get(name) for name in read}:
        return "was read again and not made since; run it again"
    if other := other_rules(product, rows):
        return f"was made with another {', '.join(other)} than the product's file says; run it again"
    if found_short(product, lake, day):
        return "was not delivered whole"
    for check in checks_of(product):
        if check.blocking and check.stage in DAY_STAGES and check.name not in (*OF_THE_GATE, COMPLETE.name):
            why = _objection(product, lake, day, check)
            if why:
                return f"fails check {check.name}: {why}"
    return ""


def _objection(product: Product, lake: Lake, day: date, check: Check) -> str:
    try:
        verdict = check.run(product, lake, day)
    except OdanonError as error:
        return str(error)
    except (OSError, ValueError, KeyError) as error:  # damaged files; the message may quote what is in them
        return f"{type(error).__name__}; run it again"
    return "" if verdict.passed else verdict.sentence


def stays_open(product: Product, days: WindowDays) -> str:
    """Why a window cannot be published with these days; empty when it can."""
    if not days.made:
        return f"none of its days is there: {days.told_lacking()}" if days.lacking else "it has no day with a matrix"
    most, last = product.publish.missing_days, max((*days.made, *days.lacking))
    if days.lacking and last >= _today(product):
        return f"it is not over, and lacks {len(days.lacking)} of {len(days.made) + len(days.lacking)} days"
    if len(days.lacking) <= most:
        return ""
    allowed = f"publish.missing_days allows {most}" if most else "publish.missing_days allows none"
    return f"{len(days.lacking)} of {len(days.made) + len(days.lacking)} days are missing and {allowed}: {days.told_lacking()}"


def waits(product: Product, days: WindowDays, window: date) -> str:
    """Why schedule and sensors do not ask for a window yet; empty when they do.

    A day that is missing, though the window may do without it, is waited for as long as the schedule waits for a day.
    """
    if why := stays_open(product, days):
        return why
    lag = product.schedule.lag if product.schedule is not None else None
    end = after_window(product, window)
    if days.lacking and lag is not None and _today(product) < end + lag:
        return f"until {end + lag} for days that may still come: {days.told_lacking()}"
    return ""


def begun_windows(product: Product, lake: Lake) -> list[date]:
    """Windows of which as many days have rows as are needed, whatever may still be wrong with them; in order."""
    home = lake.folder(product.product, DAYS, date.min).parent
    days = (date.fromisoformat(path.name.removeprefix("date=")) for path in home.glob("date=*"))
    begun = Counter(window_of(product, day) for day in days if has_matrix(product, day))
    most = product.publish.missing_days
    return sorted(window for window, n in begun.items() if n >= len(matrix_days(product, window)) - most)


def state_of(product: Product, lake: Lake, days: WindowDays) -> str:
    """A short digest that changes when the days of a window do, or what is missing."""
    told = [origin_of(lake, product.product, DAYS, day)["read"] for day in days.made]
    return choice_digest({"days": [*map(str, days.made)], "read": told})[:12]


def _today(product: Product) -> date:
    return datetime.now(product.zone).date()
