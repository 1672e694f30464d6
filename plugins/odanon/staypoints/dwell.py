"""Stay points by dwell: a person stays where consecutive fixes keep within a radius for long enough."""

import numpy as np
import pandas as pd

from odanon.plugin import Duration, parameter, plugin
from odanon.staypoints.frame import person_starts, stay_frame


@plugin
class Dwell:
    """Stays within a radius of their first fix for a minimum time (sliding anchor)."""

    radius_m: float = parameter(100.0, "largest distance from the first fix of a stay, metres", gt=0)
    min_stay: Duration = parameter("10min", "shortest stay")
    max_gap: Duration = parameter("2h", "a longer silence ends a stay")

    def detect(self, points: pd.DataFrame) -> pd.DataFrame:
        """Stays of points sorted by person and time; columns of `odanon.staypoints.frame.STAY_COLUMNS`.

        A stay lies at the mean of its fixes and lasts from its first to its last fix.
        """
        from odanon.staypoints.kernels import dwell_stays

        time_us = points["time"].to_numpy("datetime64[us]").astype(np.int64)
        first, last, lat, lon = dwell_stays(
            person_starts(points["person"].to_numpy()),
            time_us,
            points["lat"].to_numpy(np.float64),
            points["lon"].to_numpy(np.float64),
            self.radius_m,
            round(self.min_stay.total_seconds() * 1e6),
            round(self.max_gap.total_seconds() * 1e6),
        )
        return stay_frame(points, first, last, lat, lon)
