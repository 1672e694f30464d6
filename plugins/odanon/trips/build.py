"""Trips between consecutive stays of one person."""

from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.staypoints.frame import LEFT_COLUMNS

TRIP_COLUMNS = ("person", "start", "end", "o_lat", "o_lon", "d_lat", "d_lon", "distance_m")
_EARTH_M = 6371008.8


def build_trips(
    stays: pd.DataFrame, start: datetime, end: datetime, *, min_distance_m: float, max_duration: timedelta
) -> pd.DataFrame:
    """Trips that depart in [start, end): from the end of a stay to the beginning of the person's next one.

    `stays` are sorted by person and start. Two stays closer than `min_distance_m`, or separated by more than
    `max_duration`, make no trip. A stay is left where it lies, unless `LEFT_COLUMNS` say where.
    """
    here, there = stays.iloc[:-1], stays.iloc[1:]
    if set(LEFT_COLUMNS) <= set(stays.columns):
        here = here.assign(lat=here[LEFT_COLUMNS[0]], lon=here[LEFT_COLUMNS[1]])
    departure, arrival = here["end"].reset_index(drop=True), there["start"].reset_index(drop=True)
    distance = great_circle_m(*(frame[name].to_numpy() for frame in (here, there) for name in ("lat", "lon")))
    keep = (
        (here["person"].to_numpy() == there["person"].to_numpy())
        & (distance >= min_distance_m)
        & (arrival - departure <= max_duration).to_numpy()
        & (departure >= start).to_numpy()
        & (departure < end).to_numpy()
    )
    trips = pd.DataFrame(
        {
            "person": here["person"].to_numpy(),
            "start": departure,
            "end": arrival,
            "o_lat": here["lat"].to_numpy(),
            "o_lon": here["lon"].to_numpy(),
            "d_lat": there["lat"].to_numpy(),
            "d_lon": there["lon"].to_numpy(),
            "distance_m": distance,
        }
    )
    return trips[keep].reset_index(drop=True)


def great_circle_m(
    lat_a: npt.NDArray, lon_a: npt.NDArray, lat_b: npt.NDArray, lon_b: npt.NDArray
) -> npt.NDArray[np.float64]:
    """Haversine distance in metres."""
    lat_a, lon_a, lat_b, lon_b = (np.radians(v) for v in (lat_a, lon_a, lat_b, lon_b))
    h = np.sin((lat_b - lat_a) / 2) ** 2 + np.cos(lat_a) * np.cos(lat_b) * np.sin((lon_b - lon_a) / 2) ** 2
    return 2 * _EARTH_M * np.arcsin(np.sqrt(h))
