"""The local engine: bounded look-ahead, and bucket files that depend on nothing but the points."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odanon.engines.local import Local
from odanon.engines.points import bucket_name
from odanon.errors import OdanonError

START = pd.Timestamp("2026-03-02", tz="UTC").as_unit("us")


def points(rows: list[tuple[int, int, int]], antenna: bool = False) -> pd.DataFrame:
    """(person, second, place) as a frame; places are close together."""
    person, second, place = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    frame = pd.DataFrame(
        {
            "person": person,
            "time": START + pd.to_timedelta(second, unit="s"),
            "lat": 45 + place / 1000,
            "lon": 4 + (place % 2) / 1000,
        }
    )
    return frame.assign(antenna=place.astype(np.int32)) if antenna else frame


def shuffle(batches: list[pd.DataFrame], folder: Path, buckets: int = 3, workers: int = 2) -> tuple:
    folder.mkdir(exist_ok=True)
    engine = Local(buckets=buckets, workers=workers)
    return engine.shuffle([batches], iter, lambda batch: (batch, len(batch)), folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=60)


@settings(max_examples=1000 if os.environ.get("ODANON_STRESS") else 8)
@given(rows=ROWS, cut=st.integers(0, 60), seed=st.integers(0, 9), antenna=st.booleans())
def test_files_do_not_depend_on_order_batches_repeats_or_threads(
    tmp_path_factory: pytest.TempPathFactory, rows: list, cut: int, seed: int, antenna: bool
) -> None:
    folder = tmp_path_factory.mktemp("shuffle")
    frame = points(rows, antenna)
    shuffle([frame], folder / "once", workers=1)
    mixed = pd.concat([frame, frame.iloc[: cut // 2]]).sample(frac=1, random_state=seed)
    parts = [part for part in (mixed.iloc[:cut], mixed.iloc[cut:]) if len(part)]
    tallies, collected = shuffle(parts, folder / "again", workers=3)
    assert contents(folder / "once") == contents(folder / "again")
    assert sum(tallies) == len(mixed)
    assert sum(c.kept + c.repeated + c.swapped + c.teleport for c in collected) == len(mixed)


@given(rows=ROWS)
def test_buckets_hold_whole_people_sorted_and_without_repeats(
    tmp_path_factory: pytest.TempPathFactory, rows: list
) -> None:
    folder = tmp_path_factory.mktemp("shuffle")
    _, collected = shuffle([points(rows)], folder)
    expected = points(rows).drop_duplicates().sort_values(["person", "time", "lat", "lon"])
    for number, done in enumerate(collected):
        found = pd.read_parquet(folder / bucket_name(number))
        mine = expected[expected["person"] % 3 == number].reset_index(drop=True)
        pd.testing.assert_frame_equal(found, mine)
        assert (done.people, done.kept) == (mine["person"].nunique(), len(mine))


def test_a_teleport_is_dropped_and_counted(tmp_path: Path) -> None:
    far = points([(1, 0, 0), (1, 60, 0), (1, 120, 0)])
    far.loc[1, "lat"] = -30.0
    _, (done,) = shuffle([far], tmp_path, buckets=1)
    assert (done.kept, done.swapped + done.teleport) == (2, 1)


def test_every_bucket_has_the_columns_of_the_source(tmp_path: Path) -> None:
    shuffle([points([(0, 1, 1)], antenna=True)], tmp_path)
    names = [pq.read_schema(tmp_path / bucket_name(number)).names for number in range(3)]
    assert names == [["person", "time", "lat", "lon", "antenna"]] * 3


def test_antennas_by_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OdanonError, match="antennas that are not numbers"):
        shuffle([points([(0, 1, 1)]).assign(antenna="north")], tmp_path)


def test_only_a_few_items_are_held_at_a_time() -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for number in range(100):
            taken += 1
            yield number

    results = Local(workers=2).map(lambda n: n * n, items())
    assert [next(results) for _ in range(10)] == [n * n for n in range(10)]
    assert taken <= 10 + 2 * 2 + 1
    assert list(results)[-1] == 99 * 99


def test_nothing_but_buckets_is_left_in_the_folder(tmp_path: Path) -> None:
    shuffle([points([(0, 1, 1), (1, 1, 1)])], tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {bucket_name(number) for number in range(3)}
