"""What the PostGIS store works out of a release for its functions when it takes it in, from public tables alone."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from odanon.model.release import REST
from odanon.model.window import told_times
from odanon.reconstruct.answers.along import pulses
from odanon.reconstruct.answers.nesting import rests_around
from odanon.reconstruct.nested import Ints
from odanon_assets.stores.bundle import Bundle


def rests_in(bundle: Bundle) -> Ints | None:
    """The first row of the rest directly around every row, -1 for none; None for a release without rests."""
    if not (bundle.flows["kind"] == REST).any():
        return None
    return rests_around(bundle.flows, bundle.zones, told_times(bundle.manifest))


def pulse_rows(bundle: Bundle, release_no: int, zone_no: pd.Series) -> pa.Table:
    """What leaves and enters areas over time, where rows are of several bins."""
    table = pulses(bundle.flows, bundle.zones, told_times(bundle.manifest))
    instant = pa.timestamp("us", tz="UTC")
    return pa.table(
        {
            "release_no": np.full(len(table), release_no),
            "zone_no": zone_no.loc[table["zone_id"]].to_numpy(),
            "side": pa.array(table["side"], pa.string()),
            "time_start": pa.array(table["time_start"], instant),
            "time_end": pa.array(table["time_end"], instant),
            # Python writes the shortest text that reads back as the same number.
            "trips": [repr(value) for value in table["trips"].tolist()],
        }
    )


def clock(manifest: Mapping[str, Any]) -> tuple[list[datetime] | None, list[float] | None]:
    """Starts and ends of time bins and how much of them has passed by then, where that is not what a clock says."""
    if (times := told_times(manifest)) is None:
        return None, None
    moments = [moment for each in zip(times.start, times.end, strict=True) for moment in each]
    return moments, times.length([moments[0]] * len(moments), moments).tolist()
