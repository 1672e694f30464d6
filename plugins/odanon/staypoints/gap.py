"""Stay points of devices that record on the way only: a silence ends a trip (004 section 2.B)."""

import pandas as pd

from odanon.plugin import Duration, parameter, plugin
from odanon.staypoints.frame import LEFT_COLUMNS, microseconds, person_starts, stay_frame, times_us


@plugin
class Gap:
    """Stays where a device that records only on the way falls silent: the ends of its trips.

    A trip is one uninterrupted recording, from its own first fix to its own last one; a fix with silence on both sides is
    none. What lies between two trips is a stay: it begins where and when the first one ends, and is left where and when
    the second one begins, so that nothing is invented between the two. Before the first trip and after the last one there
    are stays of no length.
    """

    silence: Duration = parameter("3min", "no fix for longer than this ends a trip")

    def detect(self, points: pd.DataFrame) -> pd.DataFrame:
        """Stays of points sorted by person and time; columns `STAY_COLUMNS` and `LEFT_COLUMNS` of `frame`."""
        from odanon.staypoints.kernels import gap_stays

        first, last = gap_stays(
            person_starts(points["person"].to_numpy()), times_us(points), microseconds(self.silence)
        )
        lat, lon = (points[name].to_numpy("float64") for name in ("lat", "lon"))
        stays = stay_frame(points, first, last, lat[first], lon[first], last - first + 1)
        return stays.assign(**dict(zip(LEFT_COLUMNS, (lat[last], lon[last]), strict=True)))
