"""The fast ways of making a matrix beside plain ones: one key a row instead of several, categories instead of texts."""

from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.errors import OdanonError
from odanon.model import matrix
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix

TREE = Hierarchy.from_parents(["a", "b", "c", "root"], [3, 3, 3, -1], kind="table")
rows = st.lists(
    st.tuples(
        st.sampled_from("abc"), st.sampled_from("abc"), st.sampled_from(["p9", "p10", "é", "z"]), st.integers(0, 4)
    ),
    max_size=30,
)


@given(rows, st.sampled_from(["trips", "a row a trip", "weights"]), st.booleans(), st.sampled_from([1, 3, 1 << 18]))
def test_sums_are_those_of_plain_groups(
    table: list[tuple[str, str, str, int]], kind: str, large: bool, at_a_time: int
) -> None:
    """By one number a row, and where the keys are too large for that."""
    keys = [np.array([hash(row[at]) % 7 for row in table], np.int64) for at in (2, 1, 0)]
    keys = [key * 2**30 for key in keys] if large else keys
    trips = np.array([1 if kind == "a row a trip" else row[3] + 1 for row in table], np.int64)
    weights = trips / 3 if kind == "weights" else None
    with mock.patch.object(matrix, "_CHUNK", at_a_time):
        found, totals, weighed = matrix._summed([*map(matrix._Key, keys)], trips, weights)
    frame = pd.DataFrame({"a": keys[0], "b": keys[1], "c": keys[2], "trips": trips, "weight": trips / 3})
    plain = frame.groupby(["c", "b", "a"], as_index=False)[["trips", "weight"]].sum()
    for key, name in zip(found, "abc", strict=True):
        assert key.tolist() == plain[name].tolist()
    assert totals.tolist() == plain["trips"].tolist()
    assert (weighed is None) == (weights is None)
    assert weighed is None or np.allclose(weighed, plain["weight"], rtol=1e-15)


def test_a_small_matrix_keeps_no_large_memory() -> None:
    key = np.arange(1000) % 3
    found = ODMatrix.from_arrays(key, key, np.ones(1000, np.int64), key)
    assert found.person is not None
    assert found.person.base is None


def test_weights_add_up_in_the_order_of_the_rows() -> None:
    """Whatever rows of other pairs lie between them: floating sums depend on it."""
    weights = np.array([1e16, 5.0, 1.0, -1e16])
    keys = [np.zeros(4, np.int64), np.array([1, 0, 1, 1])]
    (_, _, weighed) = matrix._summed([*map(matrix._Key, keys)], np.ones(4, np.int64), weights)
    assert weighed is not None
    assert weighed.tolist() == [5.0, np.add.reduceat(weights[[0, 2, 3]], [0])[0]]


def test_weights_add_up_in_the_order_of_many_rows() -> None:
    """A sort that is not stable leaves a few rows in their order by chance."""
    rng = np.random.default_rng(5)
    keys = [rng.integers(0, 3, 5000), rng.integers(0, 2, 5000)]
    weights = 10.0 ** rng.uniform(-8, 8, 5000)
    _, _, weighed = matrix._summed([*map(matrix._Key, keys)], np.ones(5000, np.int64), weights)
    groups = [(keys[1] == b) & (keys[0] == a) for b in range(2) for a in range(3)]
    assert weighed is not None
    assert weighed.tolist() == [np.add.reduceat(weights[mine], [0])[0] for mine in groups]


@pytest.mark.parametrize("weighed", [True, False])
def test_negative_keys_come_first(weighed: bool) -> None:
    keys = [np.array([1, -1, 0, -1]), np.array([-2, 0, -2, 0])]
    found, totals, _ = matrix._summed([*map(matrix._Key, keys)], np.ones(4, np.int64), np.ones(4) if weighed else None)
    assert [key.tolist() for key in found] == [[0, 1, -1], [-2, -2, 0]]
    assert totals.tolist() == [1, 1, 2]


@pytest.mark.parametrize("bits", [31, 32, 33])
def test_keys_at_the_width_of_32_bits_are_whole(bits: int) -> None:
    largest = 2**bits - 1
    keys = [np.array([0, 1, 0, 1]), np.array([largest, 3, largest, 3])]
    found, totals, _ = matrix._summed([*map(matrix._Key, keys)], np.ones(4, np.int64), None)
    assert [key.tolist() for key in found] == [[1, 0], [3, largest]]
    assert totals.tolist() == [2, 2]


@given(rows)
def test_categories_make_the_matrix_that_texts_make(table: list[tuple[str, str, str, int]]) -> None:
    frame = pd.DataFrame(table, columns=["origin", "destination", "person", "trips"]).astype({"trips": "int64"})
    names = {
        "origin": ["never", "c", "b", "a"],
        "destination": ["b", "a", "c"],
        "person": ["z", "é", "p10", "gone", "p9"],
    }
    coded = frame.assign(**{name: pd.Categorical(frame[name], known) for name, known in names.items()})
    plain, fast = (
        ODMatrix.from_frame(each, TREE, TREE) for each in (frame.astype(dict.fromkeys(names, object)), coded)
    )
    for part in ("origin", "destination", "person", "trips"):
        assert getattr(plain, part).tolist() == getattr(fast, part).tolist()


def test_numbers_beside_labels_that_are_texts_are_told_apart_from_strangers() -> None:
    tree = Hierarchy.from_parents(["1", "2", "root"], [2, 2, -1], kind="table")
    assert repr(tree) == "<Hierarchy table: 2 tiles, 3 nodes>"
    rows = pd.DataFrame({"origin": [1], "destination": [2], "trips": [3]})
    with pytest.raises(OdanonError, match="make texts of them, as with astype"):
        ODMatrix.from_frame(rows, tree, tree, person=None)
    strangers = pd.DataFrame({"origin": ["3"], "destination": ["2"], "trips": [3]})
    with pytest.raises(OdanonError, match="build it over all tiles of the matrix"):
        ODMatrix.from_frame(strangers, tree, tree, person=None)


@pytest.mark.parametrize("kind", ["category", "object", "str"])
def test_a_row_that_names_no_tile_is_refused_and_not_counted_elsewhere(kind: str) -> None:
    frame = pd.DataFrame({"origin": pd.Series(["a", None]).astype(kind), "destination": "b"})
    with pytest.raises(OdanonError, match="1 rows of the matrix name no tile"):
        ODMatrix.from_frame(frame, TREE, TREE, trips=None, person=None)


@pytest.mark.parametrize("kind", ["u8", "u4", "i1", "f8"])
def test_keys_of_any_type_are_joined(kind: str) -> None:
    made = ODMatrix.from_arrays(*(np.array(each, kind) for each in ([1, 2, 1], [4, 0, 4], [1, 1, 1], [1, 0, 1])))
    assert (made.origin.tolist(), made.trips.tolist(), made.person.tolist()) == ([1, 2], [2, 1], [1, 0])
    assert len(ODMatrix.from_arrays(*(np.array([], kind) for _ in range(3))).trips) == 0
