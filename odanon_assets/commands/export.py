"""`odanon export`: what is published, in formats of others."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from odanon.errors import OdanonError
from odanon_assets.commands.shared import ProductName, store_of
from odanon_assets.derived.export import Format
from odanon_assets.derived.export import export as write
from odanon_assets.derived.exports.omx import OwnZones, read_zones

PANEL = ("Stores", 4)


def export(
    product: ProductName,
    out: Annotated[Path, typer.Option(help="Folder for the files; it must be new or empty.")],
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            help="geoparquet (the default: DuckDB, pandas, R), csv, gpkg (QGIS), geojson (web maps), flowmap (flowmap.blue, flowmap.gl), kepler"
            " (kepler.gl) or omx (transport models); may be given several times.",
        ),
    ] = None,
    first: Annotated[datetime | None, typer.Option("--from", formats=["%Y-%m-%d"], help="First window.")] = None,
    last: Annotated[datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="Last window, included.")] = None,
    areas: Annotated[
        Path | None, typer.Option(help="For omx: vector file with zones of your own, such as a GeoPackage.")
    ] = None,
    id_column: Annotated[str | None, typer.Option("--id", help="For omx: column of that file with their ids.")] = None,
    name_column: Annotated[
        str | None, typer.Option("--name", help="For omx: column with their names, for a second lookup.")
    ] = None,
) -> None:
    """Write what is published as files that other programs open, with a datapackage.json and a DCAT record of them.

    A map in QGIS: `odanon export my-city --out map --format gpkg --from 2026-03-02 --to 2026-03-02`.

    Matrices between your own zones, one a time bin and their total: `odanon export my-city --out model --format omx --areas zones.gpkg --id zone`.
    """
    wanted = formats or [Format.geoparquet.value]
    unknown = sorted(set(wanted) - {kind.value for kind in Format})
    if unknown:
        raise OdanonError(f"there is no format {unknown[0]!r}; choose from {', '.join(Format)}")
    chosen = [Format(kind) for kind in wanted]
    zones = _own_zones(chosen, areas, id_column, name_column)
    since, until = (moment.date() if moment is not None else None for moment in (first, last))
    count = write(store_of(product), product, out, chosen, since, until, zones)
    typer.echo(f"{count} releases written to {out}; datapackage.json describes the files")


def _own_zones(formats: list[Format], areas: Path | None, column: str | None, name: str | None) -> OwnZones | None:
    """The zones of --areas; given for omx, and for nothing else."""
    if (areas is None) != (column is None):
        raise OdanonError(
            "--areas and --id belong together: a vector file with your zones, and its column with their ids"
        )
    if areas is None or column is None:
        if name is not None:
            raise OdanonError("--name is a column of the file of --areas; give that file too, or leave it out")
        return None
    if Format.omx not in formats:
        raise OdanonError("--areas and --id are for the format omx; add --format omx, or leave them out")
    return read_zones(areas, column, name)
