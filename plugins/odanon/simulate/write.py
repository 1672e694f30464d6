"""A simulated city as a folder of Parquet files: what devices sent, and beside it what truly happened.

    points/date=2026-03-02/part-00000.parquet   by local civil day: person, time, lat, lon
    events/date=2026-03-02/part-00000.parquet   instead of points: person, time, antenna
    antennas.parquet                            with events: antenna, lat, lon
    stays/part-00000.parquet                    person, place, start, end, lat, lon
    trips/part-00000.parquet                    person, start, end, o_lat, o_lon, d_lat, d_lon, purpose
    people.parquet                              person, sex, age_band, occupation, weight
    city.json                                   parameters and counts, written last

Bad rows whose times have no zone lie in files of their own (`part-00000-naive.parquet`). Files hold one row group
per chunk of people, so writing takes the memory of one chunk.
"""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from odanon.errors import OdanonError
from odanon.plugin import parameters_of
from odanon.simulate.antennas import Network, cdr_events, nsd_events
from odanon.simulate.city import City, People, Stream, chunks, draw_people
from odanon.simulate.dirt import Dirt, soil_events, soil_points
from odanon.simulate.gps import day_points
from odanon.simulate.mode import Mode
from odanon.simulate.plan import timeline
from odanon.simulate.records import Records, concat, frame
from odanon.simulate.source import Simulated
from odanon.simulate.timeline import local_instant, true_stays, true_trips

_CHUNKS_PER_FILE = 20
MANIFEST = "city.json"


@dataclass(frozen=True)
class _Recording:
    """How one mode records a day of people and spoils rows."""

    folder: str
    record: Callable[[People, date], Records]
    soil: Callable[[np.random.Generator, Records], Dirt]
    network: Network | None = None

    def frame(self, people: People, records: Records, zone: str | None = "UTC") -> pd.DataFrame:
        rows = frame(people, records, zone)
        return rows if self.network is None else rows.assign(antenna=self.network.names(records.values["antenna"]))


def write_city(
    source: Simulated, mode: Mode, first: date, days: int, out: Path, done: Callable[[int], None]
) -> dict[str, Any]:
    """Write `days` civil days from `first` on into the folder `out`, which appears only when it is complete.

    `done(people)` is called after each chunk of people. Returns what `city.json` says.
    """
    city = source.city
    dates = [first + timedelta(days=i) for i in range(days)]
    recording = _recording(source, city, mode)
    rows: Counter[str] = Counter()
    dirt: Counter[str] = Counter()
    with fresh_folder(out) as folder:
        with Files(folder, rows) as tables:
            if recording.network is not None:
                tables.write("antennas.parquet", recording.network.frame())
            for start in chunks(source.people)[::_CHUNKS_PER_FILE]:
                with Files(folder, rows) as parts:
                    for chunk in chunks(source.people)[start : start + _CHUNKS_PER_FILE]:
                        people = draw_people(city, chunk, source.people)
                        tables.write("people.parquet", people.frame())
                        _write_truth(parts, city, people, dates)
                        for day in dates:
                            dirt += _write_day(parts, city, people, day, recording)
                        done(len(people))
        manifest = {
            "parameters": parameters_of(source),
            "mode": mode.value,
            "first_day": first.isoformat(),
            "days": days,
            "rows": dict(sorted(rows.items())),
            "dirt": dict(sorted(dirt.items())),
        }
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
    return manifest


def _recording(source: Simulated, city: City, mode: Mode) -> _Recording:
    if mode is Mode.gps:
        return _Recording(
            "points",
            lambda people, day: day_points(city, people, day, source.device),
            lambda rng, rows: soil_points(rng, rows, source.dirt, city.zone),
        )
    network = Network(city)
    events = {Mode.cdr: cdr_events, Mode.nsd: nsd_events}[mode]
    return _Recording(
        "events",
        lambda people, day: events(network, people, day, source.gap_share),
        lambda rng, rows: soil_events(rng, rows, source.dirt, city.zone, len(network)),
        network,
    )


def _write_truth(files: "Files", city: City, people: People, dates: list[date]) -> None:
    """Stays, cut to the range of days, and the trips that lie within it."""
    opens, closes = local_instant(dates[0], city.zone), local_instant(dates[-1] + timedelta(days=1), city.zone)
    segments = timeline(city, people, dates[0], dates[-1])
    files.write(f"stays/{_part(people)}.parquet", true_stays(segments, city, people, opens, closes))
    files.write(f"trips/{_part(people)}.parquet", true_trips(segments, city, people, opens, closes))


def _write_day(files: "Files", city: City, people: People, day: date, recording: _Recording) -> Counter[str]:
    """What one chunk of people sent on one day; returns the number of bad rows by kind."""
    rows = recording.record(people, day)
    dirt = recording.soil(city.rng(Stream.DIRT, people.chunk, day.toordinal()), rows)
    zoned, naive = dirt.split()
    path = f"{recording.folder}/date={day}/{_part(people)}"
    files.write(f"{path}.parquet", recording.frame(people, concat([rows, zoned])))
    if len(naive):
        files.write(f"{path}-naive.parquet", recording.frame(people, naive, zone=None))
    return Counter(dirt.kind.tolist())


def _part(people: People) -> str:
    """Name of the file that holds a chunk of people."""
    return f"part-{people.chunk // _CHUNKS_PER_FILE:05d}"


class Files:
    """Parquet files under one folder that grow by a row group at each call; rows are counted by first name."""

    def __init__(self, folder: Path, rows: Counter[str]) -> None:
        self._folder = folder
        self._rows = rows
        self._writers: dict[str, pq.ParquetWriter] = {}

    def __enter__(self) -> "Files":
        return self

    def __exit__(self, *_: object) -> None:
        for writer in self._writers.values():
            writer.close()

    def write(self, path: str, rows: pd.DataFrame) -> None:
        table = pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata()
        if path not in self._writers:
            target = self._folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            # Without the stored schema a file holds plain Parquet types, which any reader understands.
            self._writers[path] = pq.ParquetWriter(
                target, table.schema, compression="zstd", use_dictionary=_texts(table.schema), store_schema=False
            )
        self._writers[path].write_table(table)
        self._rows[path.split("/")[0]] += len(rows)


def _texts(schema: pa.Schema) -> list[str]:
    """Columns worth a dictionary: coordinates and times hardly repeat."""
    return [field.name for field in schema if pa.types.is_large_string(field.type)]


@contextmanager
def fresh_folder(out: Path) -> Iterator[Path]:
    """A temporary folder that becomes `out` at the end; only an earlier city may be replaced."""
    out = out.resolve()
    if out.exists() and not (out.is_dir() and ((out / MANIFEST).exists() or not any(out.iterdir()))):
        raise OdanonError(f"{out} holds something that is not a simulated city: choose another --out folder.")
    partial = out.with_name(f".{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        shutil.rmtree(out, ignore_errors=True)
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
