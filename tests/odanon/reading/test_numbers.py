"""Numbers of texts: a column of plain ones is read at once, and as one with others among them."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.reading.child.columns import _numbers
from odanon.reading.child.dialect import Dialect, groups_of

POINT, COMMA, PLAIN = (
    Dialect(thousands=groups_of(".")),
    Dialect(decimal=",", thousands=groups_of(",")),
    Dialect(),
)
texts = st.one_of(
    st.none(),
    st.floats(allow_nan=True, allow_infinity=True).map(str),
    st.sampled_from(["1.234", "1,234", "1.234,5", "1,234.5", " 7", "7 ", "1 234", "+3", "-0.0", "1e5", "1E5", "inf", "0x1", "", ".5", "5."]),
)  # fmt: skip


@pytest.mark.parametrize("dialect", [POINT, COMMA, PLAIN], ids=["point", "comma", "plain"])
@given(column=st.lists(texts, max_size=6))
def test_a_column_is_read_as_each_of_its_values_among_others(dialect: Dialect, column: list[str | None]) -> None:
    fast = _numbers(pa.array(column, pa.binary() if None not in column else pa.string()), dialect)
    slow = [_numbers(pa.array([text, "no number"], pa.string()), dialect)[0].as_py() for text in column]
    assert np.array_equal(
        np.array([np.nan if number is None else number for number in fast.to_pylist()]),
        np.array([np.nan if number is None else number for number in slow]),
        equal_nan=True,
    )
