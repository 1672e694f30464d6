"""Which days of a product wait to be run, and which have changed since they were read."""

from datetime import date, timedelta

from odanon.product import Product
from odanon.product.windows import has_matrix, is_longer, window_of
from odanon_assets.checks.delivery import days_read, incomplete, source_state, still_short
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import DAYS
from odanon_assets.stores.interface import Store


def waits_for(product: Product, lake: Lake, day: date) -> str:
    """Why a day cannot be run yet, empty when it can: its source, and where stays run past midnight the day after, whole.

    Only names, sizes, notes beside files or a small query are looked at (`odanon.traces`), never the traces. What a run has
    read and found short waits until the source changes.
    """
    for needed in days_read(product, day):
        if not product.source.instance.available(needed):
            return f"the data of {needed} have not arrived"
    return incomplete(product, lake, day) or still_short(product, lake, day)


def waiting_days(product: Product, store: Store, lake: Lake, today: date) -> list[date]:
    """Days within the look-back of the schedule that are over and were never published, oldest first.

    What was withdrawn or purged waits for a person. Of a longer window that is open, days wait that are not made yet, or whose
    source is no longer what was read.
    """
    known = store.standings(product.product)
    days = [day for day in _past(product, today) if has_matrix(product, day)]
    days = [day for day in days if window_of(product, day).isoformat() not in known]
    return [day for day in days if unmade(product, lake, day)] if is_longer(product) else days


def unmade(product: Product, lake: Lake, day: date) -> bool:
    """Whether a day of an open window has still to be made, or made again."""
    return not lake.folder(product.product, DAYS, day).is_dir() or _state_now(product, lake, day) is not None


def _state_now(product: Product, lake: Lake, day: date) -> str | None:
    """The state of a day's source, if it is another than when it was read."""
    what = product.product, "traces", day
    read = lake.figures(*what).get("source_state") if lake.folder(*what).is_dir() else None
    state = source_state(product, day) if read is not None else None
    return state if state != read else None


def changed_days(product: Product, store: Store, lake: Lake, today: date) -> dict[date, str]:
    """Published days within the look-back whose source is no longer what was read, with its state now."""
    published = set(store.windows(product.product))
    days = [day for day in _past(product, today) if has_matrix(product, day)]
    changed = {}
    for day in (day for day in days if window_of(product, day).isoformat() in published):
        state = _state_now(product, lake, day)
        if is_longer(product) and not lake.folder(product.product, "traces", day).is_dir():
            # The window was published without it.
            state = source_state(product, day) if product.source.instance.available(day) else None
        if state is not None:
            changed[day] = state
    return changed


def _past(product: Product, today: date) -> list[date]:
    assert product.schedule is not None
    return [today - timedelta(days=n) for n in range(product.schedule.look_back.days, 0, -1)]
