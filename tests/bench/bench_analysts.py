"""Ten questions of analysts on published green taxis, with the truth beside; and bounds of random questions.

Run it with `python tests/bench/bench_analysts.py`. Truth is of what was published: the trips that some row counts. It must lie between the
bounds whatever is asked; the benchmark fails if it once does not.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import gate_town as gate
import green_taxis as taxis
from bundles import accept
from postgis_server import postgis_server

import odanon
from odanon.api import PublishedProduct
from odanon_assets.stores import schema
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Estimate
from odanon_assets.stores.postgis import PostgisStore

DATA = Path(os.environ.get("ODANON_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
TIMES, AREAS = 20, 5  # of random questions: times, and areas all of whose pairs are asked at each


def days(first: date, number: int) -> list[date]:
    return [first + timedelta(days=n) for n in range(number)]


PRODUCTS: dict[str, tuple[list[date], str, dict[str, Any]]] = {
    "green-taxi": (days(date(2023, 2, 1), 59), "month", taxis.MONTHS),
    "green-taxi-weeks": (days(date(2023, 1, 2), 28), "week", taxis.WEEKS),
    "green-taxi-days": (days(date(2022, 1, 3), 5), "day", taxis.DAYS),
}


@dataclass(frozen=True, eq=False)
class Truth:
    """The trips of a product, and which of them its rows count."""

    trips: pd.DataFrame  # departure, origin, destination, told

    def between(self, origin: set[str], destination: set[str], **when: Any) -> int:
        """Trips that rows count from some taxi zones to others."""
        some = self.during(**when)
        return int((some["told"] & some["origin"].isin(origin) & some["destination"].isin(destination)).sum())

    def during(
        self,
        since: str | None = None,
        until: str | None = None,
        month: str | None = None,
        days: str | None = None,
        clock: str | None = None,
    ) -> pd.DataFrame:
        """Trips at some time, told as the client is."""
        local = self.trips["departure"].dt.tz_localize(None)
        inside = pd.Series(True, index=local.index)
        if since is not None:
            inside &= local >= pd.Timestamp(since)
        if until is not None:
            inside &= local < pd.Timestamp(until)
        if month is not None:
            inside &= local.dt.strftime("%Y-%m") == month
        if days is not None:
            inside &= (local.dt.day_name().str.lower() == days) | (local.dt.day_of_week.map(taxis.day_type) == days)
        if clock is not None:
            (first, last), at = clock.split("-"), local.dt.strftime("%H:%M")
            inside &= (at >= first) & (at < last) if first < last else (at >= first) | (at < last)
        return self.trips[inside]


@dataclass(frozen=True, eq=False)
class Published:
    """A product in a store, and its truth."""

    product: PublishedProduct
    truth: Truth
    places: geopandas.GeoDataFrame

    def shape(self, zones: set[str]) -> Any:
        """The ground of taxi zones."""
        return self.places.loc[sorted(zones)].union_all()

    def ask(self, origin: set[str], destination: set[str], **when: Any) -> tuple[Any, int]:
        """What is told of trips from some taxi zones to others, and the truth."""
        found = self.product.flow(self.shape(origin), self.shape(destination), **when)
        return found, self.truth.between(origin, destination, **when)


@contextmanager
def published(folder: Path) -> Iterator[tuple[dict[str, Truth], dict[str, Any]]]:
    """The truth of all products, and where readers find them: in a folder, and in a private database."""
    for part in ("data", "pipelines"):
        (folder / part).mkdir()
    os.environ |= gate.SECRET | {"ODANON_ROOT": str(folder / "data"), "ODANON_PRODUCTS": str(folder / "pipelines")}
    with postgis_server() as url:
        schema.init(url)
        stores, truths = (EmbeddedStore(folder / "data"), PostgisStore(url)), {}
        for name, (some, window, od) in PRODUCTS.items():
            began = time.process_time()
            trips = taxis.trips(DATA, some)
            told = np.zeros(len(trips), dtype=bool)
            for bundle in taxis.bundles(taxis.product(trips, DATA, folder, name, some, window, od), some):
                owner = taxis.counted(trips, bundle)
                assert (np.bincount(owner[owner >= 0], minlength=len(bundle.flows)) == bundle.flows["trips"]).all()
                told |= owner >= 0
                for store in stores:
                    store.publish(bundle, accept)
            truths[name] = Truth(trips.assign(told=told))
            print(
                f"{name}: {len(some)} days, {len(trips):,} trips, {told.sum():,} of them told;"
                f" {time.process_time() - began:.0f} CPU s",
                flush=True,
            )
        yield truths, {"embedded": odanon.open(folder / "data"), "postgis": odanon.open(url)}


def questions(months: Published, weeks: Published) -> Iterator[tuple[str, Any, int]]:
    """Those of docs/analysts.md: what is asked, the answer and the truth."""
    areas = {name: set(zones) for name, zones in taxis.AREAS.items()} | {"City": set(months.places.index)}
    harlem, east = "Harlem", "Upper East Side"
    ours = [*product(taxis.AREAS, repeat=2)]

    def asked(published: Published, origin: str, destination: str, **when: Any) -> tuple[Any, int]:
        return published.ask(areas[origin], areas[destination], **when)

    yield "1 Harlem to LaGuardia, March", *asked(months, harlem, "LaGuardia", month="2023-03")
    told = months.truth.during(month="2023-03")
    busiest = told.groupby(["origin", "destination"]).size().idxmax()
    yield "2 the busiest pair, March", *months.ask(*({zone} for zone in busiest), month="2023-03")
    hours = {"month": "2023-03", "days": "working"}
    yield (
        "3 to the Upper East Side, working days, 16 to 19 h",
        *asked(months, "City", east, clock="16:00-19:00", **hours),
    )
    yield (
        "4 Harlem to Upper East Side, working days, 7 to 9 h",
        *asked(months, harlem, east, clock="07:00-09:00", **hours),
    )
    for kind in ("working", "sunday_holiday"):
        yield f"5 the same, {kind}, all day", *asked(months, harlem, east, month="2023-03", days=kind)
    for month in ("2023-02", "2023-03"):
        yield f"6 the same, {month}", *asked(months, harlem, east, month=month)
    yield "7 Astoria to LaGuardia, March", *asked(months, "Astoria", "LaGuardia", month="2023-03")
    yield "8 inside Harlem, March", *asked(months, harlem, harlem, month="2023-03")
    drawn = geopandas.GeoDataFrame(index=[*taxis.AREAS], geometry=[months.shape(areas[name]) for name in taxis.AREAS])
    cells = months.product.matrix(drawn.set_crs("EPSG:4326"), month="2023-03")[["low", "estimate", "high"]].sum()
    truth = sum(months.truth.between(areas[a], areas[b], month="2023-03") for a, b in ours)
    yield "9 all pairs of the four areas, March", Estimate(*cells, None), truth
    for week in PRODUCTS["green-taxi-weeks"][0][::7]:
        span = {"since": str(week), "until": str(week + timedelta(days=7))}
        yield f"10 Harlem to Upper East Side, week of {week}", *asked(weeks, harlem, east, **span)


def ten(months: Published, weeks: Published) -> list[str]:
    """Print the table of the guide; which answers do not hold the truth."""
    print("| question | low | estimate | high | truth | inside |\n|---|---|---|---|---|---|")
    wrong = []
    for text, found, truth in questions(months, weeks):
        inside = found.low <= truth <= found.high
        told = " | ".join(f"{number:,.0f}" for number in (found.low, found.estimate, found.high, truth))
        print(f"| {text} | {told} | {'yes' if inside else 'no'} |", flush=True)
        wrong += [] if inside else [text]
    return wrong


def random_times(name: str, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Whole windows, and any other hours, days of a type and spans of the clock."""
    some, _, _ = PRODUCTS[name]
    types = ["working", "saturday", "sunday_holiday", "monday", "sunday", None, None, None]
    for number in range(TIMES):
        hours = np.sort(rng.choice(24 * len(some), 2, replace=False))
        since, until = (pd.Timestamp(some[0]) + pd.Timedelta(hours=int(at)) for at in hours)
        when: dict[str, Any] = {"since": str(since), "until": str(until)} if number % 2 else {}
        when["days"] = types[rng.integers(len(types))]
        if rng.random() < 0.5:
            first, last = rng.choice(24, 2, replace=False)
            when["clock"] = f"{first:02}:00-{last:02}:00"
        yield {key: value for key, value in when.items() if value is not None}


