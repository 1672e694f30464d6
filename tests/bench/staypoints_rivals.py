"""Other detectors on the same points: trackintel's own, and a sliding one in the manner of scikit-mobility."""

import time
import warnings
from datetime import timedelta
from itertools import pairwise
from math import asin, cos, radians, sin, sqrt

import numpy as np
import pandas as pd

from odanon.staypoints.frame import person_starts

try:
    from trackintel import Positionfixes
except ImportError:
    raise SystemExit(
        "this benchmark compares with trackintel: pip install -c requirements.lock -e '.[bench]'"
    ) from None


def trackintel_stays(
    points: pd.DataFrame, radius_m: float, min_stay: timedelta, max_gap: timedelta
) -> tuple[pd.DataFrame, float]:
    """(stays, CPU seconds of the detection) of trackintel's sliding method, the last stay included."""
    import geopandas as gpd

    fixes = gpd.GeoDataFrame(
        {"user_id": points["person"], "tracked_at": points["time"]},
        geometry=gpd.points_from_xy(points["lon"], points["lat"]),
        crs="EPSG:4326",
    )
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, stays = Positionfixes(fixes).generate_staypoints(
            method="sliding",
            dist_threshold=radius_m,
            time_threshold=min_stay / timedelta(minutes=1),
            gap_threshold=max_gap / timedelta(minutes=1),
            include_last=True,
        )
    seconds = time.process_time() - began
    columns = {"user_id": "person", "started_at": "start", "finished_at": "end"}
    return pd.DataFrame(stays[list(columns)]).rename(columns=columns), seconds


def sliding_stays(points: pd.DataFrame, radius_m: float, min_stay: timedelta, max_gap: timedelta) -> pd.DataFrame:
    """Stays as scikit-mobility understands them: from an anchor to the first fix beyond the radius, or to the last fix.

    A silence moves the anchor behind it and what was before is lost; a stay must last longer than the minimum.
    """
    person, lat, lon = (points[name].tolist() for name in ("person", "lat", "lon"))
    seconds = (points["time"].to_numpy("datetime64[us]").astype(np.int64) / 1e6).tolist()
    starts = person_starts(points["person"].to_numpy()).tolist()
    found = []
    for begin, end in pairwise(starts):
        anchor = begin
        for row in range(begin + 1, end):
            if seconds[row] - seconds[row - 1] > max_gap.total_seconds():
                anchor = row
            left = _metres(lat[anchor], lon[anchor], lat[row], lon[row]) > radius_m
            if left or row == end - 1:
                if seconds[row] - seconds[anchor] > min_stay.total_seconds():
                    found.append((person[begin], anchor, row))
                anchor = row
    who, first, last = (list(column) for column in zip(*found, strict=True))
    when = points["time"].reset_index(drop=True)
    return pd.DataFrame({"person": who, "start": when[first].to_numpy(), "end": when[last].to_numpy()})


def _metres(lat_a: float, lon_a: float, lat_b: float, lon_b: float) -> float:
    up, across = sin(radians(lat_b - lat_a) / 2), sin(radians(lon_b - lon_a) / 2)
    return 2 * 6371000 * asin(sqrt(up * up + cos(radians(lat_a)) * cos(radians(lat_b)) * across * across))
