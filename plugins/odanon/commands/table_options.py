"""The options that name a table and its columns, shared by the commands that read one."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from odanon.commands.values import plugin_parameters
from odanon.errors import OdanonError
from odanon.hierarchies.named import USUAL
from odanon.tables.dialects import Told
from odanon.tables.read import TableInput

_CSV = tuple(field.name for field in fields(Told))
_SIGNS = {"tab": "\t", "comma": ",", "semicolon": ";"}
_YES = ("yes", "true", "1")
_OVER_ZONES = "ward"


def read_table(
    table: Annotated[Path, typer.Argument(help="Parquet or CSV: a row per trip, or per flow with its count.")],
    origin: Annotated[
        str | None, typer.Option(help="Column with the origin tile, or two columns: lat,lon (x,y with --crs).")
    ] = None,
    destination: Annotated[str | None, typer.Option(help="Column (or two) with the destination.")] = None,
    count: Annotated[
        str | None, typer.Option(help="Column with the number of trips, or 1: every row is one trip.")
    ] = None,
    person: Annotated[str | None, typer.Option(help="Column with the person (or vehicle) id.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column with the expansion weight, for the population.")] = None,
    time: Annotated[
        str | None,
        typer.Option(
            help="Column that tells when trips start: instants to cut with --bin, or the time bins themselves."
        ),
    ] = None,
    bin_: Annotated[
        str | None,
        typer.Option("--bin", help="Cut the instants of --time into bins: 15min, 1h, 3h, day, or 00:00,06:30,09:00."),
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option(help="Whose clock cuts the days, and shows times without an offset: Europe/Paris; UTC."),
    ] = None,
    hierarchy: Annotated[
        str | None,
        typer.Option(
            help="h3, ward, quadtree, or a CSV/Parquet table: child, parent. Without it ward for --zones, else h3."
        ),
    ] = None,
    hierarchy_set: Annotated[
        list[str] | None,
        typer.Option(help="A parameter of the hierarchy, as name=value; h3 has fine steps unless steps=standard."),
    ] = None,
    zones: Annotated[
        Path | None, typer.Option(help="Where the tiles lie: a polygon layer, or a table with id, lat, lon.")
    ] = None,
    zone_id: Annotated[str, typer.Option(help="Column of --zones with the tile's label.")] = "id",
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Leave out rows that lack a value, and count them.")
    ] = False,
    drop_unknown: Annotated[
        bool,
        typer.Option("--drop-unknown", help="Leave out rows of places that --zones does not have, and count them."),
    ] = False,
    resolution: Annotated[int, typer.Option(min=0, max=15, help="H3 resolution of coordinates.")] = 9,
    crs: Annotated[
        str | None,
        typer.Option(help="Coordinates are x,y of this projected system, such as EPSG:2154, and not degrees."),
    ] = None,
    csv_set: Annotated[
        list[str] | None,
        typer.Option(
            help="How a CSV file is written, where it is not found out: delimiter=;  decimal=,  encoding=cp1252  header=no  time=%d/%m/%Y."
        ),
    ] = None,
    tile_weights: Annotated[
        Path | None,
        typer.Option(
            help="Public weights by tile (tile, one or two columns, as residents and jobs) for the reading prior."
        ),
    ] = None,
) -> TableInput:
    """The table as it will be read."""
    hierarchy = hierarchy or (TableInput.hierarchy if zones is None else _OVER_ZONES)
    return TableInput(
        path=table,
        origin=origin or TableInput.origin,
        destination=destination or TableInput.destination,
        count=count,
        person=person,
        weight=weight,
        time=time,
        bin=bin_,
        timezone=timezone,
        hierarchy=hierarchy,
        hierarchy_parameters={**USUAL.get(hierarchy, {}), **plugin_parameters(hierarchy_set, "--hierarchy-set")},
        zones=zones,
        zone_id=zone_id,
        resolution=resolution,
        crs=crs,
        drop_missing=drop_missing,
        drop_unknown=drop_unknown,
        tile_weights=tile_weights,
        csv=_csv(csv_set),
    )


def _csv(texts: list[str] | None) -> dict[str, Any]:
    """What `--csv-set` says of a CSV file; its values are taken as they are written."""
    told: dict[str, Any] = {}
    for text in texts or []:
        name, _, value = text.partition("=")
        value = _SIGNS.get(value, value)
        if name not in _CSV or not value or (name in ("delimiter", "decimal") and len(value) != 1):
            raise OdanonError(
                f"--csv-set {text}: write delimiter=; or delimiter=tab, decimal=, encoding=cp1252, header=no or time=%d/%m/%Y"
            )
        told[name] = value.casefold() in _YES if name == "header" else value
    return told


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
