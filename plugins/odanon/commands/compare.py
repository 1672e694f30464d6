"""`odanon compare`: many algorithms on one table, measured alike."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import pandas as pd


def register(app: typer.Typer) -> None:
    app.command()(compare)


def compare(
    table: Annotated[Path, typer.Argument(help="Parquet or CSV: a row per trip, or per flow with its count.")],
    out: Annotated[Path, typer.Option(help="Folder for results; running again continues where it stopped.")],
    algorithms: Annotated[str, typer.Option(help="all, or names separated by commas.")] = "all",
    k: Annotated[str, typer.Option(help="Values of k separated by commas.")] = "5,10,20",
    unit: Annotated[str, typer.Option(help="What k counts: persons, trips or vehicles.")] = "persons",
    suppression: Annotated[float, typer.Option(help="Largest share of trips that may be left out.")] = 0.10,
    origin: Annotated[str, typer.Option(help="Column with the origin tile, or two columns: lat,lon.")] = "origin",
    destination: Annotated[str, typer.Option(help="Column (or two) with the destination.")] = "destination",
    count: Annotated[str | None, typer.Option(help="Column with the number of trips; without it a row is one.")] = None,
    person: Annotated[str | None, typer.Option(help="Column with the person (or vehicle) id.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column with the expansion weight.")] = None,
    time: Annotated[str | None, typer.Option(help="Column with the time bin: one matrix for each value.")] = None,
    hierarchy: Annotated[str, typer.Option(help="h3, ward, quadtree, or a CSV/Parquet table: child, parent.")] = "h3",
    zones: Annotated[Path | None, typer.Option(help="Polygon layer, or a table with id, lat, lon.")] = None,
    zone_id: Annotated[str, typer.Option(help="Column of --zones with the tile's label.")] = "id",
    resolution: Annotated[int, typer.Option(min=0, max=15, help="H3 resolution of coordinates.")] = 9,
    time_limit: Annotated[str, typer.Option(help="Longest time a run may take, such as 90s, 10min or 2h.")] = "10min",
    workers: Annotated[int, typer.Option(help="Runs at the same time; 0 takes one per core.")] = 0,
) -> None:
    """Run anonymisers on a table and write a report, comparison.parquet and comparison.csv.

    For instance: `odanon compare trips.parquet --person user --k 5,10 --algorithms atg-joint,odkanon --out compared`.
    """
    from rich.console import Console
    from rich.progress import Progress

    from odanon.compare.page import comparison_page
    from odanon.compare.plan import Plan, cases
    from odanon.compare.runner import run_plan, tidy
    from odanon.plugin import parse_duration
    from odanon.tables.read import TableInput

    source = TableInput(
        path=table,
        origin=origin,
        destination=destination,
        count=count,
        person=person,
        weight=weight,
        time=time,
        hierarchy=hierarchy,
        zones=zones,
        zone_id=zone_id,
        resolution=resolution,
    )
    loaded = source.load()  # a mistake in the table is told once, before any run
    limit = parse_duration(time_limit).total_seconds()
    plan = Plan(source, cases(algorithms, k, unit, suppression), out, limit)
    results = []
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("comparing", total=len(plan.cases))
        for result in run_plan(plan, workers):
            results.append(result)
            case = result["case"]
            progress.console.print(f"{case['algorithm']} k={case['k']}: {result['status']}", highlight=False)
            progress.advance(task)
    compared = tidy(results)
    compared.to_parquet(out / "comparison.parquet", index=False)
    compared.to_csv(out / "comparison.csv", index=False)
    (out / "report.html").write_text(comparison_page(plan, compared, loaded), encoding="utf-8")
    _print_table(compared)
    typer.echo(f"written to {out}: report.html, comparison.parquet, comparison.csv, runs/")


def _print_table(compared: "pd.DataFrame") -> None:
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=None)
    columns = ("algorithm", "k", "status", "Gbar", "E", "D", "S_share", "C_DM", "C_AVG", "flows", "cpu_s", "peak_mb")
    for name in columns:
        shown.add_column(name, justify="left" if name in ("algorithm", "status") else "right")
    for row in compared[list(columns)].to_dict("records"):
        shown.add_row(*(f"{value:,.4g}" if isinstance(value, float) else str(value) for value in row.values()))
    Console(width=130).print(shown)
