"""How much of the conformance suite `make test` runs on the baselines; ODANON_STRESS runs all of it."""

import os

import pytest

from odanon.testing import anonymizers


@pytest.fixture
def fewer_cities(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of the generated cities, with all promises and limits; not for methods that refuse most cities."""
    if not os.environ.get("ODANON_STRESS"):
        monkeypatch.setattr(anonymizers, "_CASES", anonymizers._CASES // 3)
