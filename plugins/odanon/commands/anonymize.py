"""`odanon anonymize`: one table of trips or flows in, a release out."""

from pathlib import Path
from typing import Annotated, Any

import typer


def register(app: typer.Typer) -> None:
    app.command()(anonymize)


def anonymize(
    table: Annotated[Path, typer.Argument(help="Parquet or CSV: a row per trip, or per flow with its count.")],
    out: Annotated[Path, typer.Option(help="Folder for the release; it must be new or empty.")],
    origin: Annotated[str, typer.Option(help="Column with the origin tile, or two columns: lat,lon.")] = "origin",
    destination: Annotated[str, typer.Option(help="Column (or two) with the destination.")] = "destination",
    count: Annotated[str | None, typer.Option(help="Column with the number of trips; without it a row is one.")] = None,
    person: Annotated[str | None, typer.Option(help="Column with the person (or vehicle) id.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column with the expansion weight, for unit population.")] = None,
    time: Annotated[str | None, typer.Option(help="Column with the time bin: one matrix for each value.")] = None,
    hierarchy: Annotated[str, typer.Option(help="h3, ward, quadtree, or a CSV/Parquet table: child, parent.")] = "h3",
    zones: Annotated[
        Path | None, typer.Option(help="Where the tiles lie: a polygon layer, or a table with id, lat, lon.")
    ] = None,
    zone_id: Annotated[str, typer.Option(help="Column of --zones with the tile's label.")] = "id",
    resolution: Annotated[int, typer.Option(min=0, max=15, help="H3 resolution of coordinates.")] = 9,
    algorithm: Annotated[str, typer.Option(help="`odanon plugins anonymize` lists them.")] = "atg-joint",
    k: Annotated[int, typer.Option("-k", "--k", help="Least number of units behind a flow.")] = 10,
    unit: Annotated[str, typer.Option(help="What k counts: persons, trips, vehicles or population.")] = "persons",
    suppression: Annotated[float, typer.Option(help="Largest share of trips that may be left out.")] = 0.10,
    parameter: Annotated[
        list[str] | None, typer.Option("--set", help="Another parameter of the algorithm, as name=value.")
    ] = None,
) -> None:
    """Anonymise a table of trips or flows and write flows, assignment, zones and release.json.

    With H3 cells: `odanon anonymize trips.parquet --origin o --destination d --person user --out release`.
    With zones: `odanon anonymize od.csv --count trips --unit trips --hierarchy ward --zones zones.gpkg --out release`.
    """
    from rich.console import Console

    from odanon import registry
    from odanon.anonymizers.window import release_window
    from odanon.errors import OdanonError
    from odanon.measure import measured
    from odanon.plugin import parameters_of
    from odanon.privacy.promise import promise
    from odanon.tables.read import TableInput
    from odanon.tables.write import write_folder

    if out.exists() and any(out.iterdir()):
        raise OdanonError(f"{out} is not empty; give a new folder, so that nothing is overwritten")
    console = Console(stderr=True)
    extra = dict(_name_and_value(text) for text in parameter or [])
    anonymizer = registry.create("anonymize", algorithm, {"k": k, "unit": unit, "suppression": suppression, **extra})
    with console.status(f"reading {table} ...") as status:
        loaded = TableInput(
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
        ).load()
        matrices, tree = loaded.matrices, loaded.tree
        status.update(f"{algorithm}: {len(matrices)} matrices (the first call ever compiles, up to a minute) ...")
        releases = release_window(anonymizer, matrices, tree, tree)
        status.update("measuring and writing ...")
        for bin_, release in releases.items():
            measured(matrices[bin_], release)
        figures = write_folder(out, releases, tree, loaded.tiles, anonymizer, algorithm)
    _print_figures(figures, out)
    typer.echo(promise(parameters_of(anonymizer)))


def _name_and_value(text: str) -> tuple[str, Any]:
    import yaml

    from odanon.errors import OdanonError

    name, equals, value = text.partition("=")
    if not equals:
        raise OdanonError(f"--set {text}: write name=value, such as --set min_tiles=3")
    return name, yaml.safe_load(value)


def _print_figures(figures: dict[str, Any], out: Path) -> None:
    typer.echo(
        f"{figures['flows']:,.0f} flows, {figures['published']:,.0f} of {figures['volume']:,.0f} trips published,"
        f" {figures['S_share']:.2%} left out"
    )
    typer.echo(f"Gbar {figures['Gbar']:.3f} tiles a trip (2 = nothing generalised), E {figures['E']:.3f}")
    if figures["min_persons"] == figures["min_persons"]:
        typer.echo(f"the smallest flow holds {figures['min_persons']:.0f} people")
    typer.echo(f"written to {out}: flows.parquet, assignment.parquet, zones.parquet, release.json")
