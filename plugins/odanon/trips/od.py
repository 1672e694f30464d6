"""OD rows of a day: trips of each person per time bin and tile pair."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.model.figure import Figure
from odanon.trips.bins import Instants, assign_bins

OD_COLUMNS = ("time_bin", "segment", "origin", "destination", "person", "trips")
ALL = "all"  # the segment of everybody, when a product has no segments
UNKNOWN = "unknown"  # the zone of a trip's end that lies outside the zoning
MATRIX_FIGURES = (  # of a day's matrix and of a longer window's
    Figure(
        "od_pairs",
        "OD pairs",
        "pairs of tiles with trips, by time bin and segment",
        kind="count",
        tells_suppressed="yes",
    ),
    Figure("od_trips", "trips of the matrix", "trips between known tiles", kind="count", tells_suppressed="yes"),
    Figure("time_bins", "time bins", "time bins with trips", kind="size", tells_suppressed="yes"),
    Figure("segments", "segments", "segments with trips", kind="size", tells_suppressed="yes"),
    Figure("tiles", "tiles", "tiles in use", kind="size", tells_suppressed="yes"),
)


def od_rows(
    trips: pd.DataFrame, origin: npt.NDArray, destination: npt.NDArray, instants: Instants, people: pd.DataFrame | None
) -> pd.DataFrame:
    """Person-level OD rows, sorted; trips with an unknown tile (None) must have been removed before.

    `instants` are the starts of the day's bins. `people` gives the segment and perhaps the weight of each person;
    a row has the segment of its person and, as weight, that of the person for each trip. Without it everybody is in the
    segment `all` and there is no weight.
    """
    rows = pd.DataFrame(
        {
            "time_bin": assign_bins(trips["start"], instants),
            "segment": pd.Series(ALL, index=range(len(trips)), dtype="str"),
            "origin": pd.Series(origin, dtype="str"),
            "destination": pd.Series(destination, dtype="str"),
            "person": trips["person"].to_numpy(),
        }
    )
    if people is None:
        return count_trips(rows)
    known = people.set_index("person")
    rows["segment"] = known["segment"].reindex(rows["person"]).to_numpy()
    counted = count_trips(rows)
    if "weight" not in known:
        return counted
    weight = known["weight"].reindex(counted["person"]).to_numpy(np.float64)
    return counted.assign(weight=weight * counted["trips"].to_numpy())


def count_trips(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per time bin, segment, origin, destination and person with its number of trips, sorted by them."""
    keys = list(OD_COLUMNS[:-1])
    # Sorting codes instead of texts: the same order, several times faster.
    coded = {name: pd.factorize(rows[name], sort=True) for name in keys}
    order = np.lexsort([coded[name][0] for name in reversed(keys)])
    sorted_codes = [coded[name][0][order] for name in keys]
    fresh = np.ones(len(rows), dtype=bool)
    if len(rows):
        fresh[1:] = np.any([codes[1:] != codes[:-1] for codes in sorted_codes], axis=0)
    starts = np.flatnonzero(fresh)
    counted = rows[keys].iloc[order[starts]].reset_index(drop=True)
    return counted.assign(trips=np.diff(np.append(starts, len(rows))))


def merge_rows(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """OD rows of disjoint people in the order of `OD_COLUMNS`."""
    rows = pd.concat(parts, ignore_index=True)
    keys = list(OD_COLUMNS[:-1])
    order = np.lexsort([pd.factorize(rows[name], sort=True)[0] for name in reversed(keys)])
    return rows.iloc[order].reset_index(drop=True)


def pair_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Trips and, where rows have them, distinct persons and weight per time bin, segment and tile pair."""
    grouped = rows.groupby(["time_bin", "segment", "origin", "destination"], sort=True)
    pairs = grouped["trips"].sum().to_frame()
    if "person" in rows:
        pairs["persons"] = grouped["person"].nunique()
    if "weight" in rows:
        pairs["weight"] = grouped["weight"].sum()
    return pairs.reset_index()
