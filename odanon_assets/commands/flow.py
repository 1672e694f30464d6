"""`odanon flow`: trips between two drawn areas."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from odanon.errors import OdanonError
from odanon.geo.layerfiles import read_area
from odanon.model.when import When, clock_of, month_of
from odanon.product import Product
from odanon.reconstruct.readings import AUTO, EVEN, FITTED, PRIOR
from odanon_assets.commands.shared import ProductName, find_product
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.interface import Store

PANEL = ("Stores", 2)
_EARLIEST, _LATEST = datetime(1, 1, 3, tzinfo=UTC), datetime(9999, 12, 1, tzinfo=UTC)


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
) -> None:
    """Estimate the trips from one drawn area to another, with every row spread over its zones.

    The mornings of working days in March: `odanon flow my-city --from home.geojson --to centre.geojson --month 2026-03 --days working --clock 07:00-09:00`.
    auto is of every release the reading that its manifest calls the better one. Times are local to the product; without them, everything published counts.

    For instance: `odanon flow my-city --from home.geojson --to work.geojson`.
    """
    chosen = find_product(product)
    span = _span(chosen, since, until, month)
    when = When(*span, days and days.value, clock_of(clock) if clock is not None else None)
    ends = read_area(origin), read_area(destination)
    store = open_store(chosen)
    found = store.flow(product, *ends, when, reading.value, segment)
    if not found.high:
        typer.echo(_why_nothing(store, product, span, segment))
        return
    typer.echo(f"{found.estimate:,.1f} trips, from {found.low:,.0f} for certain to {found.high:,.0f} at most")


def _why_nothing(store: Store, product: str, span: tuple[datetime, datetime], segment: str | None) -> str:
    """What an answer without a trip means; a segment that no row has, or a time of which nothing is published, is a mistake."""
    known = store.query("SELECT DISTINCT segment FROM flows ORDER BY segment", product)["segment"].tolist()
    if segment is not None and segment not in known:
        raise OdanonError(f"{product} has no segment {segment!r}; there is {', '.join(known)}")
    since, until = (each.isoformat() for each in span)
    there = f"SELECT count(*) AS rows FROM flows WHERE time_start < timestamptz '{until}' AND coalesce(time_end, time_start) >= timestamptz '{since}'"
    if not store.query(there, product)["rows"].iloc[0]:
        windows = store.windows(product)
        told = f"its windows begin between {windows[0]} and {windows[-1]}" if windows else "no window of it is"
        raise OdanonError(f"nothing of {product} is published in that time; {told}")
    return "nothing is published from the one to the other in that time: no trip, or too few people to tell"


def _span(
    product: Product, since: datetime | None, until: datetime | None, month: str | None
) -> tuple[datetime, datetime]:
    """The instants that local times mean; everything without any."""
    if month is not None:
        if since is not None or until is not None:
            raise OdanonError("--month stands for --since and --until; give the one or the others")
        return month_of(month, product.zone)
    first = since.replace(tzinfo=product.zone) if since is not None else _EARLIEST
    return first, until.replace(tzinfo=product.zone) if until is not None else _LATEST
