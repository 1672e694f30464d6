"""`odanon flow`: trips between two drawn areas."""

from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from odanon.errors import OdanonError
from odanon.geo.layerfiles import read_area
from odanon.reconstruct.readings import AUTO, EVEN, FITTED, PRIOR
from odanon_assets.commands.shared import Place, ProductName, published

PANEL = ("Stores", 2)


class Reading(StrEnum):
    """How a release is read back."""

    auto = AUTO
    even = EVEN
    fitted = FITTED
    prior = PRIOR


class Days(StrEnum):
    """Days of one type."""

    working = "working"
    saturday = "saturday"
    sunday_holiday = "sunday_holiday"
    monday = "monday"
    tuesday = "tuesday"
    wednesday = "wednesday"
    thursday = "thursday"
    friday = "friday"
    sunday = "sunday"


Moment = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M"])]


def flow(
    product: ProductName,
    origin: Annotated[Path, typer.Option("--from", help="GeoJSON (or any vector file) with the area of departure.")],
    destination: Annotated[Path, typer.Option("--to", help="The area of arrival.")],
    since: Moment = None,
    until: Moment = None,
    month: Annotated[str | None, typer.Option(help="A month in place of --since and --until: 2026-03.")] = None,
    days: Annotated[Days | None, typer.Option(help="Days of one type only.")] = None,
    clock: Annotated[str | None, typer.Option(help="A span of the local clock only: 07:00-09:00.")] = None,
    segment: Annotated[str | None, typer.Option(help="Rows of one segment only.")] = None,
    reading: Annotated[
        Reading,
        typer.Option(
            help="How rows are spread over their zones: evenly over the ground, by fitted or by public weights."
        ),
    ] = Reading.auto,
    at: Place = None,
) -> None:
    """Estimate the trips from one drawn area to another, with every row spread over its zones.

    The mornings of working days in March: `odanon flow my-city --from home.geojson --to centre.geojson --month 2026-03 --days working --clock 07:00-09:00`.
    auto is of every release the reading that its manifest calls the better one. Times are local to the product; without them, everything published counts.

    For instance: `odanon flow my-city --from home.geojson --to work.geojson`.
    """
    if month is not None and (since is not None or until is not None):
        raise OdanonError("--month stands for --since and --until; give the one or the others")
    ends = read_area(origin), read_area(destination)
    found = published(product, at).flow(
        *ends,
        since,
        until,
        reading.value,
        month=month,
        days=None if days is None else days.value,
        clock=clock,
        segment=segment,
    )
    if not found.high:
        typer.echo("nothing is published from the one to the other in that time: no trip, or too few people to tell")
        return
    typer.echo(f"{found.estimate:,.1f} trips, from {found.low:,.0f} for certain to {found.high:,.0f} at most")
