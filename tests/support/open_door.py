"""A door that lets everything pass, so that tests can show what the gate behind it refuses."""

from typing import Any

import pytest

from odanon import door


def open_door(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the library call return what the verifier would refuse."""

    def nothing_found(*_: Any, **__: Any) -> list[Any]:
        return []

    monkeypatch.setattr(door, "release_findings", nothing_found)
