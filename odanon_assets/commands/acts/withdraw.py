"""`odanon withdraw`: take back what a window shows."""

from datetime import datetime
from typing import Annotated

import typer

from odanon.errors import OdanonError
from odanon.product.windows import window_of
from odanon_assets.commands.shared import ByName, ProductName, Reason, find_product
from odanon_assets.derived.folders import Derived
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.platform.launch import open_instance, record_withdrawal
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.interface import Act

PANEL = ("Stores", 7)


def withdraw(
    product: ProductName,
    day: Annotated[datetime, typer.Option("--date", formats=["%Y-%m-%d"], help="The window.")],
    by: ByName,
    reason: Reason,
) -> None:
    """Take back what a published window shows; readers see that it was withdrawn, and none of its numbers.

    Months, typical days and exports that were made from it go first. Ledger, audit log and the evidence of the auditor stay: a corrected release (`odanon supersede`) is held against what was public.

    For instance: `odanon withdraw my-city --date 2026-03-02 --by 'Jo Doe' --reason 'a sensor was broken'`.
    """
    chosen, act = find_product(product), Act(by, reason)
    window = window_of(chosen, day.date())
    store = open_store(chosen)
    Lake(default_root()).sweep()
    taken = Derived(default_root()).withdraw_release(store, product, window, act)
    now = store.standings(product).get(window.isoformat())
    told = False
    if now == "withdrawn":  # also what an act that was cut off has not told yet
        with open_instance() as instance:
            told = record_withdrawal(instance, chosen, window)
    if not (taken or told):
        raise OdanonError(
            f"nothing is withdrawn: {product} {window} {f'is {now} already' if now else 'was never published'}"
        )
    done = "is withdrawn" if taken else "was withdrawn before, and Dagster shows it now"
    typer.echo(f"{product} {window} {done}; `odanon supersede` shows whether a corrected release may take its place")
