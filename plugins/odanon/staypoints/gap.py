"""Stay points of devices that record on the way only: a silence ends a trip (004 section 2.B)."""

import pandas as pd

from odanon.plugin import Duration, parameter, plugin
from odanon.staypoints.frame import microseconds, person_starts, stay_frame, times_us


@plugin
class Gap:
    """Stays where a device that records only on the way falls silent: the ends of its trips.

    A trip is over when no fix comes for `silence`. The silence is a stay, from the last fix before to the first fix after
    it, at their mean; when these lie more than `radius_m` apart the device moved unseen, and arrival and
    departure are two stays of no length. The first and the last fix of a person are such stays too, so that the first
    trip has an origin and the last one a destination. A fix with silence on both sides is no trip: at the same place
    the stay goes on through it.
    """

    silence: Duration = parameter("3min", "no fix for this long ends a trip")
    radius_m: float = parameter(250.0, "largest distance between arrival and departure of one stay, metres", gt=0)

    def detect(self, points: pd.DataFrame) -> pd.DataFrame:
        """Stays of points sorted by person and time; columns of `odanon.staypoints.frame.STAY_COLUMNS`."""
        from odanon.staypoints.kernels import gap_stays

        stays = gap_stays(
            person_starts(points["person"].to_numpy()),
            times_us(points),
            points["lat"].to_numpy("float64"),
            points["lon"].to_numpy("float64"),
            self.radius_m,
            microseconds(self.silence),
        )
        return stay_frame(points, *stays)
