"""How much of the conformance suite `make test` runs on the anonymisers of this repository; ODANON_STRESS runs all of it."""

import os
from itertools import count
from typing import Any

import pytest

from odanon.door import release
from odanon.testing import anonymizers

STRESS = bool(os.environ.get("ODANON_STRESS"))


@pytest.fixture(autouse=True)
def few_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is released and verified; measuring it takes as long, and every tenth release is."""
    numbers = count()

    def released(*arguments: Any, **options: Any) -> Any:
        return release(*arguments, metrics=() if next(numbers) % 10 else None, **options)

    if not STRESS:
        monkeypatch.setattr(anonymizers, "release", released)


@pytest.fixture
def fewer_cities(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of the generated cities, with all promises and limits; not for methods that refuse most cities."""
    if not STRESS:
        monkeypatch.setattr(anonymizers, "_CASES", anonymizers._CASES // 3)
