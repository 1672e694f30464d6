"""`odanon supersede`: replace what a window shows."""

from datetime import datetime
from typing import Annotated

import typer

from odanon_assets.commands.shared import ByName, ProductName, Reason, find_product
from odanon_assets.derived.months import is_current, make_month
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.platform.launch import complete_months
from odanon_assets.publisher.process import publish_fresh
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.interface import Act

PANEL = ("Stores", 5)


def supersede(
    product: ProductName,
    day: Annotated[datetime, typer.Option("--date", formats=["%Y-%m-%d"], help="The window.")],
    by: ByName,
    reason: Reason,
) -> None:
    """Replace a published window by what the last run of that day made; verified, named and audited.

    Months and exports that were made from it are withdrawn; a month whose days are all published is made again.
    """
    chosen = find_product(product)
    store = open_store(chosen)
    figures = publish_fresh(chosen, Lake(default_root()), day.date(), Act(by, reason))
    for month in complete_months(chosen, [day.date()], store.windows(product)):
        if not is_current(chosen, month, store):  # the month of what the window showed before was withdrawn
            make_month(chosen, month, store)
    typer.echo(f"{product} {day.date()} shows {figures['release_id']}")
