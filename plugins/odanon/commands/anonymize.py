"""`odanon anonymize`: one table of trips or flows in, a release out."""

from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from odanon import registry
from odanon.commands.figures import in_a_line
from odanon.commands.table_options import with_table
from odanon.commands.values import plugin_parameters
from odanon.door import release
from odanon.errors import OdanonError
from odanon.metrics.declared import every_figure
from odanon.tables.read import TableInput
from odanon.tables.times import refuse_thin_ends
from odanon.tables.write import write_folder

PANEL = ("One table", 1)


@with_table
def anonymize(
    table: TableInput,
    out: Annotated[Path, typer.Option(help="Folder for the release; it must be new or empty.")],
    algorithm: Annotated[str, typer.Option(help="`odanon plugins anonymize` lists them.")] = "atg-lattice",
    k: Annotated[int, typer.Option("-k", "--k", help="Least number of units behind a flow.")] = 10,
    unit: Annotated[str, typer.Option(help="What k counts: persons, trips, vehicles or population.")] = "persons",
    suppression: Annotated[
        float, typer.Option(help="Largest share of trips that may be left out, or told coarsely.")
    ] = 0.10,
    adaptive: Annotated[
        bool, typer.Option("--adaptive", help="Every flow has as few bins of --time as it needs (atg-lattice).")
    ] = False,
    parameter: Annotated[
        list[str] | None, typer.Option("--set", help="Another parameter of the algorithm, as name=value.")
    ] = None,
) -> None:
    """Anonymise a table of trips or flows and write flows, assignment, zones and release.json.

    With H3 cells: `odanon anonymize trips.parquet --origin o --destination d --person user --out release`.
    With zones: `odanon anonymize od.csv --count trips --unit trips --hierarchy ward --zones zones.gpkg --out release`.
    """
    if out.exists() and any(out.iterdir()):
        raise OdanonError(f"{out} is not empty; give a new folder, so that nothing is overwritten")
    console, table = Console(stderr=True), replace(table, adaptive=adaptive)
    asked = {"k": k, "unit": unit, "suppression": suppression, **plugin_parameters(parameter)}
    anonymizer = registry.create("anonymize", algorithm, asked)
    promise = registry.find("anonymize", algorithm).promise(asked)
    if not anonymizer.verifiable:
        console.print(f"{algorithm} makes flows that nobody can count again: they will not be verified", style="yellow")
    with console.status(f"reading {table.path} ...") as status:
        loaded = table.load()
        matrices, tree = loaded.matrices, loaded.tree
        if adaptive:
            refuse_thin_ends(matrices[None], promise.k)
        status.update(f"{algorithm}: {len(matrices)} matrices (the first call ever compiles, up to a minute) ...")
        released = release(matrices, tree, anonymizer, promise)
        status.update("writing ...")
        write_folder(out, released, tree, loaded.tiles, algorithm, loaded.prior)
    _print_figures(released.figures, noisy=not released.verified)
    typer.echo(released.sentence)
    use = "to hand out" if released.verified else "to compare with, not verified and not to hand out as they are"
    tables = [name for name in ("flows", "zones", "weights") if (out / f"{name}.parquet").exists()]
    typer.echo(f"written to {out}: {', '.join(f'{name}.parquet' for name in tables)} {use};")
    typer.echo("assignment.parquet and release.json (where each input pair went, exact figures) to keep")


def _print_figures(figures: dict[str, float], *, noisy: bool) -> None:
    """The volumes, and every figure that is declared a headline, as far as they could be measured.

    Noise makes what was left out meaningless.
    """
    if {"flows", "published", "volume"} <= figures.keys():
        told = f"{figures['flows']:,.0f} flows, {figures['published']:,.0f} of {figures['volume']:,.0f} trips published"
        typer.echo(f"{told}, noise included" if noisy else told)
    said = {"flows", "S_share"} if noisy else {"flows"}
    said |= set() if figures.get("coarse_share") else {"coarse_share"}  # nothing to say without rests
    declared = every_figure()
    headlines = [name for name, figure in declared.items() if figure.headline and name not in said]
    for name in (*headlines, "min_persons"):
        if name in declared and (value := figures.get(name, nan)) == value:
            typer.echo(in_a_line(declared[name], value))
