"""Quarantine: every bad row is counted once, nothing is lost (PRIVACY rule 11)."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from odanon.errors import OdanonError
from odanon.traces.buckets import BucketWriter, finish_bucket
from odanon.traces.validate import Tally, validate

START, END = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)
NOON = pd.Timestamp("2026-03-02T12:00:00Z")


def points(**columns: list) -> pd.DataFrame:
    rows = max(len(values) for values in columns.values())
    base = {"person": ["p"] * rows, "time": [NOON] * rows, "lat": [45.0] * rows, "lon": [4.0] * rows}
    frame = pd.DataFrame({**base, **columns})
    return frame.assign(time=pd.to_datetime(frame["time"], utc=True))


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"person": [None]}, "no_person"),
        ({"person": [""]}, "no_person"),
        ({"time": [pd.NaT]}, "no_time"),
        ({"lat": [np.nan]}, "not_finite"),
        ({"lon": [np.inf]}, "not_finite"),
        ({"lat": [91.0]}, "out_of_range"),
        ({"lon": [-181.0]}, "out_of_range"),
        ({"lat": [0.0], "lon": [0.0]}, "null_island"),
        ({"time": [pd.Timestamp(0, tz="UTC")]}, "before_2000"),
        ({"time": [pd.Timestamp("2199-01-01", tz="UTC")]}, "in_the_future"),
    ],
)
def test_each_kind_of_bad_row_has_its_reason(columns: dict[str, list], reason: str) -> None:
    tally = Tally()
    assert len(validate(points(**columns), START, END, tally)) == 0
    assert tally.reasons[reason] == 1
    assert tally.quarantined == 1
    assert tally.kept == 0


def test_good_rows_are_kept_and_others_of_the_source_are_outside_the_window() -> None:
    tally = Tally()
    kept = validate(points(time=[NOON, pd.Timestamp("2026-03-03T00:00:00Z"), START]), START, END, tally)
    assert len(kept) == 2
    assert (tally.read, tally.kept, tally.outside_window, tally.quarantined) == (3, 2, 1, 0)


def test_times_without_a_zone_are_quarantined() -> None:
    frame = points(lat=[45.0, 46.0])
    frame["time"] = frame["time"].dt.tz_localize(None)
    tally = Tally()
    assert len(validate(frame, START, END, tally)) == 0
    assert (tally.read, tally.reasons["no_time_zone"], tally.kept) == (2, 2, 0)


def test_a_missing_column_is_named() -> None:
    with pytest.raises(OdanonError, match="no column 'lat'"):
        validate(points(lat=[1.0]).drop(columns="lat"), START, END, Tally())


def test_buckets_hold_whole_people_without_repeats_whatever_the_order(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = points(lat=list(rng.normal(45, 1, 60))).assign(person=rng.integers(0, 9, 60))
    frame["time"] = NOON + pd.to_timedelta(rng.integers(0, 1000, 60), unit="s").as_unit("us")
    twice = pd.concat([frame, frame.sample(frac=1, random_state=1)])
    written = []
    for number, rows in enumerate((twice, twice.iloc[::-1])):
        folder = tmp_path / str(number)
        folder.mkdir()
        with BucketWriter(folder, 4) as writer:
            for part in np.array_split(np.arange(len(rows)), 3):
                writer.write(rows.iloc[part])
        targets = [path.with_suffix(".parquet") for path in writer.paths]
        counts = [finish_bucket(stream, target) for stream, target in zip(writer.paths, targets, strict=True)]
        assert sum(repeated for repeated, _ in counts) == 60
        assert sum(people for _, people in counts) == frame["person"].nunique()
        written.append([target.read_bytes() for target in targets])
    assert written[0] == written[1]
