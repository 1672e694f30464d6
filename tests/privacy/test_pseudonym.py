"""Pseudonyms and public bands."""

import pandas as pd
import pytest

from odanon.errors import OdanonError
from odanon.privacy.bands import persons_band, rounded
from odanon.privacy.pseudonym import KEY_VARIABLE, pseudonyms, window_key


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


def test_public_figures_are_rounded() -> None:
    assert rounded(123456.0) == 123000
    assert rounded(0.099987) == 0.1
