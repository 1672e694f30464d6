"""Which days of a product wait to be run, and which have changed since they were read."""

from datetime import date, timedelta

from odanon.product import Product
from odanon_assets.checks.delivery import days_read, incomplete, source_state, still_short
from odanon_assets.lake.lake import Lake
from odanon_assets.stores.interface import Store


def has_matrix(product: Product, day: date) -> bool:
    """Whether the product makes a matrix of this day at all."""
    ended = product.end is not None and day > product.end
    return day >= product.start and not ended and (product.od.days == "all" or product.calendar.is_working(day))


def waits_for(product: Product, lake: Lake, day: date) -> str:
    """Why a day cannot be run yet, empty when it can: its source, and where stays run past midnight the day after, whole.

    Only names, sizes, notes beside files or a small query are looked at (`odanon.traces`), never the traces. What a run has
    read and found short waits until the source changes.
    """
    for needed in days_read(product, day):
        if not product.source.instance.available(needed):
            return f"the data of {needed} have not arrived"
    return incomplete(product, lake, day) or still_short(product, lake, day)


def waiting_days(product: Product, store: Store, today: date) -> list[date]:
    """Days within the look-back of the schedule that are over and were never published, oldest first.

    What was withdrawn or purged waits for a person.
    """
    known = store.standings(product.product)
    return [day for day in _past(product, today) if has_matrix(product, day) and day.isoformat() not in known]


def changed_days(product: Product, store: Store, lake: Lake, today: date) -> dict[date, str]:
    """Published days within the look-back whose source is no longer what was read, with its state now."""
    published = set(store.windows(product.product))
    changed = {}
    for day in (day for day in _past(product, today) if has_matrix(product, day) and day.isoformat() in published):
        what = product.product, "traces", day
        read = lake.figures(*what).get("source_state") if lake.folder(*what).is_dir() else None
        if read is not None and (state := source_state(product, day)) != read:
            changed[day] = str(state)
    return changed


def _past(product: Product, today: date) -> list[date]:
    assert product.schedule is not None
    return [today - timedelta(days=n) for n in range(product.schedule.look_back.days, 0, -1)]
