"""`odanon anonymize`: one table of trips or flows in, a release out."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from odanon import registry
from odanon.commands.table_options import with_table
from odanon.commands.values import plugin_parameters
from odanon.compare.plan import splits_time
from odanon.door import Released, reaches, release
from odanon.errors import OdanonError
from odanon.metrics.declared import every_figure
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Promise
from odanon.tables.read import TableInput
from odanon.tables.times import refuse_thin_ends
from odanon.tables.understood import proposal, refuse_uncounted, release_folder, told, while_reading, with_ends
from odanon.tables.write import HANDOUT, KEEP, withheld, write_release

PANEL = ("One table", 1)
_USUAL, _BUDGET = "atg-lattice", 0.10


@with_table
def anonymize(
    table: TableInput,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the release, new or empty; without it nothing is done, and told what would be."),
    ] = None,
    algorithm: Annotated[str, typer.Option(help="`odanon plugins anonymize` lists them.")] = _USUAL,
    k: Annotated[int, typer.Option("-k", "--k", help="Least number of units behind a flow.")] = 10,
    unit: Annotated[str, typer.Option(help="What k counts: persons, trips, vehicles or population.")] = "persons",
    suppression: Annotated[
        float, typer.Option(help="Largest share of trips that may be left out, or told coarsely.")
    ] = _BUDGET,
    adaptive: Annotated[
        bool | None,
        typer.Option(
            "--adaptive/--fixed",
            help="Every flow has as few bins of --time as it needs, or all have one; with --bin the first where the algorithm can.",
        ),
    ] = None,
    parameter: Annotated[
        list[str] | None, typer.Option("--set", help="Another parameter of the algorithm, as name=value.")
    ] = None,
) -> None:
    """Anonymise a table of trips or flows and write a folder to hand out, and one to keep.

    What it understands of a file: `odanon anonymize trips.csv`.
    With H3 cells: `odanon anonymize trips.parquet --origin o --destination d --person user --out release`.
    With zones: `odanon anonymize od.csv --count trips --unit trips --zones zones.gpkg --out release`.
    By hours: `odanon anonymize trips.csv --person user --time start --bin 1h --timezone Europe/Paris --out release`.
    """
    console = Console(stderr=True)
    asked = {"k": k, "unit": unit, "suppression": suppression, **plugin_parameters(parameter)}
    anonymizer = registry.create("anonymize", algorithm, asked)
    promise = registry.find("anonymize", algorithm).promise(asked)
    if adaptive and not splits_time(algorithm):
        raise OdanonError(f"{algorithm} splits no time; choose --algorithm {_USUAL}, or --fixed")
    if table.weight is not None and unit != "population":
        raise OdanonError(
            f"--weight {table.weight} counts with --unit population alone; if it says how many trips a row stands for, write --count"
            f" {table.weight}"
        )
    if out is None:
        others = [] if algorithm == _USUAL else ["--algorithm", algorithm]
        others += [] if suppression == _BUDGET else ["--suppression", str(suppression)]
        others += [] if adaptive is None else ["--adaptive" if adaptive else "--fixed"]
        others += [word for each in parameter or [] for word in ("--set", each)]
        proposed = proposal(replace(table, adaptive=bool(adaptive)), unit, k, algorithm, suppression, others)
        proposed.show()
        if proposed.lacking or not _asks() or not typer.confirm("do it now?"):
            return
        table, out = proposed.accepted(table), release_folder(table)
    if out.exists() and any(out.iterdir()):
        raise OdanonError(f"{out} is not empty; give a new folder, so that nothing is overwritten")
    table = with_ends(table, console)
    refuse_uncounted(table, unit)
    in_time = adaptive if adaptive is not None else table.bin is not None and splits_time(algorithm)
    table = replace(table, adaptive=in_time)
    if not anonymizer.verifiable:
        told(console, f"{algorithm} makes flows that nobody can count again: they will not be verified")
    with while_reading(console, table.path.name) as (progress, rows_read):
        loaded = table.load(rows_read)
        matrices, tree = loaded.matrices, loaded.tree
        if in_time:
            refuse_thin_ends(matrices[None], promise.k)
        progress.add_task(
            f"{algorithm}: {len(matrices)} matrices (the first call ever compiles, up to a minute) ...", total=None
        )
        released = release(matrices, tree, anonymizer, promise)
        write_release(out, released, loaded, algorithm, table.path.name.partition(".")[0], table.zone.key)
    _print_figures(released.figures, noisy=not released.verified)
    allowed = released.parameters.get("suppression", 1.0) if anonymizer.budgeted and released.verified else 1.0
    if (share := _suppressed(matrices, released)) > allowed:
        told(
            console,
            f"more than --suppression allows: {algorithm} leaves out {100 * share:.3g} % of the trips of matrices that reach k;"
            " choose another algorithm, and report it to its author",
        )
    typer.echo(released.sentence)
    if (why := withheld(released, loaded)) is None:
        files = ", ".join(sorted(path.name for path in (out / HANDOUT).iterdir()))
        typer.echo(f"to hand out: {out / HANDOUT} ({files})")
    else:
        typer.echo(f"nothing to hand out: {why}")
    typer.echo(f"to keep, restricted: {out / KEEP} (exact numbers of people, and where each input pair went)")


def _suppressed(matrices: Mapping[Any, ODMatrix], released: Released[Any]) -> float:
    """Which share of the trips is in no flow, of the time bins that reach k; the others are left out whole, whatever the algorithm."""
    promise = Promise.of(released.parameters)
    lists = [released.releases[name].assignment for name, od in matrices.items() if reaches(od, promise)]
    lost = sum(int(pairs.loc[pairs["flow"] < 0, "trips"].sum()) for pairs in lists)
    return lost / sum(int(pairs["trips"].sum()) for pairs in lists)


def _asks() -> bool:
    """Whether somebody is there to answer."""
    return sys.stdin.isatty()


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
            typer.echo(declared[name].in_a_line(value))
