"""`odanon compare`: many algorithms on one table, measured alike."""

from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from odanon.commands.table_options import with_table
from odanon.commands.values import duration
from odanon.compare.cross import cross_table
from odanon.compare.page import comparison_page
from odanon.compare.plan import NOT_VERIFIED, Case, Plan, cases, crossed
from odanon.compare.runner import run_plan, tidy
from odanon.errors import OdanonError
from odanon.metrics.declared import every_figure
from odanon.metrics.volumes import SUFFIX
from odanon.model.figure import Figure
from odanon.reconstruct.readings import EVEN, PRIOR, checked_reading
from odanon.report.compared_tables import PUBLISHED_NOTHING, as_told, compared_figures
from odanon.tables.read import Loaded, TableInput
from odanon.tables.spreadsheet import write_csv
from odanon.tables.understood import refuse_uncounted, while_reading, with_ends

PANEL = ("One table", 2)
_WIDEST = 1000
_OTHERS = tuple(suffix for suffix in SUFFIX.values() if suffix)  # of figures that sum people or weights


@with_table
def compare(
    table: TableInput,
    out: Annotated[Path, typer.Option(help="Folder for results; running again continues where it stopped.")],
    algorithms: Annotated[str, typer.Option(help="all, or names separated by commas.")] = "all",
    k: Annotated[str, typer.Option("-k", "--k", help="Values of k separated by commas.")] = "5,10,20",
    unit: Annotated[str, typer.Option(help="What k counts: persons, trips or vehicles.")] = "persons",
    suppression: Annotated[float, typer.Option(help="Largest share of trips that may be left out.")] = 0.10,
    protect: Annotated[
        str | None,
        typer.Option(help="participants, population or both: a cross table of whom each protects, in place of --unit."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="With --protect: column of segments, such as sex, each compared on its own.")
    ] = None,
    reading: Annotated[
        str,
        typer.Option(
            help="How the page spreads flows back over tiles: even, fitted, prior (with --tile-weights) or auto."
        ),
    ] = EVEN,
    adaptive: Annotated[
        bool,
        typer.Option("--adaptive", help="Algorithms that can do so also with as few bins of --time as a flow needs."),
    ] = False,
    time_limit: Annotated[str, typer.Option(help="Longest time a run may take, such as 90s, 10min or 2h.")] = "10min",
    workers: Annotated[int, typer.Option(min=0, help="Runs at the same time; 0 takes one per core.")] = 0,
) -> None:
    """Run anonymisers on a table and write a report, comparison.parquet and comparison.csv.

    For instance: `odanon compare trips.parquet --person user --k 5,10 --algorithms atg-joint,odkanon --out compared`.
    A weighted survey: `odanon compare survey.csv --person id --weight w --protect participants,population --by sex --out both`.
    """
    if by is not None and protect is None:
        raise OdanonError("--by splits a cross table; add --protect participants,population")
    if checked_reading(reading) == PRIOR and table.tile_weights is None:
        raise OdanonError("the reading prior needs public weights; add --tile-weights FILE")
    if adaptive and (table.time is None or protect is not None):
        raise OdanonError("--adaptive compares bins of time, without --protect; name their column with --time")
    planned = cases(algorithms, k, "persons" if protect else unit, suppression, adaptive)
    console = Console(stderr=True)
    table = replace(with_ends(table, console), segment=by)
    refuse_uncounted(table, "persons" if protect else unit)
    with while_reading(console, table.path.name) as (_, rows_read):
        loaded = table.load(rows_read)  # a mistake in the table is told once, before any run
    if protect is not None:
        planned = _crossed(planned, protect, loaded)
    plan = Plan(table, planned, out, duration("--time-limit", time_limit).total_seconds(), reading=reading)
    results = []
    with Progress(console=console) as progress:
        task = progress.add_task("comparing", total=len(plan.cases))
        for result in run_plan(plan, workers):
            results.append(result)
            case = result["case"]
            segment = f" {case['segment']}" if by else ""
            proven = "" if result.get("verified", True) else f", {NOT_VERIFIED}"
            nothing = f", {PUBLISHED_NOTHING}" if result.get("metrics", {}).get("flows") == 0 else ""
            told = f"{case['algorithm']} k={case['k']}{segment}: {result['status']}{proven}{nothing}"
            why = f" ({result['message']})" if result.get("message") else ""
            progress.console.print(f"{told}{why}", highlight=False, markup=False)
            progress.advance(task)
    compared = tidy(results)
    tables = {"comparison": compared} | ({"cross": cross_table(compared)} if protect else {})
    for name, content in tables.items():
        content.to_parquet(out / f"{name}.parquet", index=False)
        write_csv(content, out / f"{name}.csv")
    (out / "report.html").write_text(comparison_page(plan, compared, loaded), encoding="utf-8")
    _print_tables(tables)
    files = "".join(f", {name}.parquet, {name}.csv" for name in tables)
    typer.echo(f"written to {out}: report.html{files}, runs/")


