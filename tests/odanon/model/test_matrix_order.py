"""The fast ways of making a matrix beside plain ones: one key a row instead of several, categories instead of texts."""

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


@given(rows, st.booleans())
def test_one_key_sorts_as_several_do(table: list[tuple[str, str, str, int]], stable: bool) -> None:
    keys = [np.array([hash(row[at]) % 7 for row in table], np.int64) for at in (2, 1, 0)]
    order, plain = matrix._order(keys, stable=stable), np.lexsort(keys)
    assert sorted(order) == list(range(len(table)))
    for key in keys:
        assert key[order].tolist() == key[plain].tolist()
    if stable:
        assert order.tolist() == plain.tolist()


def test_keys_that_do_not_fit_into_one_are_sorted_all_the_same() -> None:
    keys = [np.array([2**40, 1, 2**40], np.int64), np.array([2**40, 2**40, 0], np.int64)]
    assert matrix._order(keys, stable=False).tolist() == [2, 1, 0]


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


@pytest.mark.parametrize("kind", ["category", "object", "str"])
def test_a_row_that_names_no_tile_is_refused_and_not_counted_elsewhere(kind: str) -> None:
    frame = pd.DataFrame({"origin": pd.Series(["a", None]).astype(kind), "destination": "b"})
    with pytest.raises(OdanonError, match="1 rows of the matrix name no tile"):
        ODMatrix.from_frame(frame, TREE, TREE, trips=None, person=None)
