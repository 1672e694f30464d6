"""`odanon export`: what is published, in formats of others."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from odanon.errors import OdanonError
from odanon_assets.commands.shared import ProductName, find_product
from odanon_assets.derived.export import Format
from odanon_assets.derived.export import export as write
from odanon_assets.stores.choice import open_store

PANEL = ("Stores", 4)


def export(
    product: ProductName,
    out: Annotated[Path, typer.Option(help="Folder for the files; it must be new or empty.")],
    formats: Annotated[
        list[str] | None, typer.Option("--format", help="geoparquet, csv or gpkg; may be given several times.")
    ] = None,
    first: Annotated[datetime | None, typer.Option("--from", formats=["%Y-%m-%d"], help="First window.")] = None,
    last: Annotated[datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="Last window, included.")] = None,
) -> None:
    """Write published flows and zones as GeoParquet, CSV or GeoPackage, with a datapackage.json."""
    wanted = formats or [Format.geoparquet.value]
    unknown = sorted(set(wanted) - {kind.value for kind in Format})
    if unknown:
        raise OdanonError(f"there is no format {unknown[0]!r}; choose from {', '.join(Format)}")
    bounds = [moment.date() if moment is not None else None for moment in (first, last)]
    count = write(open_store(find_product(product)), product, out, [Format(kind) for kind in wanted], *bounds)
    typer.echo(f"{count} releases written to {out}; datapackage.json describes the files")
