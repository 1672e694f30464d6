"""The frames around a stay-point detector: sorted points in, stays out."""

from datetime import timedelta

import numpy as np
import numpy.typing as npt
import pandas as pd

POINT_COLUMNS = ("person", "time", "lat", "lon")
STAY_COLUMNS = ("person", "start", "end", "lat", "lon", "fixes")
LEFT_COLUMNS = ("left_lat", "left_lon")  # of detectors whose stays are not always left where they began


def sort_points(points: pd.DataFrame) -> pd.DataFrame:
    """Points by person, time and place: the order detectors expect, whatever order they were read in."""
    keys = [points[name].to_numpy() for name in ("lon", "lat")]
    order = np.lexsort([*keys, points["time"].to_numpy("datetime64[us]"), points["person"].to_numpy()])
    return points.iloc[order].reset_index(drop=True)


def person_starts(person: npt.NDArray) -> npt.NDArray[np.int64]:
    """Where each person's run of rows starts, with the total at the end."""
    if len(person) == 0:
        return np.zeros(1, dtype=np.int64)
    changes = np.flatnonzero(person[1:] != person[:-1]) + 1
    return np.concatenate([[0], changes, [len(person)]]).astype(np.int64)


def times_us(points: pd.DataFrame) -> npt.NDArray[np.int64]:
    """Times of the points in microseconds, as the kernels read them."""
    return points["time"].to_numpy("datetime64[us]").astype(np.int64)


def microseconds(duration: timedelta) -> int:
    """A duration in the unit of `times_us`."""
    return duration // timedelta(microseconds=1)


def stay_frame(
    points: pd.DataFrame,
    first: npt.NDArray[np.int64],
    last: npt.NDArray[np.int64],
    lat: npt.NDArray[np.float64],
    lon: npt.NDArray[np.float64],
    fixes: npt.NDArray[np.int64],
) -> pd.DataFrame:
    """Stays from the row numbers of their first and last fix, their position and their number of fixes."""
    return pd.DataFrame(
        {
            "person": points["person"].to_numpy()[first],
            "start": points["time"].iloc[first].reset_index(drop=True),
            "end": points["time"].iloc[last].reset_index(drop=True),
            "lat": lat,
            "lon": lon,
            "fixes": fixes,
        }
    )
