"""`odanon run`: every stage of a product, day by day, as a person at a terminal follows it."""

import os
import sys
import time
from collections.abc import Iterator
from datetime import date, datetime
from typing import Annotated, TextIO

import typer
from rich.console import Console
from rich.markup import escape
from rich.status import Status

from odanon.errors import OdanonError, one_line
from odanon.product import Product
from odanon.product.windows import is_longer
from odanon_assets.commands.shared import ProductName, find_product
from odanon_assets.commands.summary import print_summary, print_trial
from odanon_assets.platform.launch import DayResult, days_between, run_days
from odanon_assets.watch.progress import listening

PANEL = ("Run and watch", 1)
_MOST_WARNINGS = 20
_TRY_AGAIN = "change the product file or repair the source and try again; a trial leaves nothing behind that binds you"


def run(
    product: ProductName,
    day: Annotated[datetime | None, typer.Option("--date", formats=["%Y-%m-%d"], help="One day.")] = None,
    first: Annotated[
        datetime | None, typer.Option("--from", formats=["%Y-%m-%d"], help="First day of a range.")
    ] = None,
    last: Annotated[datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="Last day, included.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Skip days that are published already.")] = False,
    trial: Annotated[
        bool, typer.Option("--trial", help="Publish nothing; say what publication would have said.")
    ] = False,
    accept_incomplete: Annotated[
        bool, typer.Option("--accept-incomplete", help="Take days as they are, though not delivered whole.")
    ] = False,
) -> None:
    """Run every stage of a product for one day or a range of days, through Dagster, in this process.

    A product with longer windows publishes those whose days are there, or as many as its file asks for.

    Without a date, the product's first day is run. A bad day is reported and the others still run. A product whose file does not say `status: live` is on trial, and its runs are trials.

    For instance: `odanon run my-city --from 2026-03-02 --to 2026-03-31 --resume`.
    """
    chosen = find_product(product)
    console = Console(file=_screen())
    days = _days(chosen, day, first, last)
    results = []
    if chosen.status == "trial" and not trial:
        trial = True
        console.print(f"{product} is on trial: nothing is published until its file says status: live", highlight=False)
    with console.status("starting Dagster ...") as status, listening(_Progress(console, status, len(days))) as progress:
        for result in run_days(chosen, days, resume=resume, trial=trial, accept_incomplete=accept_incomplete):
            results.append(result)
            progress.days -= result.skipped
    for standing in ("published", "withdrawn", "purged"):
        if skipped := [result.day for result in results if result.skipped and result.standing == standing]:
            console.print(f"[green]✓[/green] {_span(skipped)}  {standing} before, skipped", highlight=False)
    for result in (result for result in results if result.waits):
        console.print(f"[yellow]…[/yellow] {result.name}  waits: {escape(one_line(result.waits))}", highlight=False)
    failed = [result for result in results if result.error]
    for result in failed:
        if (result.name or result.day.isoformat()) not in progress.heard:
            console.print(
                f"[red]✗[/red] {result.name or result.day}  {escape(one_line(result.error))}", highlight=False
            )
    if trial:
        tried = [result.day for result in results if not result.skipped and bool(result.name) == is_longer(chosen)]
        print_trial(console, chosen, tried)
    else:
        print_summary(console, chosen)
    _print_warnings(console, progress.warnings)
    if failed:
        ended = "would not be published" if trial else "failed"
        begun = sum(not result.skipped for result in results)
        what = f"days and {chosen.publish.window}s" if is_longer(chosen) else "days"
        console.print(f"\n[red]{len(failed)} of {max(len(days), begun)} {what} {ended}:[/red]", highlight=False)
        for advice in [_TRY_AGAIN] if trial else _advice(product, failed):
            console.print(f"  - {escape(advice)}", highlight=False, soft_wrap=True)
        raise typer.Exit(1)


