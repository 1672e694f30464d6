"""Times of a table: instants of any kind are cut by a local clock, right on days of 23 and 25 hours."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import h3
import numpy as np
import pandas as pd
import pytest

from odanon.errors import OdanonError
from odanon.tables.read import TableInput
from odanon.tables.times import cut, over_bins, parse_bins, refuse_thin_ends

CELL = h3.latlng_to_cell(45.75, 4.85, 8)
PARIS = ZoneInfo("Europe/Paris")


def table(folder: Path, times: list[Any], **options: Any) -> TableInput:
    frame = pd.DataFrame({"origin": CELL, "destination": CELL, "at": times})
    frame.to_csv(folder / "od.csv", index=False)
    return TableInput(path=folder / "od.csv", **{"time": "at", "bin": "1h", "timezone": "Europe/Paris", **options})


def starts(source: TableInput) -> dict[str, int]:
    """The trips of every bin by the local clock at which it starts."""
    found = {}
    for name, od in source.load().matrices.items():
        start = pd.Timestamp(name.split("/")[0]).tz_convert(source.zone)
        found[f"{start:%m-%d %H:%M%z}"] = od.volume
    return found


@pytest.mark.parametrize(
    "times",
    [
        ["2026-03-02T08:15", "2026-03-02T08:59:59", "2026-03-02T09:00"],
        ["2026-03-02 08:15:00", "2026-03-02 08:59:59", "2026-03-02 09:00:00"],
        ["2026-03-02T07:15Z", "2026-03-02T07:59:59Z", "2026-03-02T08:00Z"],
        ["2026-03-02T07:15:00Z", "2026-03-02T08:59:59+01:00", "2026-03-02T03:00:00-05:00"],
        ["2026-03-02T08:15:00", "2026-03-02T08:59:59+01:00", "2026-03-02T08:00:00Z"],
        ["02.03.2026 08:15", "02.03.2026 08:59", "02.03.2026 09:00"],
        ["2026/03/02 08:15:00", "2026/03/02 08:59:59", "2026/03/02 09:00:00"],
        ["2026/03/02 08:15:00 AM", "2026/03/02 08:59:59 am", "2026/03/02 09:00:00 AM"],
        [1772435700, 1772438399, 1772438400],
        [1772435700000, 1772438399000, 1772438400000],
    ],
    ids=["naive", "blank", "utc", "offsets", "mixed", "german", "slashes", "halves", "seconds", "milliseconds"],
)
def test_instants_of_any_kind_are_cut_by_the_local_clock(tmp_path: Path, times: list[Any]) -> None:
    assert starts(table(tmp_path, times)) == {"03-02 08:00+0100": 2, "03-02 09:00+0100": 1}


def test_typed_columns_are_cut_alike(tmp_path: Path) -> None:
    naive = pd.to_datetime(["2026-03-02T08:15:00", "2026-03-02T08:59:59", "2026-03-02T09:00:00"])
    for at in (naive, naive.tz_localize(PARIS), naive.tz_localize(PARIS).tz_convert("Asia/Tokyo"), naive.astype(str)):
        pd.DataFrame({"origin": CELL, "destination": CELL, "at": at}).to_parquet(tmp_path / "od.parquet")
        source = replace(table(tmp_path, []), path=tmp_path / "od.parquet")
        assert starts(source) == {"03-02 08:00+0100": 2, "03-02 09:00+0100": 1}


def test_dates_alone_are_days_and_nothing_finer(tmp_path: Path) -> None:
    days = ["2026-03-02", "2026-03-02", "2026-03-03"]
    assert starts(table(tmp_path, days, bin="day")) == {"03-02 00:00+0100": 2, "03-03 00:00+0100": 1}
    with pytest.raises(OdanonError, match="holds days without a time; use --bin day"):
        table(tmp_path, days).load()


def test_days_and_months_that_may_be_either_are_asked_about(tmp_path: Path) -> None:
    with pytest.raises(OdanonError, match="may begin with the day or with the month") as refused:
        table(tmp_path, ["02/03/2026", "04/03/2026"], bin="day").load()
    assert "--csv-set 'time=%d/%m/%Y' or --csv-set 'time=%m/%d/%Y'" in str(refused.value)
    told = table(tmp_path, ["02/03/2026", "04/03/2026"], bin="day", csv={"time": "%m/%d/%Y"})
    assert list(starts(told)) == ["02-03 00:00+0100", "04-03 00:00+0200"]
    assert list(starts(table(tmp_path, ["02/03/2026", "14/03/2026"], bin="day"))) == [
        "03-02 00:00+0100",
        "03-14 00:00+0100",
    ]


@pytest.mark.parametrize("gap", ["", "NULL", "n/a", " "])
def test_a_missing_time_makes_no_names_of_instants(tmp_path: Path, gap: str) -> None:
    source = table(tmp_path, ["2026-03-02T08:15", gap, "2026-03-02T09:00"], drop_missing=True)
    assert starts(source) == {"03-02 08:00+0100": 1, "03-02 09:00+0100": 1}


def test_hours_of_a_day_are_cut_as_well(tmp_path: Path) -> None:
    found = table(tmp_path, [0, 2, 3, 23], bin="3h", timezone=None).load().matrices
    assert [od.volume for od in found.values()] == [2, 1, 1]


@pytest.mark.parametrize(("bins", "spring", "autumn"), [("1h", 23, 25), ("3h", 8, 8), ("day", 1, 1)])
def test_days_of_other_lengths_have_the_bins_of_their_clock(bins: str, spring: int, autumn: int) -> None:
    length = parse_bins("--bin", bins)
    for day, count in (("2026-03-29", spring), ("2026-10-25", autumn)):
        noon = pd.Series(pd.to_datetime([f"{day}T12:00"]).tz_localize(PARIS))
        found = cut(noon, PARIS, length, "it").times
        assert len(found) == count
        assert found.end[-1] - found.start[0] == timedelta(hours=23 if day == "2026-03-29" else 25)


@pytest.mark.parametrize("zone", ["Europe/Paris", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"])
@pytest.mark.parametrize("bins", ["15min", "1h", "day", "00:00,06:30,18:45"])
def test_every_moment_lies_in_the_bin_that_a_search_finds(zone: str, bins: str) -> None:
    rng = np.random.default_rng(3)
    at = np.datetime64("2026-03-01T00:00", "us") + rng.integers(0, 60 * 86_400 * 10**6, 500).astype("timedelta64[us]")
    edge = pd.Timestamp("2026-04-05", tz=zone).tz_convert(None).to_datetime64()
    at = np.concatenate([at, [edge, edge - np.timedelta64(1, "us")]])
    found = cut(pd.Series(at).dt.tz_localize("UTC"), ZoneInfo(zone), parse_bins("--bin", bins), "a table")
    start, end = (pd.DatetimeIndex(each).tz_convert(None) for each in (found.times.start, found.times.end))
    assert ((start[found.number] <= at) & (at < end[found.number])).all()


@pytest.mark.parametrize(
    ("zone", "times", "days"),
    [
        ("America/St_Johns", ["2010-11-06T12:00Z", "2010-11-07T03:00Z"], 1),  # at 00:01 it was 23:01 again
        ("America/St_Johns", ["2010-11-07T02:30:30Z", "2010-11-07T03:00:00Z"], 2),  # the other way round
        ("Pacific/Fakaofo", ["2011-12-29T12:00Z", "2011-12-31T12:00Z"], 2),  # which had no 30 December
    ],
)
def test_days_that_begin_twice_or_never_are_no_obstacle(zone: str, times: list[str], days: int) -> None:
    instants = pd.Series(pd.to_datetime(times, utc=True)).dt.as_unit("us")
    found = cut(instants, ZoneInfo(zone), timedelta(hours=1), "od.csv")
    clocks = [found.times.clock[number] for number in found.number]
    assert len({clock.date() for clock in clocks}) == days
    assert clocks[0].hour == instants.dt.tz_convert(zone)[0].hour


def test_stray_days_are_told_with_those_that_most_rows_are_of() -> None:
    days = ["2008-12-31T12:00Z", *["2024-01-05T12:00Z", "2024-02-01T12:00Z"] * 5, "2025-03-01T12:00Z"]
    instants = pd.Series(pd.to_datetime(days, utc=True)).dt.as_unit("us")
    told = "on 5,905 days from 2008-12-31 to 2025-03-01, and at most 366 .* all but 2 of 12 rows lie on 2024-01-05 to 2024-02-01"
    with pytest.raises(OdanonError, match=told):
        cut(instants, PARIS, timedelta(days=1), "od.csv")


def test_a_moment_that_the_clock_repeats_is_told_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert starts(table(tmp_path, ["2026-10-25T02:30", "2026-10-25T04:00"]))["10-25 02:00+0200"] == 1
    assert "1 times are shown twice or never by the clock of Europe/Paris" in caplog.text
    told = ["2026-10-25T02:30+02:00", "2026-10-25T02:30+01:00"]
    assert starts(table(tmp_path, told)) == {"10-25 02:00+0200": 1, "10-25 02:00+0100": 1}


def test_adaptive_bins_are_one_matrix_over_all_bins_of_the_days(tmp_path: Path) -> None:
    times = ["2026-03-02T08:15", "2026-03-02T08:59:59", "2026-03-03T09:00"]
    (od,) = table(tmp_path, times, adaptive=True).load().matrices.values()
    assert od.times is not None
    assert len(od.times) == 48
    assert od.time is not None
    assert od.time.tolist() == [8, 24 + 9]
    refuse_thin_ends(od, 1)
    with pytest.raises(OdanonError, match="fewer than 2 travelled on the first or the last day"):
        refuse_thin_ends(od, 2)


def test_flows_of_intervals_are_spread_over_named_bins_by_their_length() -> None:
    edges = ["2026-03-02T06:00:00+00:00", "2026-03-02T07:00:00+00:00", "2026-03-02T09:00:00+00:00"]
    flows = pd.DataFrame(
        {"trips": [30], "time_start": pd.to_datetime(edges[:1]), "time_end": pd.to_datetime(edges[2:])}
    )
    names = ["/".join(edges[:2]), "/".join(edges[1:])]
    assert over_bins(flows, names)[["time", "trips"]].to_dict("list") == {"time": names, "trips": [10, 20]}


@pytest.mark.parametrize(
    ("times", "options", "sentence"),
    [
        (["morning", "evening"], {}, "holds no instants of one kind"),
        (
            ["2026-03-02T08:15", "02.03.26 8:15"],
            {},
            "or say how all are written, such as --csv-set 'time=%d.%m.%y %H:%M'",
        ),
        (["2026-03-02T08:15"] * 2, {"bin": "7h"}, "--bin 7h: write a length that divides a day"),
        (["2026-03-02T08:15"] * 2, {"timezone": "Paris"}, "--timezone Paris: use an IANA time zone"),
        (["2026-03-02T08:15", "2029-03-02T08:15"], {}, "the times lie on 1,097 days"),
        (["2026-03-02T08:15"] * 2, {"time": None}, "--bin cuts time and no column tells it"),
    ],
)
def test_mistakes_get_a_sentence(tmp_path: Path, times: list[str], options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(OdanonError) as refused:
        table(tmp_path, times, **options).load()
    assert sentence in str(refused.value)


def test_raw_instants_are_not_one_matrix_each(tmp_path: Path) -> None:
    for moments, apart in ((9000, 7), (2, 7), (9000, 900)):
        at = (pd.Timestamp("2026-03-02") + pd.to_timedelta(np.arange(moments) * apart, unit="s")).astype(str)
        with pytest.raises(
            OdanonError, match=f"has {moments:,} different values, and each would be a time bin; cut instants"
        ):
            table(tmp_path, list(at), bin=None, timezone="UTC").load()


def test_instants_on_the_clock_may_be_bins(tmp_path: Path) -> None:
    at = ["2026-03-02T08:00", "2026-03-02T08:15", "2026-03-02T08:15"]
    found = table(tmp_path, at, bin=None).load().matrices
    assert [od.volume for od in found.values()] == [1, 2]


def test_names_of_bins_are_taken_as_they_are(tmp_path: Path) -> None:
    found = table(tmp_path, ["morning", "evening", "morning"], bin=None).load().matrices
    assert {name: od.volume for name, od in found.items()} == {"evening": 1, "morning": 2}
