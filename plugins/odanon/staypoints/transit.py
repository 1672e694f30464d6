"""Stay points of antenna events (CDR, NSD): TRANSIT's static sessions (003 section 2.2.3)."""

from math import inf

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.errors import OdanonError
from odanon.plugin import Duration, parameter, plugin
from odanon.staypoints.frame import microseconds, person_starts, stay_frame, times_us

_KMH_TO_METRES_PER_US = 1 / 3.6e6


@plugin
class Transit:
    """Stays of phones on antennas: sessions of static antennas, merged across a few foreign ones (TRANSIT).

    Points carry an `antenna` beside the antenna's position. First the noise of the network: when a phone is back on an
    antenna within `oscillation`, it never left it; an event to and from which nobody could travel at `max_speed_kmh`,
    while its neighbours fit together, is a jump and is dropped. A visit is a run of events on one antenna without a silence
    longer than `max_gap`. Nobody knows when the phone changed antennas, so a visit lasts from halfway since the event before
    to halfway to the event after, unless that silence is longer than `max_gap`; it is static when it lasts
    `min_static`. Static visits in a row, on antennas within `radius_m` of each other (003 has no such bound; `none`
    switches it off), are a session. Sessions that share an
    antenna, with at most `max_foreign` visits to other antennas between them, are one stay; those shorter than
    `min_stay` are dropped. A stay lies at the antenna with the longest connection.
    """

    min_static: Duration = parameter("10min", "shortest connection that makes an antenna static")
    max_foreign: int = parameter(3, "visits to other antennas that do not end a stay", ge=0)
    min_stay: Duration = parameter("20min", "shortest stay")
    max_gap: Duration = parameter("6h", "a longer silence ends a stay")
    radius_m: float | None = parameter(
        1000.0, "largest distance between successive antennas of one session, metres; none: no bound, as in 003", gt=0
    )
    oscillation: Duration = parameter("10min", "a phone back on its antenna within this time never left it")
    max_speed_kmh: float = parameter(200.0, "a single event that needs a higher speed is a jump", gt=0)

    def detect(self, points: pd.DataFrame) -> pd.DataFrame:
        """Stays of events sorted by person and time; columns of `odanon.staypoints.frame.STAY_COLUMNS`."""
        from odanon.staypoints import transit_kernels as kernels

        if "antenna" not in points.columns:
            raise OdanonError(
                "transit reads antenna events and these points have no column 'antenna'; use dwell for GPS"
            )
        starts, time_us = person_starts(points["person"].to_numpy()), times_us(points)
        lat, lon = points["lat"].to_numpy("float64"), points["lon"].to_numpy("float64")
        antenna = pd.factorize(points["antenna"])[0].astype("int64")
        kept = np.flatnonzero(
            kernels.plausible_events(
                starts,
                time_us,
                lat,
                lon,
                antenna,
                microseconds(self.oscillation),
                self.max_speed_kmh * _KMH_TO_METRES_PER_US,
            )
        )
        start, end, main, events = kernels.transit_stays(
            np.searchsorted(kept, starts),
            time_us[kept],
            lat[kept],
            lon[kept],
            antenna[kept],
            microseconds(self.min_static),
            microseconds(self.max_gap),
            self.max_foreign,
            inf if self.radius_m is None else self.radius_m,
            microseconds(self.min_stay),
        )
        rows = kept[main]
        stays = stay_frame(points, rows, rows, lat[rows], lon[rows], events)
        return stays.assign(start=_instants(start), end=_instants(end))


def _instants(time_us: npt.NDArray[np.int64]) -> pd.DatetimeIndex:
    return pd.DatetimeIndex(time_us.view("datetime64[us]")).tz_localize("UTC")
