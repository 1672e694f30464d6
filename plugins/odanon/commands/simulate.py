"""`odanon simulate`: a made-up city with known stays and trips, as Parquet files."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from odanon.errors import OdanonError
from odanon.simulate.demand import write_demand_set
from odanon.simulate.mode import Mode
from odanon.simulate.source import Simulated
from odanon.simulate.write import write_city

PANEL = ("Traces", 1)


def simulate(
    out: Annotated[Path, typer.Option(help="Folder to write; an earlier city there is replaced.")] = Path("city"),
    people: Annotated[int, typer.Option(help="Inhabitants who carry a device; memory does not depend on it.")] = 5000,
    days: Annotated[int, typer.Option(min=1, max=366, help="Number of days.")] = 3,
    start: Annotated[
        datetime,
        typer.Option(formats=["%Y-%m-%d"], show_default="2026-03-02", help="First day, in the city's time zone."),
    ] = datetime(2026, 3, 2),
    seed: Annotated[int, typer.Option(help="Another seed is another city; the same seed gives the same bytes.")] = 7,
    timezone: Annotated[str, typer.Option(help="Zone of the inhabitants' clocks, an IANA name.")] = "Europe/Paris",
    mode: Annotated[
        Mode,
        typer.Option(help="gps: points; cdr: sparse call records on antennas; nsd: dense signalling on antennas."),
    ] = Mode.gps,
    noise_m: Annotated[float, typer.Option(help="GPS noise on each axis, metres (standard deviation).")] = 10.0,
    outlier_share: Annotated[float, typer.Option(help="Share of stray GPS fixes, 0.5 to 5 km off.")] = 0.01,
    gap_share: Annotated[float, typer.Option(help="Share of the time for which devices are off.")] = 0.05,
    dirt: Annotated[
        float,
        typer.Option(
            help="Bad rows added for each good row: NaN, infinite, out of range, 0/0, swapped, future, 1970, "
            "without a zone, teleports, duplicates. 0.01 is a realistic amount."
        ),
    ] = 0.0,
    demand: Annotated[
        bool,
        typer.Option(
            "--demand", help="Write instead what odanon demand takes, of the first day: census, survey, phones, truth."
        ),
    ] = False,
    zones: Annotated[int, typer.Option(min=2, max=5000, help="With --demand: how many zones the city has.")] = 120,
    survey_share: Annotated[
        float, typer.Option(min=0.0001, max=1, help="With --demand: share of the people who are surveyed.")
    ] = 0.02,
) -> None:
    """Simulate a city: what phones send, and beside it the true stays and trips.

    The folder holds points/ (or events/ and antennas.parquet), the truth in stays/ and trips/, people.parquet with
    survey weights, and city.json with all parameters and counts. Use it to try a product or to measure a
    detector: `odanon simulate --people 1000 --days 1 --outlier-share 0.02`.

    With --demand the folder holds one day as a census of everybody, a survey of a few, trips of phones for the rest, zones, commuters, the
    true matrices and trips, and demand.yaml for `odanon demand run`: `odanon simulate --demand --people 20000`.
    """
    source = _source(
        people=people,
        seed=seed,
        timezone=timezone,
        noise_m=noise_m,
        outlier_share=outlier_share,
        gap_share=gap_share,
        dirt=dirt,
    )
    if not source.available(start.date()):
        raise OdanonError(f"--start: no city is simulated on {start.date()}; take a day from the year 2000 on")
    with _progress() as progress:
        task = progress.add_task(f"{people:,} people", total=people)

        def done(n: int) -> None:
            progress.advance(task, n)

        if demand:
            manifest = write_demand_set(source, start.date(), out, survey_share, zones=zones, done=done)
        else:
            manifest = write_city(source, mode, start.date(), days, out, done)
    _tell(manifest, out)


def _source(**parameters: Any) -> Simulated:
    """The plugin with these parameters; a wrong one is named as the option it came from."""
    try:
        return Simulated(**parameters)
    except ValidationError as error:
        first = error.errors()[0]
        option = str(first["loc"][0]).replace("_", "-")
        raise OdanonError(f"--{option} {first['input']}: {first['msg'].removeprefix('Value error, ')}") from None


def _progress() -> Progress:
    return Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


def _tell(manifest: dict[str, Any], out: Path) -> None:
    """Counts and paths; plain lines, so that a long path is never cut."""
    for name, rows in manifest["rows"].items():
        typer.echo(f"{name.removesuffix('.parquet'):<20} {rows:>14,}  {out / name}")
    for kind, rows in manifest["dirt"].items():
        typer.echo(f"{'bad: ' + kind:<20} {rows:>14,}  among the rows above")
    typer.echo(f"{'parameters':<20} {'':>14}  {out / 'city.json'}")
