"""The third stage: trips between stays, and where people live and work when that is asked for."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from odanon.model.figure import Figure
from odanon.model.window import day_window
from odanon.product import Product
from odanon.protocols import Engine, SpreadsStays
from odanon.staypoints.places import Places
from odanon.trips.build import build_trips
from odanon.trips.homes import Hours, home_work
from odanon_assets.lake.files import read_frame, write_parquet
from odanon_assets.lake.lake import Lake, write_figures
from odanon_assets.lake.origin import carry, rules_of

FIGURES = (
    Figure("trips", "trips", "movements between stays that depart on the day", kind="count", tells_suppressed="yes"),
    Figure("people_with_trips", "people with trips", "people who moved", kind="count", tells_suppressed="yes"),
)


def trips(product: Product, lake: Lake, day: date, *, engine: Engine) -> dict[str, Any]:
    """Trips that depart on the day, between consecutive stays; homes and workplaces beside them when asked for."""
    enters = product.source.instance.enters
    made_from = "staypoints" if enters == "traces" else "traces"
    buckets = [] if enters == "od" else lake.buckets(product.product, made_from, day)
    make = _trip_maker(product, day) if enters == "traces" else _as_they_are
    homes = _home_finder(product) if enters == "traces" and product.trips.home_work is not None else None
    place = _placer(product.source.instance)
    with lake.new(product.product, "trips", day) as folder:

        def build(path: Path) -> tuple[int, int]:
            rows = read_frame(path)
            found = place(make(rows), ("o", "d"))
            write_parquet(found, folder / path.name)
            if homes is not None:
                write_parquet(place(homes(rows), ("home", "work")), folder / path.name.replace("bucket", "homes"))
            return len(found), int(found["person"].nunique())

        counts = list(engine.map(build, buckets))
        figures = {"trips": sum(n for n, _ in counts), "people_with_trips": sum(p for _, p in counts)}
        carry(lake, product, "staypoints", day, folder, **rules_of(product, "trips"))
        return write_figures(folder, figures)


def _as_they_are(trips: pd.DataFrame) -> pd.DataFrame:
    return trips


def _trip_maker(product: Product, day: date) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """How stays become the trips of a day; the function takes no more of the product along than it needs."""
    (start, end), rules = day_window(day, product.zone), product.trips

    def make(stays: pd.DataFrame) -> pd.DataFrame:
        return build_trips(stays, start, end, min_distance_m=rules.min_distance_m, max_duration=rules.max_duration)

    return make


def _placer(source: Any) -> Callable[[pd.DataFrame, tuple[str, ...]], pd.DataFrame]:
    """How the ends of trips, or homes and workplaces, are placed within the reach of antennas.

    What is a trip was decided before, by the antennas: no draw makes one or loses one.
    """
    if not isinstance(source, SpreadsStays):
        return lambda rows, ends: rows

    def place(rows: pd.DataFrame, ends: tuple[str, ...]) -> pd.DataFrame:
        for end in ends:
            names = [f"{end}_lat", f"{end}_lon"]
            placed = source.spread_out(rows["person"].to_numpy(), *(rows[name].to_numpy() for name in names))
            rows = rows.assign(**dict(zip(names, placed, strict=True)))
        return rows

    return place


def _home_finder(product: Product) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """How stays show homes and workplaces."""
    rules, calendar, zone = product.trips.home_work, product.calendar, product.zone
    assert rules is not None

    def find(stays: pd.DataFrame) -> pd.DataFrame:
        places = Places(radius_m=rules.place_radius_m, min_stays=1).number(stays)
        return home_work(
            stays.assign(place=places.astype(np.int64)),
            zone,
            night=Hours(rules.night_from, rules.night_to),
            work=Hours(rules.work_from, rules.work_to),
            min_stay=rules.min_stay,
            min_days=rules.min_days,
            is_working=calendar.is_working,
        )

    return find
