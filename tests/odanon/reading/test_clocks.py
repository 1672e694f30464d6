"""Wall-clock times of a file in the zone whose clock showed them, fast where that has one offset throughout."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from odanon.reading.child.columns import Converter

ZONES = ["Europe/Paris", "Australia/Lord_Howe", "America/St_Johns", "Africa/Casablanca", "Asia/Kathmandu", "UTC"]
hours = st.lists(st.integers(0, 90 * 60), max_size=20)  # minutes


@given(st.sampled_from(ZONES), st.datetimes(datetime(2019, 1, 1), datetime(2027, 1, 1)), hours, st.booleans())
@example("Europe/Paris", datetime(2026, 3, 29), [0, 119, 120, 150, 179, 180], False)
@example("Europe/Paris", datetime(2026, 10, 25), [0, 119, 120, 150, 179, 180], True)
@example("Australia/Lord_Howe", datetime(2026, 4, 5), [60, 89, 90, 119, 120, 200], False)
@example("Europe/Paris", datetime(2026, 3, 2), [0, 60, 6000], True)
def test_times_are_those_that_the_clock_showed(zone: str, day: datetime, minutes: list[int], missing: bool) -> None:
    walls = [day + timedelta(minutes=after) for after in minutes] + [None] * missing
    job = [{"name": "time", "source": "t", "kind": "time"}]
    raw = pa.record_batch({"t": pa.array([wall and wall.isoformat() for wall in walls], pa.string())})
    found = Converter(job, zone, "auto").convert(raw, 0, None)
    for wall, time, unclear in zip(walls, *(column.to_pylist() for column in found.columns), strict=True):
        if wall is None:
            assert (time, unclear) == (None, False)
            continue
        ways = {wall.replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC) for fold in (0, 1)}
        assert unclear == (len(ways) > 1)
        assert unclear or {time} == ways


def test_a_batch_that_begins_and_ends_in_winter_has_a_summer() -> None:
    walls = ["2026-01-10T12:00:00", "2026-07-01T12:00:00", "2026-12-10T12:00:00"]
    raw = pa.record_batch({"t": pa.array(walls, pa.string())})
    found = Converter([{"name": "time", "source": "t", "kind": "time"}], "Europe/Paris", "auto").convert(raw, 0, None)
    assert [time.hour for time in found.column(0).to_pylist()] == [11, 10, 11]


@pytest.mark.parametrize("wall", ["0001-01-01T00:00:00", "9999-12-31T23:59:59"])
def test_times_at_the_ends_of_all_years_are_no_obstacle(wall: str) -> None:
    raw = pa.record_batch({"t": pa.array([wall], pa.string())})
    found = Converter([{"name": "time", "source": "t", "kind": "time"}], "UTC", "auto").convert(raw, 0, None)
    assert (
        found.column(0).cast(pa.int64())[0].as_py() == pa.scalar(datetime.fromisoformat(wall)).cast(pa.int64()).as_py()
    )
