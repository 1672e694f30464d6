"""`odanon trips`: trips between consecutive stays."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from odanon.commands.trace_files import Out, folder_of, read_table
from odanon.commands.values import duration
from odanon.trips.build import build_trips

PANEL = ("Traces", 3)


def trips(
    stays: Annotated[Path, typer.Argument(help="Parquet or CSV of stays: person, start, end, lat, lon.")],
    out: Out,
    min_distance_m: Annotated[float, typer.Option(help="Stays closer than this make no trip, metres.")] = 100,
    max_duration: Annotated[str, typer.Option(help="A longer silence between stays makes no trip.")] = "12h",
) -> None:
    """Make trips of consecutive stays.

    For instance: `odanon trips stays.parquet --min-distance-m 200 --out trips.parquet`.
    """
    found = read_table(stays, times=("start", "end"), numbers=("lat", "lon"))
    found = found.sort_values(["person", "start"], kind="stable", ignore_index=True)
    always = pd.Timestamp("1900-01-01", tz="UTC").to_pydatetime(), pd.Timestamp("2200-01-01", tz="UTC").to_pydatetime()
    made = build_trips(
        found, *always, min_distance_m=min_distance_m, max_duration=duration("--max-duration", max_duration)
    )
    folder_of(out)
    made.to_parquet(out, index=False)
    typer.echo(f"{len(made):,} trips between {len(found):,} stays, written to {out}")
