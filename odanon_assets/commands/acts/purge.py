"""`odanon purge`: delete what must not be kept."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Annotated

import typer

from odanon.errors import OdanonError
from odanon.model.window import days_of
from odanon.product import Product
from odanon.product.windows import after_window, key_prefix, window_of
from odanon_assets.commands.shared import ByName, ProductName, Reason, find_product
from odanon_assets.derived.folders import Derived
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.interface import Act, Store

PANEL = ("Stores", 8)
_STAY = "rows of its people, with which the auditor compares what may take its place, go when `retention` is over"


def purge(
    product: ProductName,
    by: ByName,
    reason: Reason,
    day: Annotated[datetime | None, typer.Option("--date", formats=["%Y-%m-%d"], help="One window.")] = None,
    expired: Annotated[
        bool, typer.Option("--expired", help="Windows past publish.retention, data of people past retention.")
    ] = False,
) -> None:
    """Delete the tables of published windows for good; manifests and audit log stay, the windows stay closed. Rows of people stay until --expired finds them past `retention`.

    Months, typical days and exports that were made from them go first, and what killed processes left; trials of the same days go too. With --expired also rows of people and pseudonym keys of days that are older than the product's `retention`.

    For instance: `odanon purge my-city --expired --by 'Jo Doe' --reason 'retention is over'`.
    """
    chosen = find_product(product)
    if (day is None) != expired:
        raise OdanonError("give either --date or --expired")
    store, act, today = open_store(chosen), Act(by, reason), datetime.now(chosen.zone).date()
    if expired and chosen.publish.retention is None and chosen.retention is None:
        raise OdanonError(f"{product} keeps everything for ever; its file declares no retention nor publish.retention")
    shown = map(date.fromisoformat, store.windows(product))
    windows = [window_of(chosen, day.date())] if day is not None else _expired(chosen, shown, today)
    derived = Derived(default_root())
    derived.withdraw_stale(store, product)
    count = sum(derived.purge(store, product, window, act) for window in (*_cut_off(store, product), *windows))
    typer.echo(f"{count} windows purged")
    if day is not None and store.standings(product).get(windows[0].isoformat()) == "withdrawn":
        typer.echo(f"{windows[0]} was withdrawn before and had no tables left; {_STAY}")
    lake = Lake(default_root())
    lake.sweep()
    of_windows = (each for window in windows for each in days_of(window, chosen.publish.window))
    old = _expired(chosen, lake.tried_days(product), today) if expired else of_windows
    if tried := sum(lake.forget_trial(product, each, by, reason) for each in old):
        typer.echo(f"trials of {tried} days deleted")
    if expired and chosen.retention is not None:
        forgotten = _forget(chosen, today - chosen.retention, act)
        typer.echo(f"rows of people and keys of {forgotten} days deleted")


def _cut_off(store: Store, product: str) -> list[date]:
    """Windows that show nothing any more and still have tables: their purge was killed."""
    ledger = store.ledger()
    mine = ledger[ledger["product"] == product].groupby("window_start")["status"].agg(set)
    return [
        date.fromisoformat(str(day)) for day, told in mine.items() if "superseded" in told and "visible" not in told
    ]


def _expired(product: Product, days: Iterable[date], today: date) -> list[date]:
    """Those of the days whose windows are past publish.retention."""
    retention: timedelta | None = product.publish.retention
    return [] if retention is None else [day for day in days if _over(product, day, today - retention)]


def _over(product: Product, day: date, before: date) -> bool:
    """Whether the window of a day ended before a date; what is kept of its days goes together."""
    return after_window(product, window_of(product, day)) <= before


def _forget(product: Product, before: date, act: Act) -> int:
    """Delete what is kept of people of the windows before a date; how many days there were."""
    lake, keys = Lake(default_root()), key_prefix(product)
    known = lake.personal_days(product.product, product.data_sha256, keys)
    days = [day for day in known if _over(product, day, before)]
    for day in days:
        lake.forget(product.product, product.data_sha256, day, act.by_name, act.reason, keys)
    return len(days)
