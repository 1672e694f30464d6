"""The stage between the days and their window: rows of people of all days, laid over each other in the window's time bins.

Days are read once, in batches, into a scratch file for each time bin; then one time bin after the other is added up. So memory
follows from a batch and from the rows of one time bin, not from those of the window (PRIVACY rules 1 and 13: a person
has one pseudonym within the window, and is counted once).
"""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from odanon.errors import OdanonError
from odanon.model.figure import Figure
from odanon.product import Product
from odanon.product.windows import bins_of
from odanon.trips.od import MATRIX_FIGURES, pair_table
from odanon.trips.windows import WindowBins, added_rows
from odanon_assets.gate.evidence import ROWS
from odanon_assets.gate.facts import window_rules
from odanon_assets.lake.files import read_frame
from odanon_assets.lake.lake import Lake, write_figures
from odanon_assets.lake.origin import origin_of, write_origin
from odanon_assets.lake.places import DAY_STAGES, DAYS, WINDOW
from odanon_assets.windows.closing import stays_open, window_days

BATCH_ROWS = 1 << 20  # that are in memory at once while a day is read, and twice while a time bin is added up
_ADDED = ("points", "staypoints", "trips", "od_trips")  # figures of days that add up
FIGURES = (
    Figure("days", "days", "days whose trips are in the window", kind="size"),
    Figure("missing", "missing days", "days that the window does without", kind="size"),
    *MATRIX_FIGURES,
    Figure("people", "people", "people in the data of the window", kind="count", tells_suppressed="yes"),
)


def window(product: Product, lake: Lake, start: date) -> dict[str, Any]:
    """The rows of people of a window: their trips by time bin of the window and tile pair, over all its days."""
    days = window_days(product, lake, start)
    if why := stays_open(product, days):
        raise OdanonError(f"{product.product}: the {product.publish.window} from {start} stays open: {why}")
    bins = bins_of(product, start)
    with lake.new(product.product, WINDOW, start) as folder, lake.scratch() as scratch:
        parts = _spread(product, lake, days.made, bins, scratch)
        counts = _write_rows(folder / ROWS, bins, parts)
        of_days = {stage: [lake.figures(product.product, stage, day) for day in days.made] for stage in DAY_STAGES}
        every = [figure for stage in DAY_STAGES for figure in of_days[stage]]
        figures = {
            "days": len(days.made),
            "missing": len(days.lacking),
            "made": [day.isoformat() for day in days.made],
            **{name: sum(int(told.get(name, 0)) for told in every) for name in _ADDED},
            # Of the people behind what no matrix has, those of one day at least are told apart.
            "dropped_people": max(int(told["dropped_people"]) for told in of_days[DAYS]),
            "people": _people(product, lake, days.made),
            **counts,
        }
        write_origin(folder, {**_origin(product, lake, days.made), **window_rules(product, start)})
        return write_figures(folder, figures)


def _origin(product: Product, lake: Lake, days: tuple[date, ...]) -> dict[str, Any]:
    """What the days were read from, together; in all else they are alike, or they would not be here."""
    origins = [origin_of(lake, product.product, DAYS, day) for day in days]
    together = {name: sorted({each for told in origins for each in told[name]}) for name in ("keys", "sample")}
    shared = {name: value for name, value in origins[0].items() if name not in ("read", *together)}
    for day, told in zip(days, origins, strict=True):
        if other := [name for name, value in shared.items() if told.get(name) != value]:
            raise OdanonError(
                f"{product.product} {day} was made from another {', '.join(other)} than {days[0]}; run the days of the"
                f" {product.publish.window} again"
            )
    read = {day.isoformat(): told["read"] for day, told in zip(days, origins, strict=True)}
    return {**shared, **together, "read": read}


