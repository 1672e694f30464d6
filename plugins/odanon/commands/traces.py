"""Traces by hand, file by file: `odanon staypoints`, `odanon trips`, `odanon od`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from odanon.commands.values import duration, plugin_parameters

if TYPE_CHECKING:
    import pandas as pd

Parameters = Annotated[list[str] | None, typer.Option("--set", help="A parameter of the plugin, as name=value.")]
Out = Annotated[Path, typer.Option(help="Parquet file to write.")]


def register(app: typer.Typer) -> None:
    app.command()(staypoints)
    app.command()(trips)
    app.command()(od)


def staypoints(
    points: Annotated[str, typer.Argument(help="File, folder, glob or URL of Parquet, CSV or JSON-lines points.")],
    out: Out,
    detector: Annotated[str, typer.Option(help="`odanon plugins staypoints` lists them.")] = "dwell",
    parameter: Parameters = None,
    person: Annotated[str, typer.Option(help="Column of the person's id.")] = "person",
    time: Annotated[str, typer.Option(help="Column of the time.")] = "time",
    lat: Annotated[str, typer.Option(help="Column of the latitude.")] = "lat",
    lon: Annotated[str, typer.Option(help="Column of the longitude.")] = "lon",
    timezone: Annotated[str | None, typer.Option(help="Zone of times that are written without one.")] = None,
    buckets: Annotated[int, typer.Option(help="Parts of the people; more need less memory.", min=1, max=1000)] = 16,
) -> None:
    """Find where people stayed in a table of points.

    Ids are replaced by pseudonyms, under ODANON_PSEUDONYM_KEY or, without it, under a key that nobody keeps.
    """
    import tempfile

    import pandas as pd

    from odanon import registry
    from odanon.engines.local import Local
    from odanon.errors import OdanonError

    columns = {"person": person, "time": time, "lat": lat, "lon": lon}
    source = registry.create("source", "points", {"path": points, "timezone": timezone, **columns})
    chosen = registry.create("staypoints", detector, plugin_parameters(parameter))
    engine = Local(buckets=buckets, workers=0)
    with tempfile.TemporaryDirectory(dir=_folder_of(out)) as scratch:
        kept, read = _shuffle(source, engine, Path(scratch))
        if not read:
            raise OdanonError(f"{points} holds no points; give a file, folder, glob or URL of a table with rows")
        buckets_of_points = sorted(Path(scratch).glob("bucket-*.parquet"))
        stays = list(engine.map(lambda path: chosen.detect(pd.read_parquet(path)), buckets_of_points))
    found = pd.concat(stays).sort_values(["person", "start"], kind="stable", ignore_index=True)
    found.to_parquet(out, index=False)
    typer.echo(f"{len(found):,} stays in {kept:,} of {read:,} rows, written to {out}")


def trips(
    stays: Annotated[Path, typer.Argument(help="Parquet or CSV of stays: person, start, end, lat, lon.")],
    out: Out,
    min_distance_m: Annotated[float, typer.Option(help="Stays closer than this make no trip, metres.")] = 100,
    max_duration: Annotated[str, typer.Option(help="A longer silence between stays makes no trip.")] = "12h",
) -> None:
    """Make trips of consecutive stays."""
    import pandas as pd

    from odanon.trips.build import build_trips

    found = _table(stays, times=("start", "end"), numbers=("lat", "lon"))
    found = found.sort_values(["person", "start"], kind="stable", ignore_index=True)
    always = pd.Timestamp("1900-01-01", tz="UTC").to_pydatetime(), pd.Timestamp("2200-01-01", tz="UTC").to_pydatetime()
    made = build_trips(
        found, *always, min_distance_m=min_distance_m, max_duration=duration("--max-duration", max_duration)
    )
    _folder_of(out)
    made.to_parquet(out, index=False)
    typer.echo(f"{len(made):,} trips between {len(found):,} stays, written to {out}")


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
    """Count trips by time bin, origin and destination. The result is not anonymous: see `odanon anonymize`."""
    import pandas as pd

    from odanon import registry
    from odanon.trips.days import od_rows_of_days, typical_day
    from odanon.trips.od import UNKNOWN, pair_table

    zone, bins, calendar = _od_settings(timezone, bin_, holidays)
    tiles = registry.create("zoning", zoning, plugin_parameters(parameter))
    table = _table(trips, times=("start",), numbers=("o_lat", "o_lon", "d_lat", "d_lon"))
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
    _folder_of(out)
    written.to_parquet(out, index=False)
    typer.echo(
        f"{rows['trips'].sum():,} of {len(table):,} trips{days} ({outside.sum():,} with an end outside the zoning),"
        f" {len(written):,} rows written to {out}"
    )


def _shuffle(source: Any, engine: Any, folder: Path) -> tuple[int, int]:
    """The points of a source, under pseudonyms and in buckets; returns rows kept and read."""
    import secrets
    from datetime import UTC, datetime, timedelta

    from odanon.reading.pseudonym import KEY_VARIABLE, pseudonyms, window_key
    from odanon.reading.validate import Tally, validate

    kept_key = KEY_VARIABLE in os.environ
    key = window_key("files", "", simulated=False) if kept_key else secrets.token_bytes(32)
    start, end = datetime(2000, 1, 1, tzinfo=UTC), datetime.now(UTC) + timedelta(days=1)

    def prepare(batch: "pd.DataFrame") -> tuple["pd.DataFrame", Tally]:
        tally = Tally()
        points = validate(batch, start, end, tally)
        return points.assign(person=pseudonyms(points["person"], key)), tally

    tallies, buckets = engine.shuffle([source], lambda part: part.batches(start, end), prepare, folder)
    return sum(bucket.kept for bucket in buckets), sum(tally.read for tally in tallies)


def _od_settings(timezone: str, bins: str, holidays: str) -> tuple[Any, Any, Any]:
    """Zone, bins and calendar of the options, checked as those of a product file are."""
    from zoneinfo import ZoneInfo, available_timezones

    from pydantic import ValidationError

    from odanon.errors import OdanonError
    from odanon.product.model import OD, Calendar
    from odanon.registry import explain

    if timezone not in available_timezones():
        raise OdanonError(f"--timezone {timezone}: use an IANA time zone such as Europe/Paris or UTC")
    try:
        chosen = OD.model_validate({"bin": bins.split(",") if ":" in bins else bins})
        calendar = Calendar.model_validate({"holidays": [day for day in holidays.split(",") if day]})
    except ValidationError as error:
        raise OdanonError(f"--bin or --holidays: {explain(error.errors()[0])}") from None
    return ZoneInfo(timezone), chosen.bin, calendar


def _table(path: Path, times: tuple[str, ...], numbers: tuple[str, ...]) -> "pd.DataFrame":
    """Persons, times and numbers of a Parquet or CSV file; times must have a zone, and persons and times a value."""
    import pandas as pd

    from odanon.errors import OdanonError

    columns = ("person", *times, *numbers)
    try:
        table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, dtype={"person": "str"})
    except (OSError, ValueError):
        raise OdanonError(f"{path} cannot be read; give a Parquet or CSV file with {', '.join(columns)}") from None
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise OdanonError(f"{path} has no column {missing[0]!r}; it needs {', '.join(columns)}")
    empty = int(table[["person", *times]].isna().any(axis="columns").sum())
    if empty:
        raise OdanonError(f"{path}: {empty} rows lack a person or a time; remove or repair them first")
    for name in times:
        table[name] = _instants(path, table[name])
    for name in numbers:
        if pd.to_numeric(table[name], errors="coerce").isna().sum() > table[name].isna().sum():
            raise OdanonError(f"{path}: column {name!r} holds texts; give degrees")
        table[name] = table[name].astype("float64")
    return table


def _instants(path: Path, times: "pd.Series") -> "pd.Series":
    """Times in UTC; each must say its zone, and they need not agree."""
    import pandas as pd

    from odanon.errors import OdanonError

    if pd.api.types.is_string_dtype(times):
        try:
            if all(pd.Timestamp(text).tzinfo is not None for text in times.dropna()):
                times = pd.to_datetime(times, utc=True, format="ISO8601")
        except ValueError:
            raise OdanonError(f"{path}: column {times.name!r} holds texts that are no times; write ISO 8601") from None
    if getattr(times.dtype, "tz", None) is None:
        raise OdanonError(f"{path}: the times in {times.name!r} have no zone; write them in UTC, such as ...Z")
    return times.dt.tz_convert("UTC").dt.as_unit("us")


def _folder_of(out: Path) -> Path:
    """The folder of a file to be written, made when it is not there."""
    from odanon.errors import OdanonError

    folder = out.absolute().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise OdanonError(f"{folder} cannot be made; give --out a place where you may write") from None
    if out.is_dir() or not os.access(folder, os.W_OK):
        raise OdanonError(f"{out} cannot be written; give --out a file in a folder where you may write")
    return folder
