"""`odanon status`: how the days of a product stand."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime, timedelta
from itertools import groupby
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from odanon.errors import one_line
from odanon_assets.commands.shared import ProductName, find_product
from odanon_assets.platform.launch import open_instance
from odanon_assets.status.days import DayStatus, day_statuses

PANEL = ("Run and watch", 2)
_COLOURS = {"published": "green", "failed": "red", "waiting": "yellow", "late": "yellow", "trial": "cyan"}


def status(
    product: ProductName,
    first: Annotated[datetime | None, typer.Option("--from", formats=["%Y-%m-%d"], help="First day.")] = None,
    last: Annotated[datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="Last day, included.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One object a day, for machines.")] = False,
) -> None:
    """List the days of a product: published, late, running, failed, waiting or tried, and why.

    Without dates: every day of which something is known, and those that the schedule looks back at. Nothing is started.

    For instance: `odanon status my-city --from 2026-03-02 --to 2026-03-31`.
    """
    chosen = find_product(product)
    with open_instance() as instance:
        found = day_statuses(chosen, instance, first and first.date(), last and last.date())
    if as_json:
        typer.echo(json.dumps([{**asdict(each), "day": each.day.isoformat()} for each in found], indent=1))
        return
    console = Console()
    if not found:
        console.print(f"nothing is known of {product} yet; `odanon run {product}` tries its first day", highlight=False)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("days", "state", "why"):
        table.add_column(name, no_wrap=name != "why")
    for days in _spans(found):
        state, span = days[0].state, str(days[0].day)
        span += f" to {days[-1].day}" if len(days) > 1 else ""
        table.add_row(span, f"[{_COLOURS.get(state, 'default')}]{state}[/]", escape(one_line(_why(days[0]))))
    console.print(table, highlight=False)
    if chosen.status == "trial":
        console.print(
            f"{product} is on trial and publishes nothing; status: live in its file publishes", highlight=False
        )


def _spans(found: list[DayStatus]) -> Iterator[list[DayStatus]]:
    """Days that follow each other and stand alike."""
    numbered = enumerate(found)
    for _, group in groupby(
        numbered, key=lambda item: (item[1].state, _why(item[1]), item[1].day - timedelta(item[0]))
    ):
        yield [each for _, each in group]


def _why(each: DayStatus) -> str:
    tried = f"in a trial it {each.trial}" if each.trial and each.state != "trial" else ""
    return "; ".join(text for text in (each.why, tried) if text)
