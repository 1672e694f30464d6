"""Pseudonyms and public bands."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.errors import OdanonError
from odanon.reading.pseudonym import KEY_VARIABLE, pseudonyms, window_key
from odanon.risk.bands import coarse, persons_band, rounded, rounded_down


def test_one_person_has_one_pseudonym_in_a_window_and_another_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "0123456789abcdef0123456789abcdef")
    ids = pd.Series(["ann", "bob", "ann"])
    monday, tuesday = (pseudonyms(ids, window_key("city", day, simulated=False)) for day in ("mon", "tue"))
    assert monday[0] == monday[2] != monday[1]
    assert set(monday).isdisjoint(tuesday)
    assert (monday >= 0).all()


@pytest.mark.parametrize("key", [None, "short"])
def test_real_people_need_a_secret_key(monkeypatch: pytest.MonkeyPatch, key: str | None) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    if key:
        monkeypatch.setenv(KEY_VARIABLE, key)
    with pytest.raises(OdanonError, match="export a secret key") as caught:
        window_key("city", "mon", simulated=False)
    assert "short" not in str(caught.value).split("(")[0]


def test_simulated_people_run_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    assert len(window_key("demo", "mon", simulated=True)) == 32


def test_bands_start_at_k() -> None:
    bands = persons_band(pd.Series([10, 19, 20, 49, 50, 99, 100, 5000]), 10)
    assert list(bands) == ["10-19", "10-19", "20-49", "20-49", "50-99", "50-99", "100+", "100+"]


def test_figures_of_what_was_left_out_are_coarse() -> None:
    assert [coarse(v) for v in (0, 0.0999, 0.123, 0.96, 1.618, 12.4, 5.5e8)] == [0, 0.1, 0.1, 1, 1.6, 10, 6e8]


def test_public_figures_are_rounded() -> None:
    assert rounded(123456.0) == 123000
    assert rounded(0.099987) == 0.1


@given(st.integers(0, 10**7), st.integers(0, 200), st.integers(2, 50))
def test_an_input_less_what_is_published_of_it_is_never_told_to_be_a_few(count: int, suppressed: int, k: int) -> None:
    """Whoever subtracts finds a rest that may be nothing, or one that may be k."""
    published, shown = max(count - suppressed, 0), rounded_down(count, k)
    assert shown <= count
    assert {rounded_down(possible, k) for possible in range(shown, shown + k)} == {shown}
    assert shown - published <= 0 or shown + k - 1 - published >= k


def test_input_counts_keep_two_digits_and_nothing_below_k() -> None:
    assert [rounded_down(count, 10) for count in (0, 9, 10, 58, 1234, 6_412_345)] == [0, 0, 10, 50, 1200, 6_400_000]
    assert rounded_down(433, 15) == 420
