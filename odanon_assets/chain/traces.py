"""The first stage: raw traces, or ready rows, through the door: validated, pseudonymised, in buckets of people."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pandas as pd

from odanon.engines.points import bucket_name
from odanon.errors import OdanonError
from odanon.model.figure import Figure
from odanon.model.window import day_window
from odanon.product import Product
from odanon.product.windows import is_longer, key_name
from odanon.protocols import Engine, Source, TraceSource
from odanon.reading.persons import spelling_of
from odanon.reading.pseudonym import pseudonyms, window_key
from odanon.reading.validate import Tally, validate
from odanon.trips.ready import validate_od, validate_trips
from odanon_assets.chain.people import write_people
from odanon_assets.checks.delivery import BYTES, delivered_bytes, source_state
from odanon_assets.lake.files import write_parquet
from odanon_assets.lake.lake import Lake, write_figures
from odanon_assets.lake.origin import choice_digest, what_is_read, write_origin

FIGURES = (
    Figure("points", "points", "location points kept", kind="count", tells_suppressed="yes"),
    Figure("people", "people", "people with points", kind="count", tells_suppressed="yes"),
    Figure("points_read", "points read", "rows of the source", kind="count", tells_suppressed="yes"),
    Figure("outside_window", "points outside", "rows of other days", kind="count", tells_suppressed="yes"),
    Figure("duplicates", "duplicates", "rows that repeat another", kind="count", tells_suppressed="yes"),
    Figure("quarantined", "bad rows", "rows put into quarantine", kind="count"),
    Figure(
        "quarantined_share",
        "of the rows are bad",
        "rows put into quarantine over rows read",
        "share",
        tells_suppressed="yes",
    ),
    Figure("unreadable_neighbours", "unreadable files", "of days around, passed over", kind="size"),
)


# What tells the rows of a person apart, by where they enter.
_TOLD_APART = {
    "traces": ("time", "lat", "lon"),
    "trips": ("start", "end"),
    "od": ("time_bin", "origin", "destination", "trips"),
}
READY_BYTES = 2 << 30  # of ready rows of a day that are in memory at once


def traces(product: Product, lake: Lake, day: date, *, source: Source, engine: Engine) -> dict[str, Any]:
    """Read what the source gives of the day, quarantine bad rows, replace ids by pseudonyms, sort into buckets.

    A source of ready trips or OD rows passes this door too; its rows wait here for the stage that they enter.
    """
    start, end = day_window(day, product.zone)
    origin = what_is_read(product, lake, source, start, end)
    simulated, data = product.source.plugin == "simulated", origin["data_sha256"]
    window = key_name(product, day)
    salt = b"" if simulated else lake.salt(data, window)
    key = window_key(data, window, simulated=simulated, salt=salt)
    # Before it is read: what comes meanwhile counts as late.
    state, size = source_state(product, day), delivered_bytes(product, day)
    with lake.new(product.product, "traces", day) as folder:
        kinds = write_people(product, source, key, folder)
        if source.enters == "traces":
            tally, kept, people = _shuffle_points(
                cast(TraceSource, source), start, end, product.context, key, engine, folder
            )
        else:
            tally, kept, people = _keep_ready(source, start, end, key, engine.buckets, folder)
        kinds.add(tally.ids)
        kinds.refuse_mixed()
        # Made-up people may be the same in many products.
        rows = {} if simulated else tally.sample.rows
        figures = {
            "points": kept,
            "people": people,
            "points_read": tally.read,
            "outside_window": tally.outside_window,
            "duplicates": tally.duplicates,
            "quarantined": tally.quarantined,
            "quarantined_share": tally.quarantined_share,
            "reasons": tally.reasons,
            "unreadable_neighbours": tally.unreadable_neighbours,
            **{name: told for name, told in (("source_state", state), (BYTES, size)) if told is not None},
        }
        told = {**origin, "sample": [lake.hidden(f"{who} {row}")[:16] for who, row in rows.items()]}
        if is_longer(product):  # so that the window knows whether the day was read again after its rows were made
            told["read"] = choice_digest(figures)
        write_origin(folder, told)
        return write_figures(folder, figures)


def _shuffle_points(
    source: TraceSource, start: datetime, end: datetime, context: timedelta, key: bytes, engine: Engine, folder: Path
) -> tuple[Tally, int, int]:
    """Points of a window and its context in buckets of whole people; returns the counts, points and people written."""

    spelling = spelling_of(source)

    def read(part: Any) -> Iterator[pd.DataFrame]:
        return part.batches(start, end, context)

    def prepare(batch: pd.DataFrame) -> tuple[pd.DataFrame, Tally]:
        tally = Tally()
        points = validate(batch, start - context, end + context, tally, spelling)
        if len(points):  # where all are bad, times may have no zone
            of_the_day = points["time"].between(start, end, inclusive="left")
            tally.sample.take(points[of_the_day], _TOLD_APART["traces"])
        return points.assign(person=pseudonyms(points["person"], key)), tally

    tallies, buckets = engine.shuffle([source], read, prepare, folder)
    total = Tally()
    for tally in tallies:
        total.read += tally.read
        total.outside_window += tally.outside_window
        total.unreadable_neighbours += tally.unreadable_neighbours
        total.ids.add(tally.ids)
        total.sample.add(tally.sample)
        for reason, count in tally.reasons.items():
            total.reasons[reason] += count
    for bucket in buckets:
        total.duplicates += bucket.repeated
        total.reasons["swapped"] += bucket.swapped
        total.reasons["teleport"] += bucket.teleport
    return total, sum(bucket.kept for bucket in buckets), sum(bucket.people for bucket in buckets)


def _keep_ready(
    source: Source, start: datetime, end: datetime, key: bytes, buckets: int, folder: Path
) -> tuple[Tally, int, int]:
    """Ready trips in buckets of people, or ready OD rows in one file; returns the counts, rows and people written."""
    tally = Tally()
    check = validate_trips if source.enters == "trips" else validate_od
    batches = getattr(source, source.enters)(start, end)
    checked = (check(batch, start, end, tally, spelling_of(source)) for batch in batches)
    columns = _TOLD_APART[source.enters]
    fresh = _distinct(_under_pseudonyms(rows.drop_duplicates(), key, len(rows), tally, columns) for rows in checked)
    if fresh is None:
        raise OdanonError(f"the source has no rows for the day that starts at {start:%Y-%m-%d %H:%M} UTC")
    fresh, tally.duplicates = fresh
    fresh = fresh.sort_values(list(fresh.columns), ignore_index=True)
    if "person" not in fresh:
        write_parquet(fresh, folder / bucket_name(0))
        return tally, len(fresh), 0
    for number in range(buckets):
        write_parquet(fresh[fresh["person"] % buckets == number], folder / bucket_name(number))
    return tally, len(fresh), int(fresh["person"].nunique())


def _under_pseudonyms(
    rows: pd.DataFrame, key: bytes, given: int, tally: Tally, columns: Sequence[str]
) -> tuple[pd.DataFrame, int]:
    if "person" in rows:
        tally.sample.take(rows, columns)
        rows = rows.assign(person=pseudonyms(rows["person"].astype("str"), key))
    return rows, given


def _distinct(batches: Iterator[tuple[pd.DataFrame, int]]) -> tuple[pd.DataFrame, int] | None:
    """The rows of all batches, each with the number that it had, without repetitions; and how many were repeated.

    A small file can hold any number of rows, so they are counted by their bytes as they come (PRIVACY rule 26).
    """
    parts: list[pd.DataFrame] = []
    size = given = 0
    for batch, rows_given in batches:
        given += rows_given
        parts.append(batch)
        size += _bytes(parts[-1])
        if size > READY_BYTES / 2 and len(parts) > 1:
            parts = [pd.concat(parts, ignore_index=True).drop_duplicates(ignore_index=True)]
            size = _bytes(parts[0])
        if size > READY_BYTES:
            raise OdanonError(
                f"the rows of the day take more than {READY_BYTES >> 20:,} MiB of memory; give fewer columns, coarser"
                " time bins, or points instead of ready rows, which are read in parts"
            )
    if not parts:
        return None
    rows = pd.concat(parts, ignore_index=True).drop_duplicates(ignore_index=True)
    return rows, given - len(rows)


def _bytes(rows: pd.DataFrame) -> int:
    return int(rows.memory_usage(deep=True).sum())
