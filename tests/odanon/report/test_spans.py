"""Rows of longer times in the report: shown in every bin of theirs, with what time they are told for."""

import pandas as pd
import pytest

from odanon.report.encode import encode_release

DAY = pd.Timestamp("2026-03-10", tz="Europe/Paris").tz_convert("UTC")


def in_time(flows: pd.DataFrame) -> pd.DataFrame:
    """The same flows, some told for half a day."""
    start = flows["time_start"].where(flows.index % 3 > 0, DAY)
    end = flows["time_end"].where(flows.index % 3 > 0, DAY + pd.Timedelta(hours=12))
    return flows.assign(time_start=start, time_end=end)


def test_rows_of_a_longer_time_are_spread_evenly_over_its_bins(small_release):
    flows, zones, release = small_release
    told = in_time(flows)
    data = encode_release(told, zones, release["timezone"])
    rows = pd.DataFrame(data["flows"])
    assert rows["trips"].sum() == pytest.approx(told["trips"].sum(), rel=1e-3)
    label = [each["label"] for each in data["bins"]]
    assert label == sorted(label)
    half = data["spans"].index("00:00–12:00")
    mine = rows[rows["span"] == half]
    inside = [label[number] < "12:00" for number in mine["bin"]]
    assert all(inside)
    assert mine["trips"].sum() == pytest.approx(told.loc[told.index % 3 == 0, "trips"].sum(), rel=1e-3)


def test_rows_of_single_bins_are_as_they_were(small_release):
    flows, zones, release = small_release
    data = encode_release(flows, zones, release["timezone"])
    assert "spans" not in data
    assert "span" not in data["flows"]
    assert len(data["flows"]["trips"]) == len(flows)
