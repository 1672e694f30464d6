"""How each day of a product stands, from the ledger, the lake and Dagster's records; nothing is started and no trace is read."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

import pandas as pd
from dagster import DagsterInstance

from odanon.errors import OdanonError
from odanon.product import Product
from odanon.product.windows import after_window, has_matrix, is_longer, window_of
from odanon_assets.chain.arrival import waits_for
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import DAYS, default_root
from odanon_assets.lake.trials import outcomes
from odanon_assets.status.records import ends, late_days
from odanon_assets.stores.choice import open_store
from odanon_assets.windows.closing import waits, window_days

_LATE = "published; more data came since, which is counted and not published"


@dataclass(frozen=True)
class DayStatus:
    """How a day stands: published, late (published, and more data came), what else its window shows, running, failed,
    waiting or trial; why, in one sentence; and what its last trial said."""

    day: date
    state: str
    why: str = ""
    release_id: str | None = None
    trial: str | None = None


def day_statuses(
    product: Product, instance: DagsterInstance, first: date | None = None, last: date | None = None
) -> list[DayStatus]:
    """The days of a product from `first` to `last`; without them, those of which something is known or that should have come.

    Of a product with longer windows, these by their first days.
    """
    ledger = open_store(product).ledger()
    mine = ledger[ledger["product"] == product.product]
    shown, ran, late = _shown(mine), ends(product, instance), late_days(product, instance)
    tried = outcomes(default_root(), product.product)
    real = {*mine["release_id"]}  # what a trial came to and was published since needs no word
    today = datetime.now(product.zone).date()
    due = {window_of(product, day) for day in _span(product, first, last, today)}
    known = {*shown, *ran, *tried} if first is None and last is None else set[date]()
    lake = Lake(default_root(), trial=product.status == "trial")
    late = {window_of(product, day) for day in late}
    failed = ends(product, instance, DAYS) if is_longer(product) else {}
    statuses = []
    for day in sorted({*known, *due}):
        name = f"{product.product} {day}: "  # in front of many sentences, and of the line here
        trial = tried[day].sentence.replace(name, "", 1) if day in tried else None
        trial = None if day in shown and tried.get(day) and tried[day].release_id in real else trial
        if day in shown:
            state, release = shown[day]
            is_late = state == "published" and day in late
            statuses.append(DayStatus(day, "late" if is_late else state, _LATE if is_late else "", release, trial))
        elif day in ran:
            state, why = ran[day]
            statuses.append(DayStatus(day, state, why.removeprefix(name), None, trial))
        elif trial is not None and (product.status == "trial" or day not in due):
            statuses.append(DayStatus(day, "trial", trial, None, trial))
        else:
            why = (
                _window_waits(product, lake, day, today, failed)
                if is_longer(product)
                else _waits(product, lake, day, today)
            )
            statuses.append(DayStatus(day, "waiting", why, None, trial))
    return statuses


def _shown(mine: pd.DataFrame) -> dict[date, tuple[str, str | None]]:
    """What the windows of a product's ledger show, and the release; one without has what became of its last."""
    found: dict[date, tuple[str, str | None]] = {}
    for day, status, release in zip(mine["window_start"], mine["status"], mine["release_id"], strict=True):
        window = date.fromisoformat(str(day))
        if status == "visible":
            found[window] = "published", release
        elif found.get(window, ("", None))[0] != "published":
            found[window] = status, None
    return found


def _span(product: Product, first: date | None, last: date | None, today: date) -> set[date]:
    """The days that are asked for, or that schedule and sensors look at; those that are over and have a matrix."""
    if first is None and last is None:
        back = product.schedule.look_back if product.schedule is not None else timedelta(0)
        first = today - back
    first, last = max(first or product.start, product.start), min(last or today, today - timedelta(days=1))
    days: Iterable[date] = (first + timedelta(days=n) for n in range((last - first).days + 1))
    return {day for day in days if has_matrix(product, day)}


def _window_waits(product: Product, lake: Lake, window: date, today: date, failed: dict[date, tuple[str, str]]) -> str:
    """Why a longer window is not published: the days that it lacks, with what their runs said."""
    days = window_days(product, lake, window)
    told = {day: f"{failed[day][0]}: {failed[day][1]}" if day in failed else why for day, why in days.lacking.items()}
    why = waits(product, replace(days, lacking=told), window) or "its days are there; nothing has asked for it yet"
    overdue = product.schedule is not None and after_window(product, window) + product.schedule.lag < today
    return f"overdue: {why}" if overdue else why


def _waits(product: Product, lake: Lake, day: date, today: date) -> str:
    try:
        why = waits_for(product, lake, day) or "its data are there; nothing has asked for it yet"
    except OdanonError as error:
        why = str(error)
    overdue = product.schedule is not None and day + product.schedule.lag < today
    return f"overdue: {why}" if overdue else why