def _spread(product: Product, lake: Lake, days: tuple[date, ...], bins: WindowBins, scratch: Path) -> dict[int, Path]:
    """The rows of the days in a file for each time bin that has some."""
    paths = {day: lake.read(product.product, DAYS, day) / ROWS for day in days}
    segment = _segments(product, paths)
    writers: dict[int, pq.ParquetWriter] = {}
    with ExitStack() as stack:
        for day, path in paths.items():
            for rows in _batches(path):
                if segment is not None:
                    rows["segment"] = segment.loc[rows["person"]].to_numpy()
                number = bins.number(day, rows.pop("time_bin"))
                for each in np.unique(number).tolist():
                    table = pa.Table.from_pandas(rows[number == each], preserve_index=False).replace_schema_metadata(
                        None
                    )
                    if each not in writers:
                        writers[each] = stack.enter_context(pq.ParquetWriter(scratch / f"{each}.parquet", table.schema))
                    writers[each].write_table(table)
    return {each: scratch / f"{each}.parquet" for each in sorted(writers)}


def _batches(path: Path, columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH_ROWS, columns=columns):
            yield pa.Table.from_batches([batch]).to_pandas()


def _segments(product: Product, paths: dict[date, Path]) -> pd.Series | None:
    """The segment of every person within the window: that of most days, of several the first in order.

    None where segments are not of people: without any, or given with ready rows, where they may be of trips.
    """
    if product.people is None or not product.people.segments:
        return None
    seen = [
        pd.concat(part.drop_duplicates() for part in _batches(path, ["person", "segment"])).drop_duplicates()
        for path in paths.values()
    ]
    days = pd.concat(seen).groupby(["person", "segment"], sort=True).size().reset_index(name="days")
    best = days.sort_values(["person", "days", "segment"], ascending=[True, False, True]).drop_duplicates("person")
    return best.set_index("person")["segment"]


def _write_rows(target: Path, bins: WindowBins, parts: dict[int, Path]) -> dict[str, int]:
    """Add the rows of each time bin up and write them, in order; what there is to count of them."""
    counts = {"od_pairs": 0, "time_bins": len(parts)}
    tiles: set[str] = set()
    segments: set[str] = set()
    writer: pq.ParquetWriter | None = None
    with ExitStack() as stack:
        for number, path in parts.items():
            rows = _added(path)
            at = pd.Timestamp(bins.bins[number].start).as_unit("us")
            rows.insert(0, "time_bin", pd.DatetimeIndex([at]).repeat(len(rows)))
            table = pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata(None)
            if writer is None:
                writer = stack.enter_context(pq.ParquetWriter(target, table.schema, compression="zstd"))
            writer.write_table(table)
            counts["od_pairs"] += len(pair_table(rows))
            tiles.update(rows["origin"].unique(), rows["destination"].unique())
            segments.update(rows["segment"].unique())
    if writer is None:
        raise OdanonError("there are no trips in the days of the window, so there is nothing to publish")
    return {**counts, "tiles": len(tiles), "segments": len(segments)}


def _added(path: Path) -> pd.DataFrame:
    """The rows of one time bin added up; in between too, so that days of the same people take no more memory than one."""
    parts: list[pd.DataFrame] = []
    waiting = 0
    for rows in _batches(path):
        parts.append(rows)
        waiting += len(rows)
        if waiting > 2 * max(len(parts[0]), BATCH_ROWS):
            parts = [added_rows(parts)]
            waiting = len(parts[0])
    return added_rows(parts)


def _people(product: Product, lake: Lake, days: tuple[date, ...]) -> int:
    """How many people the data of the days are of; a bucket holds whole people, on every day the same ones if there are as many."""
    by_name: dict[str, list[Path]] = {}
    for day in days:
        for path in lake.buckets(product.product, "traces", day):
            by_name.setdefault(path.name, []).append(path)
    groups = list(by_name.values())
    if len({len(paths) for paths in groups}) > 1:
        groups = [[path for paths in groups for path in paths]]
    return sum(_distinct(paths) for paths in groups)


def _distinct(paths: list[Path]) -> int:
    known = np.zeros(0, np.int64)
    for path in paths:
        if "person" in pq.read_schema(path).names:
            known = np.union1d(known, read_frame(path, ["person"])["person"].to_numpy())
    return len(known)
