"""When a device speaks, and where it truly is then."""

import math
from dataclasses import dataclass

import numpy as np

from odanon.simulate.timeline import Timeline

_GAP_HOURS = 1.5  # mean length of a silent span


@dataclass(frozen=True)
class Rhythm:
    """Mean seconds between recordings, and the share of the time for which devices are off."""

    stay_interval_s: float
    move_interval_s: float
    gap_share: float


def instants(
    rng: np.random.Generator, segments: Timeline, opens: int, closes: int, rhythm: Rhythm
) -> tuple[np.ndarray, np.ndarray]:
    """(segment, seconds since 1970) of each recording within [opens, closes), silent spans left out.

    One recording falls in the middle half of each whole interval, so successive ones are half to one and a
    half intervals apart; a segment much shorter than the interval goes unrecorded.
    """
    start = np.maximum(segments.start, opens).astype(np.float64)
    duration = np.minimum(segments.end, closes) - start
    interval = np.where(segments.moving, rhythm.move_interval_s, rhythm.stay_interval_s)
    count = np.floor(duration / interval + 0.25).clip(min=0).astype(np.int64)
    segment = np.repeat(np.arange(len(segments), dtype=np.int32), count)
    origin = start - (np.cumsum(count) - count) * interval
    seconds = np.arange(len(segment)) + rng.uniform(0.25, 0.75, len(segment))
    seconds *= interval[segment]
    seconds += origin[segment]
    heard = ~_silent(rng, segments.person[segment], seconds, opens, closes, rhythm.gap_share)
    return segment[heard], seconds[heard]


def _silent(
    rng: np.random.Generator, person: np.ndarray, seconds: np.ndarray, opens: int, closes: int, share: float
) -> np.ndarray:
    """Which instants (sorted by person and time) fall into a span in which the device is off."""
    length = closes - opens
    people = int(person[-1]) + 1 if len(person) else 0
    mean = _GAP_HOURS * 3600
    before = 5 * mean  # spans may have begun before the day
    # Spans overlap: at any instant their number is Poisson, and none with probability 1 - share.
    spans = rng.poisson(-math.log1p(-share) * people * (length + before) / mean)
    who = rng.integers(0, max(people, 1), spans)
    begins = rng.uniform(-before, length, spans)
    ends = (begins + rng.exponential(mean, spans)).clip(0, length)
    begins = begins.clip(min=0)
    # One axis for everybody: person after person, so a span is a range of rows.
    axis = person * float(length) + (seconds - opens)
    change = np.zeros(len(axis) + 1, np.int32)
    np.add.at(change, np.searchsorted(axis, who * float(length) + begins), 1)
    np.add.at(change, np.searchsorted(axis, who * float(length) + ends), -1)
    return np.cumsum(change[:-1]) > 0


def positions(segments: Timeline, segment: np.ndarray, seconds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """True (x, y) in kilometres at these instants; see `Timeline` for the path."""
    fraction = (seconds - segments.start[segment]) / (segments.end - segments.start)[segment]
    bend = 1 - fraction
    aside_x, aside_y = -4 * segments.bow * segments.dy, 4 * segments.bow * segments.dx
    x = segments.x[segment] + fraction * (segments.dx[segment] + bend * aside_x[segment])
    y = segments.y[segment] + fraction * (segments.dy[segment] + bend * aside_y[segment])
    return x, y
