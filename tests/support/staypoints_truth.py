"""Simulated cities with their true stays, and how well detected stays agree with them."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
from scipy.spatial import KDTree

from odanon.simulate.antennas import Network, cdr_events, nsd_events
from odanon.simulate.city import City, People, chunks, draw_people
from odanon.simulate.mode import Mode
from odanon.simulate.plan import timeline
from odanon.simulate.records import concat, frame
from odanon.simulate.source import Simulated
from odanon.simulate.timeline import local_instant, true_stays
from odanon.staypoints.frame import sort_points

FIRST, DAYS = date(2026, 3, 2), 2
DATES = [FIRST + timedelta(days=i) for i in range(DAYS)]


@dataclass(frozen=True)
class Traces:
    """What devices sent, sorted by person and time without repeated rows, and the true stays."""

    points: pd.DataFrame
    stays: pd.DataFrame


def gps_city(source: Simulated) -> Traces:
    """Two days of GPS points."""
    opens, closes = _window(source.city)
    batches = source.batches(datetime.fromtimestamp(opens, UTC), datetime.fromtimestamp(closes, UTC))
    return _traces(list(batches), source)


def antenna_city(source: Simulated, mode: Mode, disturbed: float) -> Traces:
    """Two days of antenna events; a share of them is moved to one of the five antennas around."""
    network = Network(source.city)
    record = {Mode.nsd: nsd_events, Mode.cdr: cdr_events}[mode]
    batches = []
    for chunk in chunks(source.people):
        people = draw_people(source.city, chunk, source.people)
        events = frame(people, concat([record(network, people, day, source.gap_share) for day in DATES]))
        batches.append(_located(events, network, disturbed, source.seed + chunk))
    return _traces(batches, source)


def _located(events: pd.DataFrame, network: Network, disturbed: float, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    around = KDTree(network.towers).query(network.towers, k=6)[1]
    antenna = events["antenna"].to_numpy()
    moved = np.where(rng.random(len(antenna)) < disturbed, rng.integers(1, 6, len(antenna)), 0)
    antenna = around[antenna, moved]
    table = network.frame()
    return events.assign(antenna=antenna, lat=table["lat"].to_numpy()[antenna], lon=table["lon"].to_numpy()[antenna])


def _traces(batches: list[pd.DataFrame], source: Simulated) -> Traces:
    city, truth = source.city, []
    for chunk in chunks(source.people):
        people = draw_people(city, chunk, source.people)
        truth.append(_true_stays(city, people))
    stays, points = pd.concat(truth, ignore_index=True), pd.concat(batches, ignore_index=True)
    names = pd.Index(np.unique(stays["person"]))
    for rows in (stays, points):
        rows["person"] = names.get_indexer(rows["person"])
    return Traces(sort_points(points).drop_duplicates(ignore_index=True), stays)


def _true_stays(city: City, people: People) -> pd.DataFrame:
    return true_stays(timeline(city, people, DATES[0], DATES[-1]), city, people, *_window(city))


def _window(city: City) -> tuple[int, int]:
    """First second and end of the simulated days."""
    return local_instant(DATES[0], city.zone), local_instant(DATES[-1] + timedelta(days=1), city.zone)


@dataclass(frozen=True)
class Score:
    """Shares of time and of stays that agree.

    precision: of the detected time, how much is truly spent staying; recall: of the true time, how much is detected; ratio: stays
    detected for each true stay of the minimum duration; found: share of these with a detected stay that
    overlaps them by more than half of what the two cover together.
    """

    precision: float
    recall: float
    ratio: float
    found: float

    @property
    def overlap(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.precision * self.recall / (self.precision + self.recall)

    def __str__(self) -> str:
        return f"{self.precision:9.3f} {self.recall:6.3f} {self.ratio:6.2f} {self.found:6.3f}"


def score(detected: pd.DataFrame, true: pd.DataFrame, min_stay: timedelta) -> Score:
    """Agreement of detected with true stays; both sides have person, start and end."""
    a = _seconds(detected)
    b = _seconds(true).assign(stay=np.arange(len(true)))
    both = a.merge(b, on="person", suffixes=("", "_true"))
    overlap = (both[["end", "end_true"]].min(axis=1) - both[["start", "start_true"]].max(axis=1)).clip(lower=0)
    union = both["length"] + both["length_true"] - overlap
    long = b.loc[b["length"] >= min_stay.total_seconds(), "stay"]
    found = both.loc[overlap > union / 2, "stay"].unique()
    return Score(
        overlap.sum() / a["length"].sum(),
        overlap.sum() / b["length"].sum(),
        len(a) / len(long),
        float(np.isin(long, found).mean()),
    )


def _seconds(stays: pd.DataFrame) -> pd.DataFrame:
    start, end = (stays[name].to_numpy("datetime64[us]").astype(np.int64) / 1e6 for name in ("start", "end"))
    return pd.DataFrame({"person": stays["person"].to_numpy(), "start": start, "end": end, "length": end - start})
