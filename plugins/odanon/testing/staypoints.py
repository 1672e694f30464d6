"""Conformance of stay-point detectors."""

import numpy as np
import pandas as pd

from odanon.protocols import StayDetector
from odanon.staypoints.frame import LEFT_COLUMNS, STAY_COLUMNS, sort_points
from odanon.testing.parameters import check_parameters


def check_staypoints(plugin: StayDetector) -> None:
    """All rules for a stay-point detector."""
    check_parameters(plugin)
    name = type(plugin).__name__
    points = _walkers(people=12)
    stays = plugin.detect(points)
    columns = tuple(stays.columns)
    known = STAY_COLUMNS, STAY_COLUMNS + LEFT_COLUMNS
    assert columns in known, f"{name}: columns are {columns}, not {STAY_COLUMNS}, {LEFT_COLUMNS} after them or not"
    assert len(stays), f"{name}: finds no stay where people rest for two hours"
    assert (stays["end"] >= stays["start"]).all(), f"{name}: a stay ends before it starts"
    following = stays.groupby("person")["start"].shift(-1)
    assert not (following < stays["end"]).any(), f"{name}: stays of one person overlap or are not in order"
    spans = points.groupby("person")["time"].agg(["min", "max"])
    inside = stays.join(spans, on="person")
    assert (inside["start"] >= inside["min"]).all(), f"{name}: a stay starts before the person's first fix"
    assert (inside["end"] <= inside["max"]).all(), f"{name}: a stay ends after the person's last fix"
    _check_independence(plugin, points, stays, name)
    nobody = plugin.detect(points.iloc[:0])
    assert len(nobody) == 0, f"{name}: finds stays without points"
    assert tuple(nobody.columns) == columns, f"{name}: loses its columns without points"
    lone = points.groupby("person").head(1).reset_index(drop=True)
    assert len(plugin.detect(lone)) == 0, f"{name}: a single fix is not a stay"


def _check_independence(plugin: StayDetector, points: pd.DataFrame, stays: pd.DataFrame, name: str) -> None:
    alone = [plugin.detect(part.reset_index(drop=True)) for _, part in points.groupby("person")]
    together = pd.concat(alone, ignore_index=True)
    assert together.equals(stays.reset_index(drop=True)), f"{name}: one person's stays depend on other people"


def _walkers(people: int) -> pd.DataFrame:
    """People who rest two hours, travel five kilometres and rest again, with a fix every minute.

    The column `antenna`, for detectors of antenna events, names the nearest of a line of antennas.
    """
    rng = np.random.default_rng(1)
    minutes = np.arange(300)
    progress = np.clip((minutes - 130) / 40, 0, 1)
    frames = []
    for person in range(people):
        noise = rng.normal(0, 5e-5, (2, len(minutes)))
        start = pd.Timestamp("2026-03-02T06:00:00Z") + pd.Timedelta(minutes=person)
        frames.append(
            pd.DataFrame(
                {
                    "person": np.int64(person),
                    "time": (start + pd.to_timedelta(minutes, unit="min")).as_unit("us"),
                    "lat": 45.7 + 0.045 * progress + noise[0],
                    "lon": 4.8 + 0.01 * person + noise[1],
                    "antenna": np.round(5 * progress).astype(np.int64),
                }
            )
        )
    return sort_points(pd.concat(frames, ignore_index=True))
