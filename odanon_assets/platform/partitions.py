"""How Dagster names the tables of a product: keys of assets, and partitions by local day and month.

Products with the same days and zone share one definition of partitions.
"""

from datetime import date, datetime, time, timedelta
from functools import cache

from dagster import AssetKey, DailyPartitionsDefinition, MonthlyPartitionsDefinition

from odanon.product import Product

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


def daily(product: Product) -> DailyPartitionsDefinition:
    """The days of a product; days of which it makes no matrix are none of them, or no month would be complete."""
    after = None if product.end is None else product.end + timedelta(days=1)
    return _daily(product.start, after, product.timezone, () if product.od.days == "all" else _days_off(product))


def _days_off(product: Product) -> tuple[str | datetime, ...]:
    """The calendar's days without work, as Dagster leaves them out: weekdays by cron, holidays by midnight."""
    weekend = (f"0 0 * * {_CRON_DAYS[name]}" for name in product.calendar.weekend)
    return (*weekend, *(datetime.combine(day, time(), product.zone) for day in product.calendar.holidays))


def monthly(product: Product) -> MonthlyPartitionsDefinition:
    """The months of a product, from the one its first day lies in to that of its last."""
    after = None if product.end is None else (product.end.replace(day=1) + timedelta(days=31)).replace(day=1)
    return _monthly(product.start.replace(day=1), after, product.timezone)
