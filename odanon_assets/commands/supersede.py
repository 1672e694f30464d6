"""`odanon supersede`: replace what a window shows."""

from datetime import datetime
from typing import Annotated

import typer

from odanon_assets.chain.published import published
from odanon_assets.commands.shared import ByName, ProductName, Reason, find_product
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.interface import Act

PANEL = ("Stores", 5)


def supersede(
    product: ProductName,
    day: Annotated[datetime, typer.Option("--date", formats=["%Y-%m-%d"], help="The window.")],
    by: ByName,
    reason: Reason,
) -> None:
    """Replace a published window by what the last run of that day made; verified, named and audited."""
    chosen = find_product(product)
    figures = published(
        chosen,
        Lake(default_root()),
        day.date(),
        zoning=chosen.zoning.instance,
        store=open_store(chosen),
        act=Act(by, reason),
    )
    typer.echo(f"{product} {day.date()} shows {figures['release_id']}")
