"""Partitions by local day; products with the same first day and zone share one definition."""

from datetime import date
from functools import cache

from dagster import DailyPartitionsDefinition

from odanon.product import Product


@cache
def _daily(start: date, timezone: str) -> DailyPartitionsDefinition:
    return DailyPartitionsDefinition(start_date=start.isoformat(), timezone=timezone)


def daily(product: Product) -> DailyPartitionsDefinition:
    """The days of a product."""
    return _daily(product.start, product.timezone)
