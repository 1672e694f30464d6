"""How complete the recording of a person's day must be."""

from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from odanon.plugin import parameter, plugin


@plugin
class Recordings:
    """What a source of traces may be told about incomplete recordings (004 section 2.B); by default, all count."""

    min_hours: int = parameter(
        0, "people with points in fewer hours of the day than this are left out, as incompletely recorded", ge=0, le=23
    )


def completely_recorded(source: Any, points: pd.DataFrame, start: datetime, end: datetime) -> pd.DataFrame:
    """The points of people who have some in enough hours of [start, end), as the source's `min_hours` says.

    Hours are counted from the start of the day. Points before and after the day neither count nor go missing.
    """
    least = source.min_hours if isinstance(source, Recordings) else 0
    if not least:
        return points
    inside = ((points["time"] >= start) & (points["time"] < end)).to_numpy()
    hour = (points["time"][inside] - start) // pd.Timedelta(hours=1)
    person = points["person"].to_numpy()
    seen = pd.DataFrame({"person": person[inside], "hour": hour.to_numpy()}).drop_duplicates()["person"].value_counts()
    return points[np.isin(person, seen.index[seen >= least])].reset_index(drop=True)
