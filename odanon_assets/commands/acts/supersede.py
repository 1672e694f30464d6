"""`odanon supersede`: replace what a window shows, where that isolates nobody."""

import json
from contextlib import ExitStack
from datetime import date, datetime
from typing import Annotated, Any

import typer

from odanon.errors import OdanonError
from odanon.model.window import days_of
from odanon.product import Product
from odanon.product.windows import window_of
from odanon.risk.bands import rounded
from odanon_assets.commands.acts.correction import Correction, correction
from odanon_assets.commands.shared import ProductName, find_product
from odanon_assets.derived.months import is_current, make_month
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.platform.derived_assets import record_segments
from odanon_assets.platform.launch import complete_months, open_instance
from odanon_assets.platform.recovery import record_published
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.interface import Act, Standing, Store

PANEL = ("Stores", 6)
_SHOWN = {"flows": "flows", "trips_published": "trips"}  # figures of manifests
_DIGITS = 2  # so that a few people more or less do not show


def supersede(
    product: ProductName,
    day: Annotated[datetime, typer.Option("--date", formats=["%Y-%m-%d"], help="The window.")],
    by: Annotated[str | None, typer.Option("--by", help="Who answers for it; goes to the audit log.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why; goes to the audit log.")] = None,
) -> None:
    """Show what a published or withdrawn window would show if made again from its source, and put it there by name.

    The day is made beside what is published. The auditor holds it against everything that was ever public of the same people: only where every difference concerns at least k of them may it take the place, for which --by and --reason are needed. Months and exports that were made from the window are withdrawn; a month whose days are all published is made again.

    For instance: `odanon supersede my-city --date 2026-03-02 --by 'Jo Doe' --reason 'a file was missing'`.
    """
    chosen = find_product(product)
    window = window_of(chosen, day.date())
    store, lake = open_store(chosen), Lake(default_root())
    act = Act(by, reason) if by is not None and reason is not None else None
    if chosen.status == "trial":
        raise OdanonError(f"{product} is on trial and publishes nothing; to go live write status: live in its file")
    standing = store.standings(product).get(window.isoformat())
    if standing not in ("published", "withdrawn"):
        raise OdanonError(_nothing_to_replace(product, window, standing))
    lake.sweep()
    with ExitStack() as held:
        for each in days_of(window, chosen.publish.window):
            held.enter_context(lake.holding(product, each))
        made = held.enter_context(correction(chosen, lake, window, store))
        if made.release_id == store.released(product, window):
            _finish(made, store)
            return
        if made.release_id in set(store.ledger()["release_id"]):
            raise OdanonError(
                f"{product} {window} stays as it is, {standing}: its source and its product file give"
                f" {made.release_id}, which was taken away before and is never published again"
            )
        _show(made, store)
        if made.refusal:
            raise OdanonError(f"{product} {window} stays as it is, {standing}; the auditor says no: {made.refusal}")
        promise = chosen.anonymize.promise
        typer.echo(f"the auditor says yes: every difference concerns at least {promise.k} {promise.who}")
        if act is None:
            raise OdanonError(f"{product} {window} stays as it is, {standing}; to replace it give --by and --reason")
        made.publish(act)
    _record(chosen, window)
    _make_months(chosen, window, store)
    typer.echo(f"{product} {window} shows {made.release_id}")


def _nothing_to_replace(product: str, window: date, standing: Standing | None) -> str:
    if standing is None:
        return f"{product} {window} is not published, so nothing can be replaced; `odanon run` publishes it"
    return f"{product} {window} was {standing} and is never published again"


def _show(made: Correction, store: Store) -> None:
    """Coarse figures before and after."""
    release = store.released(made.product.product, made.day)
    before = {} if release is None else json.loads(store.manifest_text(release))["metrics"]
    for name, label in _SHOWN.items():
        typer.echo(f"{label}: {_count(before, name)} now, {_count(made.manifest['metrics'], name)} if replaced")


def _count(metrics: dict[str, Any], name: str) -> str:
    return f"about {rounded(metrics[name], _DIGITS):,.0f}" if name in metrics else "none"


def _finish(made: Correction, store: Store) -> None:
    """The source gives what is shown: perhaps an earlier act was cut off after it was visible; else nothing can change."""
    what = f"{made.product.product} {made.day}"
    if not (made.finish() + _make_months(made.product, made.day, store)):
        raise OdanonError(
            f"{what} stays as it is: its source and its product file give {made.release_id}, which it shows"
        )
    _record(made.product, made.day)
    typer.echo(f"{what} shows {made.release_id}; what an act that was cut off left undone is done")


def _record(product: Product, window: date) -> None:
    """Tell Dagster what the window shows now."""
    with open_instance() as instance:
        record_published(instance, product, [window], again=True)
        record_segments(instance, product, [window], again=True)


def _make_months(product: Product, window: date, store: Store) -> int:
    """Make the month of a window again if all its days are published and it was withdrawn; how many were made."""
    shown = store.windows(product.product)
    stale = [month for month in complete_months(product, [window], shown) if not is_current(product, month, store)]
    for month in stale:
        make_month(product, month, store)
    return len(stale)
