"""OD rows of a day: trips of each person per time bin and tile pair."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd

OD_COLUMNS = ("time_bin", "origin", "destination", "person", "trips")


def od_rows(
    trips: pd.DataFrame, origin: np.ndarray, destination: np.ndarray, start: datetime, length: timedelta
) -> pd.DataFrame:
    """Person-level OD rows, sorted; trips with an unknown tile (None) must have been removed before.

    Bins are counted in real time from the start of the local day, so a day of 25 hours has 25 hourly bins.
    """
    elapsed = (trips["start"] - pd.Timestamp(start)) // pd.Timedelta(length)
    rows = pd.DataFrame(
        {
            "time_bin": pd.Timestamp(start).as_unit("us") + elapsed * pd.Timedelta(length),
            "origin": origin,
            "destination": destination,
            "person": trips["person"].to_numpy(),
        }
    )
    counted = rows.groupby(list(OD_COLUMNS[:-1]), sort=True).size()
    return counted.rename("trips").reset_index()


def pair_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Trips and distinct persons per time bin and tile pair."""
    grouped = rows.groupby(["time_bin", "origin", "destination"], sort=True)
    return grouped.agg(trips=("trips", "sum"), persons=("person", "nunique")).reset_index()
