"""The options that name a table and its columns, shared by the commands that read one."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from odanon.commands.values import plugin_parameters
from odanon.tables.read import TableInput

_USUAL: dict[str, dict[str, Any]] = {"h3": {"steps": "fine"}}


def read_table(
    table: Annotated[Path, typer.Argument(help="Parquet or CSV: a row per trip, or per flow with its count.")],
    origin: Annotated[str, typer.Option(help="Column with the origin tile, or two columns: lat,lon.")] = "origin",
    destination: Annotated[str, typer.Option(help="Column (or two) with the destination.")] = "destination",
    count: Annotated[str | None, typer.Option(help="Column with the number of trips; without it a row is one.")] = None,
    person: Annotated[str | None, typer.Option(help="Column with the person (or vehicle) id.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column with the expansion weight, for the population.")] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Column with the time bin, one matrix for each value; advise reads when trips start."),
    ] = None,
    hierarchy: Annotated[str, typer.Option(help="h3, ward, quadtree, or a CSV/Parquet table: child, parent.")] = "h3",
    hierarchy_set: Annotated[
        list[str] | None,
        typer.Option(help="A parameter of the hierarchy, as name=value; h3 has fine steps unless steps=standard."),
    ] = None,
    zones: Annotated[
        Path | None, typer.Option(help="Where the tiles lie: a polygon layer, or a table with id, lat, lon.")
    ] = None,
    zone_id: Annotated[str, typer.Option(help="Column of --zones with the tile's label.")] = "id",
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Leave out rows whose tile --zones does not have.")
    ] = False,
    resolution: Annotated[int, typer.Option(min=0, max=15, help="H3 resolution of coordinates.")] = 9,
    tile_weights: Annotated[
        Path | None,
        typer.Option(
            help="Public weights by tile (tile, one or two columns, as residents and jobs) for the reading prior."
        ),
    ] = None,
) -> TableInput:
    """The table as it will be read."""
    return TableInput(
        path=table,
        origin=origin,
        destination=destination,
        count=count,
        person=person,
        weight=weight,
        time=time,
        hierarchy=hierarchy,
        hierarchy_parameters={**_USUAL.get(hierarchy, {}), **plugin_parameters(hierarchy_set, "--hierarchy-set")},
        zones=zones,
        zone_id=zone_id,
        resolution=resolution,
        drop_missing=drop_missing,
        tile_weights=tile_weights,
    )


def with_table(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose first parameter, a `TableInput`, is asked for by the options of `read_table`.

    What that parameter is annotated with takes the place of what is said of the table.
    """
    shared = dict(inspect.signature(read_table).parameters)
    first, *own = inspect.signature(command).parameters.values()
    if told := getattr(first.annotation, "__metadata__", ()):
        shared["table"] = shared["table"].replace(annotation=Annotated[Path, *told])

    @functools.wraps(command)
    def asked(**options: Any) -> None:
        source = read_table(**{name: options.pop(name) for name in shared})
        command(source, **options)

    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*shared.values(), *own)]
    asked.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    asked.__annotations__ = {p.name: p.annotation for p in parameters}
    return asked
