"""Homes and workplaces from stays; segments and weights of people; the typical working day."""

from datetime import date, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.errors import OdanonError
from odanon.product.sections import Calendar
from odanon.trips.days import od_rows_of_days, typical_day
from odanon.trips.homes import HOME_WORK_COLUMNS, Hours, home_work
from odanon.trips.od import pair_table
from odanon.trips.people import expansion_weights, given_weights, segment_labels

PARIS = ZoneInfo("Europe/Paris")
CALENDAR = Calendar(holidays=[date(2026, 3, 4)])  # a Wednesday


def stays(*rows: tuple[int, int, str, str]) -> pd.DataFrame:
    """(person, place, start, end) in Paris time; place n lies at latitude 45 + n."""
    person, place, start, end = zip(*rows, strict=True)
    moment = {"start": start, "end": end}
    frame = pd.DataFrame({"person": np.array(person, np.int64), "place": np.array(place, np.int64)})
    for name, texts in moment.items():
        frame[name] = pd.to_datetime(pd.Series(texts)).dt.tz_localize(PARIS).dt.tz_convert("UTC").dt.as_unit("us")
    return frame.assign(lat=45.0 + frame["place"], lon=4.0)


def found(frame: pd.DataFrame, min_days: int = 1) -> pd.DataFrame:
    return home_work(
        frame,
        PARIS,
        night=Hours(time(21), time(7)),
        work=Hours(time(9), time(17)),
        min_stay=timedelta(hours=2),
        min_days=min_days,
        is_working=CALENDAR.is_working,
    )


def test_home_is_where_the_nights_are_and_work_where_the_days_are() -> None:
    day = found(
        stays(
            (1, 0, "2026-03-01 20:00", "2026-03-02 08:00"),
            (1, 1, "2026-03-02 08:30", "2026-03-02 17:00"),
            (1, 0, "2026-03-02 18:00", "2026-03-03 07:30"),
            (2, 5, "2026-03-02 10:00", "2026-03-02 16:00"),
        )
    )
    assert tuple(day.columns) == HOME_WORK_COLUMNS
    assert day.loc[0, ["home_lat", "home_days", "work_lat", "work_days"]].tolist() == [45, 2, 46, 1]
    assert np.isnan(day.loc[1, "home_lat"])
    assert day.loc[1, "work_lat"] == 50


def test_most_nights_count_more_than_the_longest_one() -> None:
    nights = stays(
        (1, 0, "2026-03-02 23:00", "2026-03-03 03:00"),
        (1, 0, "2026-03-03 23:00", "2026-03-04 03:00"),
        (1, 1, "2026-03-04 20:00", "2026-03-05 09:00"),
    )
    assert found(nights)["home_lat"].tolist() == [45]
    assert np.isnan(found(nights, min_days=3)["home_lat"].iloc[0])


def test_a_day_at_home_is_not_work_and_a_holiday_has_no_work() -> None:
    frame = stays(
        (1, 0, "2026-03-03 20:00", "2026-03-05 08:00"),
        (2, 1, "2026-03-04 09:00", "2026-03-04 17:00"),
    )
    assert np.isnan(found(frame)["work_lat"]).all()


def test_a_short_visit_at_night_is_no_home() -> None:
    assert np.isnan(found(stays((1, 0, "2026-03-02 22:00", "2026-03-02 23:30")))["home_lat"].iloc[0])


def test_no_stays_no_homes() -> None:
    assert len(found(stays((1, 0, "2026-03-02 22:00", "2026-03-03 03:00")).iloc[:0])) == 0


def test_segments_join_attributes_and_name_what_is_missing() -> None:
    table = pd.DataFrame({"sex": ["female", None], "age_band": ["25-44", "65+"]})
    assert segment_labels(table).tolist() == ["female/25-44", "unknown/65+"]
    assert segment_labels(table[[]]).tolist() == ["all", "all"]


@given(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=40))
def test_expanded_weights_add_up_to_the_inhabitants_of_every_zone_with_people(homes: list) -> None:
    inhabitants = pd.Series({"a": 1000, "b": 30})
    weight = expansion_weights(np.array(homes, dtype=object), inhabitants, otherwise=0.5)
    for zone, people in inhabitants.items():
        mine = weight[[home == zone for home in homes]]
        assert mine.sum() == pytest.approx(people) or len(mine) == 0
    assert all(w == 0.5 for w, home in zip(weight, homes, strict=True) if home in ("c", None))


def test_bad_tables_of_weights_are_refused() -> None:
    homes = np.array(["a"], dtype=object)
    with pytest.raises(OdanonError, match="names a zone twice"):
        expansion_weights(homes, pd.Series([1, 2], index=["a", "a"]), 1.0)
    with pytest.raises(OdanonError, match="missing or negative"):
        expansion_weights(homes, pd.Series([-1.0], index=["a"]), 1.0)
    with pytest.raises(OdanonError, match="has a negative or infinite weight"):
        given_weights(pd.Series([1.0, -2.0]))
    assert given_weights(pd.Series([2.5, None])).tolist() == [2.5, 1.0]


def test_the_typical_working_day_skips_weekends_and_holidays_and_counts_people_once() -> None:
    """One trip at 08:10 on each of seven days, across the change to summer time."""
    days = pd.date_range("2026-03-25 08:10", periods=7, tz=PARIS)
    trips = pd.DataFrame({"person": 1, "start": days.tz_convert("UTC").as_unit("us")})
    place = np.full(len(days), "x", dtype=object)
    rows = od_rows_of_days(trips, place, place, PARIS, timedelta(hours=1))
    assert len(rows) == 7
    calendar = Calendar(holidays=[date(2026, 3, 30)])
    typical, count = typical_day(rows, PARIS, calendar.is_working)
    assert count == 4  # Wednesday to Friday, and Tuesday
    assert typical[["time_bin", "trips"]].values.tolist() == [["08:00", 4]]
    assert pair_table(typical)["persons"].tolist() == [1]
