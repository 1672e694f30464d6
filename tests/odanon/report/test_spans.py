"""Rows of longer times in the report: shown in every bin of theirs, with what time they are told for."""

import re

import pandas as pd
import pytest

from odanon.report.encode import encode_release
from odanon.report.release import render_release

DAY = pd.Timestamp("2026-03-10", tz="Europe/Paris").tz_convert("UTC")


def in_time(flows: pd.DataFrame) -> pd.DataFrame:
    """The same flows, some told for half a day."""
    start = flows["time_start"].where(flows.index % 3 > 0, DAY)
    end = flows["time_end"].where(flows.index % 3 > 0, DAY + pd.Timedelta(hours=12))
    return flows.assign(time_start=start, time_end=end)


SPREAD = """setTimeout(() => {
  const {flows} = odanon.inBins(JSON.parse(document.getElementById("data").textContent));
  document.body.append(Object.assign(document.createElement("pre"), {id: "probe", textContent: JSON.stringify(flows)}));
}, 900);"""


def test_rows_of_a_longer_time_are_spread_evenly_over_its_bins(small_release, probe):
    flows, zones, release = small_release
    told = in_time(flows)
    data = encode_release(told, zones, release["timezone"])
    assert len(data["flows"]["trips"]) == len(told)
    label = [each["label"] for each in data["bins"]]
    assert label == sorted(label)
    rows = pd.DataFrame(probe(render_release(told, zones, release), SPREAD))
    assert rows["trips"].sum() == pytest.approx(told["trips"].sum())
    mine = rows[rows["span"] == data["spans"].index("00:00–12:00")]
    assert mine["trips"].sum() == pytest.approx(told.loc[told.index % 3 == 0, "trips"].sum())
    by_bin = mine.groupby("bin")["trips"].sum()
    assert [label[number] for number in by_bin.index] == [each for each in label if each < "12:00"]
    hours = pd.Series(data["seconds"])[by_bin.index] / 3600
    assert by_bin.to_numpy() == pytest.approx(mine["trips"].sum() * hours.to_numpy() / 12)


def test_bins_of_different_lengths_say_how_long_they_are(small_release):
    flows, zones, release = small_release
    start, noon = flows["time_start"].min(), DAY + pd.Timedelta(hours=12)
    early = flows["time_start"] < noon
    told = flows.assign(time_start=flows["time_start"].mask(early, start), time_end=flows["time_end"].mask(early, noon))
    bins = encode_release(told, zones, release["timezone"])["bins"]
    assert bins[0]["hours"] == (noon - start) / pd.Timedelta(hours=1)
    assert all("hours" not in each for each in encode_release(flows, zones, release["timezone"])["bins"])


PROBE = """setTimeout(() => {
  const said = (id) => document.querySelector(`#${id} svg`).getAttribute("aria-label");
  const seen = {flows: said("flow-sizes"), text: document.querySelector(".lead").textContent};
  document.body.append(Object.assign(document.createElement("pre"), {id: "probe", textContent: JSON.stringify(seen)}));
}, 900);"""


def test_plots_count_rows_as_they_are_published(small_release, probe):
    flows, zones, release = small_release
    told = in_time(flows)
    seen = probe(render_release(told, zones, release), PROBE)
    counted = [int(number.replace(",", "")) for number in re.findall(r"flows ([\d,]+)", seen["flows"])]
    assert sum(counted) == len(told)
    assert re.search(r"different stretches of time", seen["text"])
    assert "areas or times were enlarged" in seen["text"]


def test_rows_of_single_bins_are_as_they_were(small_release):
    flows, zones, release = small_release
    data = encode_release(flows, zones, release["timezone"])
    assert "spans" not in data
    assert "span" not in data["flows"]
    assert len(data["flows"]["trips"]) == len(flows)


def test_rows_of_types_of_days_are_spread_by_the_days_behind_them(small_release, probe):
    flows, zones, release = small_release
    kinds = (("working", 2, 4), ("saturday", 7, 1), ("sunday_holiday", 8, 0))
    bins = [
        {
            "time_bin": f"2026-03-0{day}T{hour:02}:00:00+00:00",
            "time_end": f"2026-03-0{day}T{hour + 11}:59:59+00:00",
            "day_type": kind,
            "since": f"{hour:02}:00",
            "until": f"{hour + 12}:00",
            "days": days,
        }
        for kind, day, days in kinds
        for hour in (0, 12)
    ]
    moment = {each["time_bin"]: pd.Timestamp(each["time_bin"]) for each in bins}
    first, last = moment[bins[0]["time_bin"]], pd.Timestamp(bins[3]["time_end"])
    noon = moment[bins[1]["time_bin"]]
    whole = flows.index % 2 == 0
    told = flows.assign(
        time_start=flows["time_start"].mask(whole, first).where(whole, noon),
        time_end=flows["time_end"].mask(whole, last).where(whole, pd.Timestamp(bins[1]["time_end"])),
    )
    data = encode_release(told, zones, release["timezone"], bins)
    assert data["spans"] == ["working days, Saturdays", "working days 12:00–24:00"]
    assert [each["label"] for each in data["bins"]] == [
        "working days 00:00–12:00",
        "working days 12:00–24:00",
        "Saturdays 00:00–12:00",
        "Saturdays 12:00–24:00",
    ]
    assert [each["hours"] for each in data["bins"]] == [48, 48, 12, 12]  # on all of their days
    rows = pd.DataFrame(probe(render_release(told, zones, {**release, "bins": bins}), SPREAD))
    by_bin = rows[rows["span"] == 0].groupby("bin")["trips"].sum()
    assert by_bin.to_numpy() == pytest.approx(told.loc[whole, "trips"].sum() * pd.Series([4, 4, 1, 1]) / 10)
