"""Which days of a product wait to be run."""

from datetime import date, timedelta

from odanon.product import Product
from odanon_assets.stores.interface import Store


def has_matrix(product: Product, day: date) -> bool:
    """Whether the product makes a matrix of this day at all."""
    return day >= product.start and (product.od.days == "all" or product.calendar.is_working(day))


def arrived(product: Product, day: date) -> bool:
    """Whether the source has a day whole: its own data and, where stays run past midnight, the day after.

    Only names or a small query are looked at (`odanon.traces`), never the traces.
    """
    source = product.source.instance
    days = [day, day + timedelta(days=1)] if source.enters == "traces" and product.context else [day]
    return all(source.available(needed) for needed in days)


def waiting_days(product: Product, store: Store, today: date) -> list[date]:
    """Days within the look-back of the schedule that are over and not published, oldest first."""
    assert product.schedule is not None
    published = set(store.windows(product.product))
    past = [today - timedelta(days=n) for n in range(product.schedule.look_back.days, 0, -1)]
    return [day for day in past if has_matrix(product, day) and day.isoformat() not in published]
