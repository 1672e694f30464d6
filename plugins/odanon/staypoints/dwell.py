"""Stay points by dwell: a person stays where consecutive fixes keep within a radius for long enough.

With `max_outliers: 0` and `merge_gap: 0s` this is the sliding anchor of trackintel but for four rules, which
`make bench ONLY=staypoints` adds one by one on real points: distances are on the tangent plane and the radius belongs to
the stay; a long silence ends a stay instead of undoing it; a stay ends at its last fix inside, not at the first
outside; and after a vain anchor the next fix is tried, not the first outside.
"""

import pandas as pd

from odanon.plugin import Duration, parameter, plugin
from odanon.staypoints.frame import microseconds, person_starts, stay_frame, times_us


@plugin
class Dwell:
    """Stays within a radius of their first fix for a minimum time; stray fixes do not split them.

    The first fix of a stay is its anchor. Later fixes within `radius_m` of it belong to the stay; up to
    `max_outliers` fixes in a row may lie outside, as long as one inside follows. The stay lasts from its first to
    its last inside fix and lies at their mean. A fix that anchors no stay of `min_stay` is passed over. A stay that
    follows another one's end by less than `merge_gap` (and `max_gap`), with its mean within `radius_m` of the other's,
    continues it: the absence was too short for a stay elsewhere.
    """

    radius_m: float = parameter(100.0, "largest distance from the first fix of a stay, metres", gt=0)
    min_stay: Duration = parameter("10min", "shortest stay")
    max_gap: Duration = parameter("2h", "a longer silence ends a stay")
    max_outliers: int = parameter(2, "fixes in a row that may lie outside without ending the stay", ge=0)
    merge_gap: Duration = parameter("10min", "stays at one place with less than this between them are one stay")

    def detect(self, points: pd.DataFrame) -> pd.DataFrame:
        """Stays of points sorted by person and time; columns of `odanon.staypoints.frame.STAY_COLUMNS`."""
        from odanon.staypoints.kernels import dwell_stays

        stays = dwell_stays(
            person_starts(points["person"].to_numpy()),
            times_us(points),
            points["lat"].to_numpy("float64"),
            points["lon"].to_numpy("float64"),
            self.radius_m,
            microseconds(self.min_stay),
            microseconds(self.max_gap),
            self.max_outliers,
            microseconds(min(self.merge_gap, self.max_gap)),
        )
        return stay_frame(points, *stays)
