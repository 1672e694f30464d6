"""A slow twin of the sliding anchor in which each rule that tells `dwell` from trackintel can be chosen."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numba import njit

from odanon.staypoints.dwell import Dwell
from odanon.staypoints.frame import microseconds, person_starts, times_us


@dataclass(frozen=True)
class Rules:
    """Four choices; `RULES` says what choosing True means, False is trackintel's way.

    trackintel measures on the sphere, forgets a stay that a silence ends, lets a stay last until the first fix
    outside and tests the minimum on that, and makes the first fix outside the next anchor even when there was no stay.
    """

    plane: bool
    silence_ends: bool
    last_inside: bool
    next_fix: bool


TRACKINTEL = Rules(plane=False, silence_ends=False, last_inside=False, next_fix=False)
ODANON = Rules(plane=True, silence_ends=True, last_inside=True, next_fix=True)
RULES = {
    "plane": "distance on the tangent plane, radius included",
    "silence_ends": "a silence ends a stay instead of undoing it",
    "last_inside": "a stay ends at its last fix inside",
    "next_fix": "a vain anchor moves on by one fix",
}


def rule_stays(points: pd.DataFrame, dwell: Dwell, rules: Rules) -> pd.DataFrame:
    """Stays (person, start, end) of the plain anchor under these rules."""
    first, last = _stays(
        person_starts(points["person"].to_numpy()),
        times_us(points),
        points["lat"].to_numpy(),
        points["lon"].to_numpy(),
        dwell.radius_m,
        microseconds(dwell.min_stay),
        microseconds(dwell.max_gap),
        rules.plane,
        rules.silence_ends,
        rules.last_inside,
        rules.next_fix,
    )
    when = points["time"].reset_index(drop=True)
    return pd.DataFrame(
        {
            "person": points["person"].to_numpy()[first],
            "start": when[first].to_numpy("datetime64[us]"),
            "end": when[last].to_numpy("datetime64[us]"),
        }
    )


@njit
def _stays(starts, time_us, lat, lon, radius_m, min_stay, max_gap, plane, silence_ends, last_inside, next_fix):
    first, last = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    for p in range(len(starts) - 1):
        anchor, end = starts[p], starts[p + 1]
        while anchor < end:
            reach, silent = anchor + 1, False
            while reach < end:
                silent = time_us[reach] - time_us[reach - 1] > max_gap
                if silent or _beyond(lat[anchor], lon[anchor], lat[reach], lon[reach], radius_m, plane):
                    break
                reach += 1
            final = reach if reach < end and not silent and not last_inside else reach - 1
            undone = silent and reach < end and not silence_ends
            stays = time_us[final] - time_us[anchor] >= min_stay and not undone
            if stays:
                first.append(anchor)
                last.append(final)
            anchor = reach if stays or undone or not next_fix else anchor + 1
    return np.array(first), np.array(last)


@njit
def _beyond(lat_a, lon_a, lat_b, lon_b, radius_m, plane):
    if plane:
        dx = (lon_b - lon_a) * math.cos((math.floor(lat_a * 100) + 0.5) / 100 * math.pi / 180)
        dy = lat_b - lat_a
        return (dx * dx + dy * dy) * (6371008.8 * math.pi / 180) ** 2 > radius_m * radius_m
    up = math.sin(math.radians(lat_b - lat_a) / 2)
    across = math.sin(math.radians(lon_b - lon_a) / 2)
    h = up * up + math.cos(math.radians(lat_a)) * math.cos(math.radians(lat_b)) * across * across
    return 2 * 6371000 * math.asin(math.sqrt(h)) >= radius_m
