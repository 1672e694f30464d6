"""How Dagster names the tables of a product: keys of assets, and partitions by local day, week and month.

Products with the same days and zone share one definition of partitions.
"""

from datetime import date, datetime, time, timedelta
from functools import cache

from dagster import (
    AssetKey,
    DailyPartitionsDefinition,
    MonthlyPartitionsDefinition,
    TimeWindowPartitionsDefinition,
    WeeklyPartitionsDefinition,
)

from odanon.product import Product
from odanon.product.holidays import public_holidays
from odanon_assets.lake.places import DAY_STAGES

_YEARS_AHEAD = 2
_CRON_DAYS = {
    name: number
    for number, name in enumerate(("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"))
}


def asset_key(product: Product, name: str) -> AssetKey:
    """The key of a stage of a product, or of what is derived from its published days."""
    return AssetKey([product.slug, name])


@cache
def _daily(
    start: date, after: date | None, timezone: str, without: tuple[str | datetime, ...]
) -> DailyPartitionsDefinition:
    return DailyPartitionsDefinition(
        start_date=start.isoformat(),
        end_date=None if after is None else after.isoformat(),
        timezone=timezone,
        exclusions=without or None,
    )


@cache
def _monthly(start: date, after: date | None, timezone: str) -> MonthlyPartitionsDefinition:
    return MonthlyPartitionsDefinition(
        start_date=start.isoformat(), end_date=None if after is None else after.isoformat(), timezone=timezone
    )


@cache
def _weekly(start: date, after: date | None, timezone: str) -> WeeklyPartitionsDefinition:
    return WeeklyPartitionsDefinition(
        start_date=start.isoformat(),
        end_date=None if after is None else after.isoformat(),
        timezone=timezone,
        day_offset=1,  # they begin on Monday
    )


def partitions_of(product: Product, stage: str) -> TimeWindowPartitionsDefinition:
    """The partitions of a stage: days, or from the stage on that adds days up the windows of the product."""
    return daily(product) if stage in DAY_STAGES else windows(product)


def windows(product: Product) -> TimeWindowPartitionsDefinition:
    """What a product publishes at a time."""
    match product.publish.window:
        case "week":
            return _weekly(product.start, _after(product), product.timezone)
        case "month":
            return _monthly(product.start, _after(product), product.timezone)
    return daily(product)


def _after(product: Product) -> date | None:
    """The day after the last one of a product."""
    return None if product.end is None else product.end + timedelta(days=1)


def daily(product: Product) -> DailyPartitionsDefinition:
    """The days of a product; days of which it makes no matrix are none of them, or no month would be complete."""
    return _daily(
        product.start, _after(product), product.timezone, () if product.od.days == "all" else _days_off(product)
    )


def _days_off(product: Product) -> tuple[str | datetime, ...]:
    """The calendar's days without work, as Dagster leaves them out: weekdays by cron, holidays by midnight."""
    weekend = (f"0 0 * * {_CRON_DAYS[name]}" for name in product.calendar.weekend)
    return (*weekend, *(datetime.combine(day, time(), product.zone) for day in _holidays(product)))


def _holidays(product: Product) -> list[date]:
    """The dates that the calendar names and, by the country's law as it is known today, those of the years to come."""
    listed = list(product.calendar.holidays)
    if product.calendar.country is None:
        return listed
    last = product.end.year if product.end is not None else date.today().year + _YEARS_AHEAD
    by_law = (
        day for year in range(product.start.year, last + 1) for day in public_holidays(product.calendar.country, year)
    )
    return sorted({*listed, *by_law})


def monthly(product: Product) -> MonthlyPartitionsDefinition:
    """The months of a product, from the one its first day lies in to that of its last."""
    after = None if product.end is None else (product.end.replace(day=1) + timedelta(days=31)).replace(day=1)
    return _monthly(product.start.replace(day=1), after, product.timezone)
