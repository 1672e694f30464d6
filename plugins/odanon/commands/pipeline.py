"""Running products: `odanon run`, `odanon summary`."""

import sys
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from odanon.product import Product


def register(app: typer.Typer) -> None:
    app.command()(run)
    app.command()(summary)


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

    from odanon_assets.run import run_days

    chosen = _find_product(product)
    console = Console()
    failures = 0
    results = run_days(chosen, _days(chosen, day, first, last), resume=resume)
    while True:
        result = _next_with_progress(console, results)
        if result is None:
            break
        if result.error:
            failures += 1
            console.print(f"[red]✗[/red] {result.day}  {result.error}", highlight=False)
        else:
            note = "published before, skipped" if result.skipped else "published"
            console.print(f"[green]✓[/green] {result.day}  {note}", highlight=False)
    _print_summary(console, chosen)
    if failures:
        raise typer.Exit(1)


def summary(
    product: Annotated[str, typer.Argument(help="Name of the product.")],
) -> None:
    """Show what a product has published: figures, tables and reports."""
    from rich.console import Console

    _print_summary(Console(), _find_product(product))


def _find_product(name: str) -> "Product":
    from odanon.errors import OdanonError
    from odanon.product import load_products
    from odanon_assets.lake import products_folder

    products = {product.product: product for product in load_products(products_folder())}
    if name not in products:
        raise OdanonError(f"no product is called {name!r} in {products_folder()}; there are {', '.join(products)}")
    return products[name]


def _days(product: "Product", day: datetime | None, first: datetime | None, last: datetime | None) -> list[date]:
    from odanon.errors import OdanonError
    from odanon_assets.run import days_between

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


def _next_with_progress(console: Any, results: Any) -> Any:
    """The next finished day, with its current stage shown while it runs."""
    from odanon_assets.progress import listening

    with console.status("starting Dagster ...") as status:

        def show(product: str, stage: str, day: str) -> None:
            status.update(f"{product} {day}: {stage} ...")
            if not console.is_terminal:
                console.print(f"  {product} {day}: {stage}", highlight=False)

        with listening(show):
            return next(results, None)


def _print_summary(console: Any, product: "Product") -> None:
    from odanon_assets.summary import latest_summary

    latest = latest_summary(product)
    if latest is None:
        console.print(f"nothing is published yet for {product.product}")
        return
    metrics, folder, days = latest["metrics"], latest["folder"], latest["days"]
    counts = ", ".join(f"{value:,} {label}" for label, value in latest["in"].items())
    promise = latest["manifest"]["promise"]
    console.print(f"\n[bold]{product.title}[/bold] — {len(days)} days published, latest {days[-1]}")
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
