"""Traces of a few fixes on a line, and stays as minutes."""

from datetime import timedelta

import numpy as np
import pandas as pd

START = pd.Timestamp("2026-03-02T08:00:00Z").as_unit("us")
METRE = 1 / 111_195  # degrees of latitude


def fixes(*steps: tuple[float, float], person: int = 1) -> pd.DataFrame:
    """Points from (minute, metres north) steps."""
    minutes, metres = zip(*steps, strict=True)
    return pd.DataFrame(
        {
            "person": np.int64(person),
            "time": START + pd.to_timedelta(np.array(minutes) * 60.0, unit="s").as_unit("us"),
            "lat": 45.0 + np.array(metres, dtype=float) * METRE,
            "lon": 4.0,
        }
    )


def minute(time: pd.Timestamp) -> float:
    return (time - START) / timedelta(minutes=1)


def spans(stays: pd.DataFrame) -> list[tuple[float, float]]:
    """(first, last) minute of every stay."""
    return [(minute(row.start), minute(row.end)) for row in stays.itertuples()]


def metres(stays: pd.DataFrame) -> list[float]:
    """How far north every stay lies."""
    return [float(value) for value in ((stays["lat"] - 45.0) / METRE).round(3)]
