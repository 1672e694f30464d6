"""Antennas of a city and the events that phones leave on them: call records (CDR) or signalling (NSD)."""

from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.spatial import KDTree

from odanon.simulate.city import City, People, Stream
from odanon.simulate.plan import timeline
from odanon.simulate.records import Records
from odanon.simulate.rhythm import Rhythm, instants, positions
from odanon.simulate.timeline import Timeline, local_instant

_CELL_KM = 2.0  # side of the squares that the layout fills with 1, 4, 9 or 16 antennas
_RANK_SHARES = (0.9, 0.08, 0.02)  # how often a phone takes the nearest antenna, the second, the third
_OSCILLATION_SHARE = 0.01  # of the events start a ping-pong between the two nearest antennas
_JUMP_SHARE = 0.002  # of the events are followed by one on any antenna of the city
_STEP_S = 8.0  # between the events of a ping-pong
# Call records are sparse: one chance a slot of the rhythm, taken with a probability that makes this mean.
_CDR_SLOT_S, _CDR_PER_DAY = 240.0, 15.0
# Signalling comes periodically while staying; on the move an event is kept when the antenna changes.
_NSD_STAY_S, _NSD_MOVE_S = 300.0, 60.0
# How busy phones are at each hour of the day, relative to the mean.
_BUSY = np.array([3, 2, 1, 1, 1, 2, 4, 8, 12, 13, 13, 13, 14, 13, 12, 12, 13, 15, 16, 15, 13, 11, 8, 5, 3], float)
_BUSY /= _BUSY.mean()


@dataclass(frozen=True)
class Network:
    """The antennas of a city; an antenna is known by its number."""

    city: City

    @cached_property
    def towers(self) -> np.ndarray:
        """(x, y) in kilometres: a jittered lattice, finer where more people live."""
        rng = self.city.rng(Stream.EVENTS, 0)
        side = int(np.ceil(self.city.radius_km / _CELL_KM))
        edges = _CELL_KM * np.arange(-side, side + 1)
        x, y = self.city.scatter(rng, 20_000)
        homes = np.histogram2d(x, y, bins=[edges, edges])[0]
        finer = np.ceil(4 * np.sqrt(homes / homes.max())).clip(1, 4).astype(int)
        squares = [_lattice(rng, float(edges[i]), float(edges[j]), count) for (i, j), count in np.ndenumerate(finer)]
        towers = np.concatenate(squares)
        return towers[np.hypot(towers[:, 0], towers[:, 1]) <= self.city.radius_km + _CELL_KM / 2]

    @cached_property
    def _tree(self) -> KDTree:
        return KDTree(self.towers)

    def __len__(self) -> int:
        return len(self.towers)

    def nearest(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(positions, 3) numbers of the nearest antennas, the nearest first."""
        return self._tree.query(np.column_stack([x, y]), k=len(_RANK_SHARES))[1]

    def frame(self) -> pd.DataFrame:
        """The antenna table: antenna, lat, lon."""
        lat, lon = self.city.to_degrees(*self.towers.T)
        return pd.DataFrame({"antenna": self.names(np.arange(len(self))), "lat": lat.round(6), "lon": lon.round(6)})

    def names(self, antenna: np.ndarray) -> pd.Series:
        """Names by number; -1 has none."""
        known = pd.Series([f"a{number:05d}" for number in range(2 * len(self))], dtype="str")
        return known.reindex(antenna).reset_index(drop=True)


def _lattice(rng: np.random.Generator, x: float, y: float, count: int) -> np.ndarray:
    """count x count jittered positions in the square whose corner is (x, y)."""
    column, row = np.divmod(np.arange(count * count), count)
    jitter = rng.uniform(0.2, 0.8, (2, count * count))
    return np.column_stack([x + (column + jitter[0]) * _CELL_KM / count, y + (row + jitter[1]) * _CELL_KM / count])


def cdr_events(network: Network, people: People, day: date, gap_share: float) -> Records:
    """Call records of one civil day: few, at the hours when people call; some people call far more than others."""
    rng, segments, opens, closes = _day(network, people, day)
    segment, seconds = instants(rng, segments, opens, closes, Rhythm(_CDR_SLOT_S, _CDR_SLOT_S, gap_share))
    talkative = network.city.rng(Stream.EVENTS, 2, people.chunk).gamma(1.2, 1 / 1.2, len(people))
    hour = ((seconds - opens) / 3600).astype(int)
    chance = talkative[segments.person[segment]] * _BUSY[hour] * _CDR_PER_DAY * _CDR_SLOT_S / 86400
    taken = rng.random(len(segment)) < chance
    segment, seconds = segment[taken], seconds[taken]
    near = _near(network, segments, segment, seconds)
    return _send(rng, segments.person[segment], seconds, near, len(network), closes)


def nsd_events(network: Network, people: People, day: date, gap_share: float) -> Records:
    """Signalling of one civil day: periodic while staying, at each change of antenna while travelling."""
    rng, segments, opens, closes = _day(network, people, day)
    segment, seconds = instants(rng, segments, opens, closes, Rhythm(_NSD_STAY_S, _NSD_MOVE_S, gap_share))
    near = _near(network, segments, segment, seconds)
    handover = np.append(True, near[1:, 0] != near[:-1, 0])[: len(segment)]
    kept = ~segments.moving[segment] | handover
    return _send(rng, segments.person[segment[kept]], seconds[kept], near[kept], len(network), closes)


def _day(network: Network, people: People, day: date) -> tuple[np.random.Generator, Timeline, int, int]:
    """(random stream, segments, first second, end) of one chunk of people on one civil day."""
    city = network.city
    rng = city.rng(Stream.EVENTS, 1, people.chunk, day.toordinal())
    opens, closes = local_instant(day, city.zone), local_instant(day + timedelta(days=1), city.zone)
    return rng, timeline(city, people, day, day), opens, closes


def _near(network: Network, segments: Timeline, segment: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """(events, 3) nearest antennas; those of a stay are looked up once for all its events."""
    near = network.nearest(segments.x, segments.y)[segment]
    moving = segments.moving[segment]
    near[moving] = network.nearest(*positions(segments, segment[moving], seconds[moving]))
    return near


def _send(
    rng: np.random.Generator, person: np.ndarray, seconds: np.ndarray, near: np.ndarray, towers: int, closes: int
) -> Records:
    """Connect each event to one of its nearest antennas and add ping-pongs and jumps, sorted by person and time."""
    n = len(person)
    rank = np.searchsorted(np.cumsum(_RANK_SHARES)[:-1], rng.random(n), side="right")
    antenna = near[np.arange(n), rank]

    begun = np.flatnonzero(rng.random(n) < _OSCILLATION_SHARE)
    length = rng.integers(2, 7, len(begun))
    swing = np.repeat(begun, length)
    step = np.arange(len(swing)) - np.repeat(np.cumsum(length) - length, length) + 1
    jump = np.flatnonzero(rng.random(n) < _JUMP_SHARE)

    row = np.concatenate([np.arange(n), swing, jump])
    later = np.concatenate([np.zeros(n), step * _STEP_S, np.full(len(jump), _STEP_S / 2)])
    on = np.concatenate([antenna, near[swing, step % 2], rng.integers(0, towers, len(jump))])
    time = np.floor(seconds[row] + later).astype(np.int64)
    by_person = person[row]
    order = np.argsort(by_person * 2**40 + time, kind="stable")
    order = order[time[order] < closes]
    return Records(by_person[order].astype(np.int16), time[order] * 1_000_000, {"antenna": on[order]})
