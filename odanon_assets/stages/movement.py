"""From raw traces to trips: the stages that see people."""

import tempfile
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd

from odanon.errors import OdanonError
from odanon.privacy.pseudonym import pseudonyms, window_key
from odanon.product import Product
from odanon.traces.buckets import BucketWriter, finish_bucket
from odanon.traces.validate import Tally, validate
from odanon.trips.build import build_trips
from odanon.trips.window import day_window
from odanon_assets.files import write_parquet
from odanon_assets.lake import Lake, write_figures


def traces(product: Product, lake: Lake, day: date, *, source: Any, engine: Any) -> dict[str, Any]:
    """Read the day and its context, quarantine bad rows, replace ids by pseudonyms, sort into buckets."""
    start, end = day_window(day, product.zone)
    start, end = start - product.context, end + product.context
    key = window_key(product.product, day.isoformat(), simulated=product.source.plugin == "simulated")
    tally = Tally()
    with lake.new(product.product, "traces", day) as folder, tempfile.TemporaryDirectory(dir=folder) as scratch:
        with BucketWriter(Path(scratch), engine.buckets) as writer:
            for batch in source.batches(start, end):
                points = validate(batch, start, end, tally)
                writer.write(points.assign(person=pseudonyms(points["person"], key)))
        people = 0
        targets = [folder / f"{path.stem}.parquet" for path in writer.paths]
        for repeated, persons in engine.map(
            lambda job: finish_bucket(*job), list(zip(writer.paths, targets, strict=True))
        ):
            tally.duplicates += repeated
            people += persons
        figures = {
            "points": tally.kept,
            "people": people,
            "points_read": tally.read,
            "outside_window": tally.outside_window,
            "duplicates": tally.duplicates,
            "quarantined": tally.quarantined,
            "quarantined_share": tally.quarantined_share,
            "reasons": tally.reasons,
        }
        return write_figures(folder, figures)


def staypoints(product: Product, lake: Lake, day: date, *, staypoints: Any, engine: Any) -> dict[str, Any]:
    """Detect the stays of every person, bucket by bucket."""
    limit, share = product.checks.max_quarantined, lake.figures(product.product, "traces", day)["quarantined_share"]
    if share > limit:
        raise OdanonError(
            f"{product.product} {day}: {share:.1%} of the input rows are bad, above checks.max_quarantined"
            f" = {limit:.1%}; repair the source or raise the limit knowingly"
        )
    buckets = sorted(lake.read(product.product, "traces", day).glob("bucket-*.parquet"))
    with lake.new(product.product, "staypoints", day) as folder:

        def detect(path: Path) -> tuple[int, int]:
            stays = staypoints.detect(pd.read_parquet(path))
            write_parquet(stays, folder / path.name)
            return len(stays), int(stays["person"].nunique())

        counts = list(engine.map(detect, buckets))
        figures = {"staypoints": sum(n for n, _ in counts), "people_with_stays": sum(p for _, p in counts)}
        return write_figures(folder, figures)


def trips(product: Product, lake: Lake, day: date, *, engine: Any) -> dict[str, Any]:
    """Trips that depart on the day, between consecutive stays."""
    start, end = day_window(day, product.zone)
    buckets = sorted(lake.read(product.product, "staypoints", day).glob("bucket-*.parquet"))
    with lake.new(product.product, "trips", day) as folder:

        def build(path: Path) -> tuple[int, int]:
            found = build_trips(
                pd.read_parquet(path),
                start,
                end,
                min_distance_m=product.trips.min_distance_m,
                max_duration=product.trips.max_duration,
            )
            write_parquet(found, folder / path.name)
            return len(found), int(found["person"].nunique())

        counts = list(engine.map(build, buckets))
        figures = {"trips": sum(n for n, _ in counts), "people_with_trips": sum(p for _, p in counts)}
        return write_figures(folder, figures)
