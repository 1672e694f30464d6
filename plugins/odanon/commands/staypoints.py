"""`odanon staypoints`: where people stayed, from a table of points."""

import os
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from odanon import registry
from odanon.commands.trace_files import Out, Parameters, folder_of
from odanon.commands.values import plugin_parameters
from odanon.engines.local import Local
from odanon.errors import OdanonError
from odanon.reading.persons import IdKinds
from odanon.reading.pseudonym import KEY_VARIABLE, pseudonyms, window_key
from odanon.reading.validate import Tally, validate
from odanon.system.scratch import scratch, sweep

PANEL = ("Traces", 2)


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

    For instance: `odanon staypoints points.parquet --person user --timezone Europe/Paris --out stays.parquet`.
    """
    columns = {"person": person, "time": time, "lat": lat, "lon": lon}
    source = registry.create("source", "points", {"path": points, "timezone": timezone, **columns})
    chosen = registry.create("staypoints", detector, plugin_parameters(parameter))
    engine = Local(buckets=buckets, workers=0)
    sweep(folder_of(out))
    with scratch(folder_of(out)) as folder:
        kept, read = _shuffle(source, engine, folder)
        if not read:
            raise OdanonError(f"{points} holds no points; give a file, folder, glob or URL of a table with rows")
        buckets_of_points = sorted(folder.glob("bucket-*.parquet"))
        stays = list(engine.map(lambda path: chosen.detect(pd.read_parquet(path)), buckets_of_points))
    found = pd.concat(stays).sort_values(["person", "start"], kind="stable", ignore_index=True)
    found.to_parquet(out, index=False)
    typer.echo(f"{len(found):,} stays in {kept:,} of {read:,} rows, written to {out}")


def _shuffle(source: Any, engine: Any, folder: Path) -> tuple[int, int]:
    """The points of a source, under pseudonyms and in buckets; returns rows kept and read."""
    kept_key = KEY_VARIABLE in os.environ
    key = window_key("files", "", simulated=False) if kept_key else secrets.token_bytes(32)
    start, end = datetime(2000, 1, 1, tzinfo=UTC), datetime.now(UTC) + timedelta(days=1)

    def prepare(batch: pd.DataFrame) -> tuple[pd.DataFrame, Tally]:
        tally = Tally()
        points = validate(batch, start, end, tally, source.spelling)
        return points.assign(person=pseudonyms(points["person"], key)), tally

    tallies, buckets = engine.shuffle([source], lambda part: part.batches(start, end), prepare, folder)
    kinds = IdKinds()
    for tally in tallies:
        kinds.add(tally.ids)
    kinds.refuse_mixed()
    return sum(bucket.kept for bucket in buckets), sum(tally.read for tally in tallies)
