"""A sample of rows tells the same data again, in whatever order, type and part they come, and no other data."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.reading.origin import Sample, alike

TOLD_APART = ("time", "lat")


def rows(people: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    person = np.repeat([f"p{number}" for number in range(people)], 5)
    minute = pd.to_timedelta(rng.integers(0, 1440, len(person)), "min")
    return pd.DataFrame({"person": person, "time": pd.Timestamp("2026-03-02", tz="UTC") + minute, "lat": 45.75})


def sampled(batches: Iterable[pd.DataFrame]) -> dict[int, int]:
    sample = Sample()
    for batch in batches:
        sample.take(batch, TOLD_APART)
    return sample.rows


def items(sample: dict[int, int]) -> list[tuple[int, int]]:
    return list(sample.items())


@given(st.integers(0, 200), st.lists(st.integers(0, 1000), max_size=4), st.integers(0, 9))
def test_batches_order_types_and_repetitions_change_nothing(people: int, cuts: list[int], seed: int) -> None:
    table = rows(people)
    mixed = pd.concat([table, table.head(7)]).sample(frac=1, random_state=seed)
    mixed = mixed.astype({"person": "category", "lat": "float32"})
    mixed["time"] = mixed["time"].dt.tz_convert("Asia/Tokyo").dt.as_unit("ns")
    edges = [0, *sorted(cuts), len(mixed)]
    parts = [mixed.iloc[start:end] for start, end in pairwise(edges)]
    assert items(sampled(parts)) == items(sampled([table]))
    assert len(sampled(parts)) == min(people, 64)


def test_a_part_of_the_people_or_of_their_rows_is_alike_and_other_rows_are_not() -> None:
    table = rows(2000)
    whole = items(sampled([table]))
    half = table[table["person"].str[-1].isin(list("13579"))]
    mornings = table[table["time"].dt.hour < 12]
    for part in (half, mornings):
        assert alike(whole, items(sampled([part])))
    assert not alike(whole, items(sampled([rows(2000, seed=1)])))
    assert not alike(whole, [])


@pytest.mark.parametrize("common", [0, 15, 16])
def test_a_quarter_of_the_smaller_sample_is_enough(common: int) -> None:
    assert alike(range(64), [*range(common), *range(100, 164 - common)]) is (common == 16)
