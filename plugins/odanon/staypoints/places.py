"""Places: where a person stays again and again, found by density among the person's stays."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.plugin import parameter, plugin
from odanon.staypoints.frame import person_starts

PLACE_COLUMNS = ("person", "place", "lat", "lon", "stays", "stayed")


@plugin
class Places:
    """Clusters of each person's stays by density (DBSCAN).

    A stay is dense when at least `min_stays` stays of the person, itself included, lie within `radius_m`. Dense stays
    within `radius_m` of each other share a place; another stay belongs to the place of the nearest dense stay within
    `radius_m`, and to none without one. With `min_stays` 1 every stay has a place.
    """

    radius_m: float = parameter(100.0, "distance at which two stays of a person are at one place, metres", gt=0)
    min_stays: int = parameter(1, "stays within the radius that make a place", ge=1)

    def number(self, stays: pd.DataFrame) -> npt.NDArray[np.int64]:
        """The place of every stay (stays sorted by person and start): 0, 1, ... a person by first visit, -1 for none."""
        from odanon.staypoints.places_kernels import place_numbers

        return place_numbers(
            person_starts(stays["person"].to_numpy()),
            stays["lat"].to_numpy("float64"),
            stays["lon"].to_numpy("float64"),
            self.radius_m,
            self.min_stays,
        )


def places(stays: pd.DataFrame, number: npt.NDArray[np.int64]) -> pd.DataFrame:
    """The places of numbered stays: position (mean of the fixes), number of stays and time stayed in all."""
    weights = stays["fixes"].to_numpy()
    numbered = pd.DataFrame(
        {
            "person": stays["person"].to_numpy(),
            "place": number,
            "lat": stays["lat"].to_numpy() * weights,
            "lon": stays["lon"].to_numpy() * weights,
            "stays": 1,
            "stayed": (stays["end"] - stays["start"]).to_numpy(),
            "fixes": weights,
        }
    )
    table = numbered[number >= 0].groupby(["person", "place"], as_index=False).sum()
    for name in ("lat", "lon"):
        table[name] /= table["fixes"]
    return table[list(PLACE_COLUMNS)]
