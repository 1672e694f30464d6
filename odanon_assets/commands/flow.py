"""`odanon flow`: trips between two drawn areas."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import geopandas
import typer
from shapely.geometry.base import BaseGeometry

from odanon.errors import OdanonError
from odanon.reconstruct.readings import AUTO, EVEN, FITTED, PRIOR
from odanon_assets.commands.shared import ProductName, find_product
from odanon_assets.stores.choice import open_store

PANEL = ("Stores", 2)


class Reading(StrEnum):
    """How a release is read back."""

    auto = AUTO
    even = EVEN
    fitted = FITTED
    prior = PRIOR


Moment = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M"])]


def flow(
    product: ProductName,
    origin: Annotated[Path, typer.Option("--from", help="GeoJSON (or any vector file) with the area of departure.")],
    destination: Annotated[Path, typer.Option("--to", help="The area of arrival.")],
    since: Moment = None,
    until: Moment = None,
    reading: Annotated[
        Reading,
        typer.Option(
            help="How rows are spread over their zones: evenly over the ground, by fitted or by public weights."
        ),
    ] = Reading.auto,
) -> None:
    """Estimate the trips from one drawn area to another, with every row spread over its zones.

    auto is of every release the reading that its manifest calls the better one. Times are local to the product; without them, everything published counts.

    For instance: `odanon flow my-city --from home.geojson --to work.geojson`.
    """
    chosen = find_product(product)
    first, last = (
        moment.replace(tzinfo=chosen.zone) if moment is not None else bound
        for moment, bound in ((since, datetime(1, 1, 3, tzinfo=UTC)), (until, datetime(9999, 12, 1, tzinfo=UTC)))
    )
    found = open_store(chosen).flow(product, _area(origin), _area(destination), first, last, reading.value)
    typer.echo(f"{found.estimate:,.1f} trips, from {found.low:,.0f} for certain to {found.high:,.0f} at most")


def _area(path: Path) -> BaseGeometry:
    try:
        layer = geopandas.read_file(path)
    except Exception:
        raise OdanonError(f"{path} is not a vector file that can be read; give a GeoJSON with a polygon") from None
    if layer.empty or layer.crs is None:
        raise OdanonError(f"{path} holds no area with a coordinate reference system; give a GeoJSON with a polygon")
    return layer.geometry.to_crs("EPSG:4326").union_all()