def random_areas(places: geopandas.GeoDataFrame, rng: np.random.Generator) -> list[set[str]]:
    """Single taxi zones, neighbourhoods of several, and boroughs."""
    centre = places.geometry.to_crs("EPSG:2263").centroid
    found = []
    for number in range(AREAS):
        middle = centre.iloc[rng.integers(len(centre))]
        if number == 0:
            found.append(set(places.index[places["Borough"] == rng.choice(["Manhattan", "Queens", "Brooklyn"])]))
        else:
            near = centre.distance(middle).sort_values(kind="stable").index
            found.append(set(near[: rng.integers(1, 60)]))
    return found


def coverage(published: Published, name: str, store: str, seed: int) -> list[dict[str, Any]]:
    """Random questions whose truth lies outside of their bounds; those that begin or end inside a window are counted apart."""
    rng = np.random.default_rng(seed)
    counts = pd.DataFrame(0, index=["whole windows", "any time"], columns=["pairs", "outside"])
    missed, seconds = [], 0.0
    for when in random_times(name, rng):
        areas = random_areas(published.places, rng)
        drawn = geopandas.GeoDataFrame(geometry=[published.shape(zones) for zones in areas], crs="EPSG:4326")
        began = time.perf_counter()
        table = published.product.matrix(drawn, **when).astype({"origin": int, "destination": int})
        seconds += time.perf_counter() - began
        bounds = table.set_index(["origin", "destination"])[["low", "estimate", "high"]]
        bounds = bounds.reindex(pd.MultiIndex.from_product([range(AREAS)] * 2), fill_value=0.0)
        truth = [published.truth.between(one, other, **when) for one, other in product(areas, repeat=2)]
        outside = ~(bounds["estimate"].between(bounds["low"], bounds["high"])) | (bounds["low"] > truth)
        outside |= bounds["high"] < truth
        counts.loc["any time" if "since" in when else "whole windows"] += [len(truth), outside.sum()]
        missed += [{**when, **row} for row in bounds.assign(truth=truth)[outside].to_dict("records")]
    print(f"\n{name} on {store}, {seconds / TIMES:.2f} s a matrix\n{counts.to_string()}", flush=True)
    return missed


def main() -> int:
    if not DATA.is_dir():
        print(f"the real data are not at {DATA}; set ODANON_SHARED_DATA")
        return 0
    places: geopandas.GeoDataFrame = taxis.places(DATA)
    wrong: list[Any] = []
    with tempfile.TemporaryDirectory() as folder, published(Path(folder)) as (truths, opened):
        asked = (Published(opened["postgis"][name], truths[name], places) for name in [*PRODUCTS][:2])
        wrong += ten(*asked)
        for name, truth in truths.items():
            for store, all_products in opened.items():
                missed = coverage(Published(all_products[name], truth, places), name, store, seed=1)
                if missed:
                    print(pd.DataFrame(missed).head(10).to_string())
                wrong += missed
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