def _crossed(planned: tuple[Case, ...], protect: str, loaded: Loaded) -> tuple[Case, ...]:
    matrices = loaded.matrices.values()
    if any(od.person is None or od.weight is None for od in matrices):
        raise OdanonError("--protect compares persons with the weights they stand for; add --person and --weight")
    weight = sum(float(od.weight.sum()) for od in matrices if od.weight is not None)
    return crossed(planned, protect, weight / sum(od.volume for od in matrices), loaded.segments)


def _print_tables(tables: dict[str, pd.DataFrame]) -> None:
    """The cross table where there is one, else the comparison: its headlines where a terminal has no room for all of it.

    No column is cut, however narrow the terminal.
    """
    name = "cross" if "cross" in tables else "comparison"
    known = tables[name].dropna(axis="columns", how="all").columns
    table = (tables[name] if name == "cross" else as_told(tables[name]))[known]
    terminal, whole = Console(), _drawn(table, _columns(name))
    width = Console(width=_WIDEST).measure(whole).maximum
    if not terminal.is_terminal or width <= terminal.width:
        Console(width=width).print(whole)
        return
    short = _drawn(table, _headlines(name))
    Console(width=Console(width=_WIDEST).measure(short).maximum).print(short)
    typer.echo(f"all columns are in {name}.csv")


def _drawn(table: pd.DataFrame, columns: tuple[str, ...]) -> Table:
    known = [column for column in columns if column in table]
    drawn = Table(box=None)
    for column in known:
        drawn.add_column(column.replace("_areas", "s"), justify="right", no_wrap=True)
    for row in table[known].to_dict("records"):
        drawn.add_row(*(_cell(str(column), value) for column, value in row.items()))
    return drawn


def _columns(name: str) -> tuple[str, ...]:
    """What is worth a column: figures of trips that have a symbol, under their names in the files.

    Beside the many columns of a cross table only headlines find a place; figures of people and weights are in the files.
    """
    if name == "cross":
        who = ("segment", "algorithm", "k", "protect", "threshold", "measured_on", "least", "needed", "cells_below")
        return (*who, "origins", "destinations", *(figure.name for figure in _headed() if figure.headline))
    measured = [figure.name for figure in _headed()]
    return ("algorithm", "k", "status", "verifier", *measured, "origin_areas", "destination_areas", "cpu_s", "peak_mb")


def _headlines(name: str) -> tuple[str, ...]:
    """What tells releases apart at a glance."""
    who = ("segment", "algorithm", "k", "protect") if name == "cross" else ("algorithm", "k", "status", "verifier")
    return (*who, *(figure.name for figure in _headed() if figure.headline))


def _headed() -> list[Figure]:
    return [figure for figure in compared_figures() if not figure.name.endswith(_OTHERS)]


def _cell(column: str, value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    if isnan(value):
        return "–"
    declared = every_figure().get(column)
    return f"{value:,.4g}" if declared is None else declared.in_words(value)
