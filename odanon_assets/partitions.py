"""Partitions by local day and month; products with the same first day and zone share one definition."""

from datetime import date
from functools import cache

from dagster import DailyPartitionsDefinition, MonthlyPartitionsDefinition

from odanon.product import Product


@cache
def _daily(start: date, timezone: str) -> DailyPartitionsDefinition:
    return DailyPartitionsDefinition(start_date=start.isoformat(), timezone=timezone)


@cache
def _monthly(start: date, timezone: str) -> MonthlyPartitionsDefinition:
    return MonthlyPartitionsDefinition(start_date=start.isoformat(), timezone=timezone)


def daily(product: Product) -> DailyPartitionsDefinition:
    """The days of a product."""
    return _daily(product.start, product.timezone)


def monthly(product: Product) -> MonthlyPartitionsDefinition:
    """The months of a product, from the one its first day lies in."""
    return _monthly(product.start.replace(day=1), product.timezone)