def _print_warnings(console: Console, warnings: list[str]) -> None:
    """What checks found odd without stopping a day."""
    if not warnings:
        return
    console.print("\n[yellow]Checks warn:[/yellow]", highlight=False)
    for line in warnings[:_MOST_WARNINGS]:
        console.print(f"  - {escape(one_line(line))}", highlight=False, soft_wrap=True)
    if len(warnings) > _MOST_WARNINGS:
        console.print(f"  - and {len(warnings) - _MOST_WARNINGS} more, in the Dagster UI", highlight=False)


def _advice(product: str, failed: list[DayResult]) -> Iterator[str]:
    """What to do about failed days; it depends on what their windows show."""
    by_standing: dict[str, list[date]] = {"open": [], "published": [], "withdrawn": [], "purged": []}
    for result in failed:
        by_standing[result.standing].append(result.day)
    if days := by_standing["open"]:
        yield f"{_names(days)}: once repaired, the same command with --resume tries again"
    for standing, left in (("published", "published before and left as it was"), ("withdrawn", "withdrawn before")):
        if days := by_standing[standing]:
            act = f"odanon supersede {product} --date {days[0]}"
            yield f"{_names(days)}: {left}; what would take its place, and whether the auditor agrees, is shown by: {act}"
    if days := by_standing["purged"]:
        yield f"{_names(days)}: purged, and never published again"


def _names(days: list[date]) -> str:
    return ", ".join(map(str, days[:5])) + (" ..." if len(days) > 5 else "")


def _days(product: Product, day: datetime | None, first: datetime | None, last: datetime | None) -> list[date]:
    if day is not None and (first is not None or last is not None):
        raise OdanonError("give either --date or --from and --to, not both")
    if (first is None) != (last is None):
        raise OdanonError("a range needs both --from and --to")
    start, end = (first, last) if first is not None else (day, day)
    days = [product.start] if start is None or end is None else days_between(start.date(), end.date())
    if not days:
        raise OdanonError("--to lies before --from; swap them")
    if days[0] < product.start:
        raise OdanonError(f"{days[0]} lies before the product's first day; its file says start: {product.start}")
    if product.end is not None and days[-1] > product.end:
        raise OdanonError(f"{days[-1]} lies after the product's last day; its file says end: {product.end}")
    return days


def _screen() -> TextIO | None:
    """The terminal itself: Dagster leads the output of a run into its log, where progress would be seen late or never."""
    if not sys.stdout.isatty():
        return None
    return open(os.dup(sys.stdout.fileno()), "w", encoding=sys.stdout.encoding)


class _Progress:
    """Shows the stage that runs, each day as it ends, and how long the rest will take."""

    def __init__(self, console: Console, status: Status, days: int) -> None:
        self.console, self.status, self.days = console, status, days
        self.heard: set[str] = set()
        self.warnings: list[str] = []
        self.started = time.monotonic()

    def stage(self, product: str, stage: str, day: str) -> None:
        self.status.update(f"{product} {day}: {stage} ... ({len(self.heard)} of {self.days} done{self._left()})")
        if not self.console.is_terminal and self.days == 1:
            self.console.print(f"  {product} {day}: {stage}", highlight=False)

    def warning(self, product: str, day: str, check: str, sentence: str) -> None:
        self.warnings.append(f"{day} {check}: {sentence}")

    def day(self, product: str, day: str, error: str, note: str) -> None:
        self.heard.add(day)
        mark = "[red]✗[/red]" if error else "[green]✓[/green]"
        self.console.print(f"{mark} {day}  {escape(one_line(error or note))}", highlight=False, soft_wrap=True)

    def _left(self) -> str:
        if not self.heard:
            return ""
        seconds = (time.monotonic() - self.started) / len(self.heard) * (self.days - len(self.heard))
        return f", about {seconds / 60:.0f} min left" if seconds > 90 else f", about {seconds:.0f} s left"


def _span(days: list[date]) -> str:
    return f"{days[0]}" if len(days) == 1 else f"{len(days)} days from {days[0]} to {days[-1]}"
