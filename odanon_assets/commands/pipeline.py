"""Running and watching products: `odanon run`, `odanon summary`, `odanon metrics`."""

import os
import sys
import time
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from odanon.product import Product


def register(app: typer.Typer) -> None:
    app.command()(run)
    app.command()(summary)
    app.command()(metrics)


def run(
    product: Annotated[str, typer.Argument(help="Name of the product, as in its file in pipelines/.")],
    day: Annotated[datetime | None, typer.Option("--date", formats=["%Y-%m-%d"], help="One day.")] = None,
    first: Annotated[
        datetime | None, typer.Option("--from", formats=["%Y-%m-%d"], help="First day of a range.")
    ] = None,
    last: Annotated[datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="Last day, included.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Skip days that are published already.")] = False,
) -> None:
    """Run every stage of a product for one day or a range of days, through Dagster, in this process.

    Without a date, the product's first day is run. A bad day is reported and the others still run.
    """
    from rich.console import Console

    from odanon_assets.platform.launch import run_days
    from odanon_assets.watch.progress import listening

    chosen = _find_product(product)
    console = Console(file=_screen())
    days = _days(chosen, day, first, last)
    results = []
    with console.status("starting Dagster ...") as status, listening(_Progress(console, status, len(days))) as progress:
        for result in run_days(chosen, days, resume=resume):
            results.append(result)
            progress.days -= result.skipped
    skipped = [result.day for result in results if result.skipped]
    if skipped:
        console.print(f"[green]✓[/green] {_span(skipped)}  published before, skipped", highlight=False)
    failed = [result for result in results if result.error]
    for result in failed:
        if result.day.isoformat() not in progress.heard:
            console.print(f"[red]✗[/red] {result.day}  {result.error}", highlight=False)
    _print_summary(console, chosen)
    if failed:
        names = ", ".join(str(result.day) for result in failed[:5]) + (" ..." if len(failed) > 5 else "")
        advice = "once repaired, the same command with --resume tries them again"
        console.print(f"\n[red]{len(failed)} of {len(days)} days failed[/red] ({names}); {advice}", highlight=False)
        raise typer.Exit(1)


def summary(
    product: Annotated[str, typer.Argument(help="Name of the product.")],
) -> None:
    """Show what a product has published: figures, tables and reports."""
    from rich.console import Console

    _print_summary(Console(), _find_product(product))


def metrics(
    out: Annotated[
        Path | None, typer.Option(help="Write to this file in one step, for node_exporter's textfile collector.")
    ] = None,
) -> None:
    """Print figures of all products in Prometheus' text format: releases, failed days, checks, times, memory."""
    from odanon.product import load_products
    from odanon_assets.lake.files import write_text
    from odanon_assets.lake.places import products_folder
    from odanon_assets.platform.launch import open_instance
    from odanon_assets.platform.prometheus import exposition, product_samples

    with open_instance() as instance:
        products = load_products(products_folder())
        text = exposition([sample for product in products for sample in product_samples(product, instance)])
    if out is None:
        print(text, end="")
    else:
        write_text(out, text)


def _find_product(name: str) -> "Product":
    from odanon.errors import OdanonError
    from odanon.product import load_products
    from odanon_assets.lake.places import products_folder

    products = {product.product: product for product in load_products(products_folder())}
    if name not in products:
        raise OdanonError(f"no product is called {name!r} in {products_folder()}; there are {', '.join(products)}")
    return products[name]


def _days(product: "Product", day: datetime | None, first: datetime | None, last: datetime | None) -> list[date]:
    from odanon.errors import OdanonError
    from odanon_assets.platform.launch import days_between

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
    return days


def _screen() -> TextIO | None:
    """The terminal itself: Dagster leads the output of a run into its log, where progress would be seen late or never."""
    if not sys.stdout.isatty():
        return None
    return open(os.dup(sys.stdout.fileno()), "w", encoding=sys.stdout.encoding)


class _Progress:
    """Shows the stage that runs, each day as it ends, and how long the rest will take."""

    def __init__(self, console: "Console", status: "Status", days: int) -> None:
        self.console, self.status, self.days = console, status, days
        self.heard: set[str] = set()
        self.started = time.monotonic()

    def stage(self, product: str, stage: str, day: str) -> None:
        self.status.update(f"{product} {day}: {stage} ... ({len(self.heard)} of {self.days} done{self._left()})")
        if not self.console.is_terminal and self.days == 1:
            self.console.print(f"  {product} {day}: {stage}", highlight=False)

    def day(self, product: str, day: str, error: str, note: str) -> None:
        self.heard.add(day)
        mark = "[red]✗[/red]" if error else "[green]✓[/green]"
        self.console.print(f"{mark} {day}  {error or note}", highlight=False, soft_wrap=True)

    def _left(self) -> str:
        if not self.heard:
            return ""
        seconds = (time.monotonic() - self.started) / len(self.heard) * (self.days - len(self.heard))
        return f", about {seconds / 60:.0f} min left" if seconds > 90 else f", about {seconds:.0f} s left"


def _number(days: list[Any]) -> str:
    return "1 day" if len(days) == 1 else f"{len(days)} days"


def _span(days: list[date]) -> str:
    return f"{days[0]}" if len(days) == 1 else f"{len(days)} days from {days[0]} to {days[-1]}"


def _print_summary(console: Any, product: "Product") -> None:
    from odanon_assets.commands.summary import latest_summary

    latest = latest_summary(product)
    if latest is None:
        console.print(f"nothing is published yet for {product.product}")
        return
    metrics, folder, days = latest["metrics"], latest["folder"], latest["days"]
    counts = ", ".join(f"{value:,} {label}" for label, value in latest["in"].items())
    promise = latest["manifest"]["promise"]
    console.print(
        f"\n[bold]{product.title}[/bold] — {_number(days)} published; the latest is {days[-1]}:", highlight=False
    )
    rows = {
        "in": counts,
        "published": f"{metrics['flows']:,.0f} flows between {metrics['origin_areas']:,.0f} origin and"
        f" {metrics['destination_areas']:,.0f} destination areas (busiest time bin), {metrics['published']:,.0f} trips",
        "suppressed": f"{metrics['S_share']:.1%} of the trips",
        "precision": f"a trip is blurred to {metrics['Gbar']:.1f} tiles on average, origin plus destination (2 = none)",
        "people": f"the smallest flow holds {metrics['min_persons']:.0f} people; {promise}",
        "tables": f"{_short(folder)}/flows.parquet, zones.parquet" if folder else "in PostGIS, schema published",
        "report": f"{_short(folder)}/report.html" if folder else "kept in the database beside the tables",
    }
    for label, text in rows.items():
        console.print(f"  [bold]{label:<11}[/bold]{text}", highlight=False, soft_wrap=True)
    command = _short(Path(sys.argv[0])) if Path(sys.argv[0]).name == "odanon" else "odanon"
    steps = (
        "open the report in a browser",
        f'{command} sql "select * from flows order by trips desc limit 5"',
        "make up, then look at the Dagster UI",
        f"copy pipelines/demo.yaml and point it at your own data; {command} plugins shows what it may say",
    )
    console.print("\nNext:")
    for step in steps:
        console.print(f"  - {step}", highlight=False, soft_wrap=True)


def _short(path: Path) -> str:
    """The path relative to the working folder when it lies inside."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
