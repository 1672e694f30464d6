"""`odanon od`: how many trips went from where to where, and when."""

from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, available_timezones

import pandas as pd
import typer
from pydantic import ValidationError

from odanon import registry
from odanon.commands.trace_files import Out, Parameters, folder_of, read_table
from odanon.commands.values import plugin_parameters
from odanon.errors import OdanonError
from odanon.product.sections import OD, Calendar
from odanon.registry import explain
from odanon.trips.days import od_rows_of_days, typical_day
from odanon.trips.od import UNKNOWN, pair_table

PANEL = ("Traces", 4)


def od(
    trips: Annotated[Path, typer.Argument(help="Parquet or CSV of trips: person, start, o_lat, o_lon, d_lat, d_lon.")],
    out: Out,
    zoning: Annotated[str, typer.Option(help="`odanon plugins zoning` lists them.")] = "h3",
    parameter: Parameters = None,
    bin_: Annotated[str, typer.Option("--bin", help="15min, 1h, 1d, or start times: 00:00,06:30,09:00.")] = "1h",
    timezone: Annotated[str, typer.Option(help="Zone of the days and bins.")] = "UTC",
    intrazonal: Annotated[Literal["keep", "drop"], typer.Option(help="Trips that start and end in one tile.")] = "keep",
    unknown: Annotated[
        Literal["drop", "keep"], typer.Option(help="Trips with an end outside the zoning; kept under `unknown`.")
    ] = "drop",
    typical: Annotated[bool, typer.Option("--typical-day", help="Lay all working days over each other.")] = False,
    holidays: Annotated[str, typer.Option(help="Dates that are not working days: 2026-05-01,2026-05-08.")] = "",
    persons: Annotated[
        bool, typer.Option("--persons", help="A row for each person too, for `odanon anonymize --person person`.")
    ] = False,
) -> None:
    """Count trips by time bin, origin and destination. The result is not anonymous: see `odanon anonymize`.

    For instance: `odanon od trips.parquet --bin 1h --timezone Europe/Paris --set resolution=8 --persons --out od.parquet`.
    """
    zone, bins, calendar = _od_settings(timezone, bin_, holidays)
    tiles = registry.create("zoning", zoning, plugin_parameters(parameter))
    table = read_table(trips, times=("start",), numbers=("o_lat", "o_lon", "d_lat", "d_lon"))
    origin, destination = (tiles.assign(table[f"{e}_lat"].to_numpy(), table[f"{e}_lon"].to_numpy()) for e in "od")
    outside = pd.isna(origin) | pd.isna(destination)
    kept = ~outside
    if unknown == "keep":
        origin, destination = (pd.Series(side).fillna(UNKNOWN).to_numpy(object) for side in (origin, destination))
        kept[:] = True
    if intrazonal == "drop":
        kept &= outside | (origin != destination)
    rows = od_rows_of_days(table[kept], origin[kept], destination[kept], zone, bins)
    days = ""
    if typical:
        rows, count = typical_day(rows, zone, calendar.is_working)
        days = f" on {count} working days laid over each other"
    written = rows if persons else pair_table(rows)
    folder_of(out)
    written.to_parquet(out, index=False)
    typer.echo(
        f"{rows['trips'].sum():,} of {len(table):,} trips{days} ({outside.sum():,} with an end outside the zoning),"
        f" {len(written):,} rows written to {out}"
    )


def _od_settings(timezone: str, bins: str, holidays: str) -> tuple[Any, Any, Any]:
    """Zone, bins and calendar of the options, checked as those of a product file are."""
    if timezone not in available_timezones():
        raise OdanonError(f"--timezone {timezone}: use an IANA time zone such as Europe/Paris or UTC")
    try:
        chosen = OD.model_validate({"bin": bins.split(",") if ":" in bins else bins})
        calendar = Calendar.model_validate({"holidays": [day for day in holidays.split(",") if day]})
    except ValidationError as error:
        raise OdanonError(f"--bin or --holidays: {explain(error.errors()[0])}") from None
    return ZoneInfo(timezone), chosen.bin, calendar
