"""Pseudonyms are HMAC-SHA-256, whatever form the ids come in."""

import hmac

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.reading.pseudonym import pseudonyms

KEY = bytes(range(32))
IDS = st.lists(st.text(max_size=200), min_size=1, max_size=30)


def expected(name: str) -> int:
    """The first 63 bits of the HMAC of the UTF-8 text, as the standard library computes it."""
    return int.from_bytes(hmac.digest(KEY, name.encode(), "sha256")[:8], "big") >> 1


@given(IDS, st.binary(min_size=1, max_size=64))
def test_they_equal_the_standard_librarys_hmac(names: list[str], key: bytes) -> None:
    found = pseudonyms(pd.Series(names, dtype="str"), key)
    assert list(found) == [int.from_bytes(hmac.digest(key, n.encode(), "sha256")[:8], "big") >> 1 for n in names]


@given(IDS)
def test_text_categories_and_objects_have_the_same_pseudonyms(names: list[str]) -> None:
    for ids in (pd.Series(names, dtype=object), pd.Series(pd.Categorical(pd.Series(names, dtype="str")))):
        assert list(pseudonyms(ids, KEY)) == [expected(name) for name in names]


@pytest.mark.parametrize("length", [0, 1, 54, 55, 56, 63, 64, 119, 120, 10_000])
def test_every_length_around_the_blocks_of_the_hash(length: int) -> None:
    assert pseudonyms(pd.Series(["é" * length, "x" * length], dtype="str"), KEY).tolist() == [
        expected("é" * length),
        expected("x" * length),
    ]


def test_numbers_are_hashed_as_their_text_and_strange_text_is_an_id_too() -> None:
    assert list(pseudonyms(pd.Series([7, 8]), KEY)) == [expected("7"), expected("8")]
    strange = pd.Series(["\ud800", "?"], dtype=object)
    assert len(set(pseudonyms(strange, KEY))) == 2


def test_unused_categories_and_empty_batches_cost_nothing() -> None:
    ids = pd.Series(pd.Categorical(["b"], categories=["a", "b", "c"]))
    assert pseudonyms(ids, KEY).tolist() == [expected("b")]
    for empty in (ids[:0], pd.Series([], dtype="str"), pd.Series([], dtype=object)):
        assert pseudonyms(empty, KEY).dtype == np.int64
