"""What a check of a day sees and says; checks come from the group `odanon.checks` and are named in a product's file."""

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True)
class Verdict:
    """What a check found: one sentence without anything personal, and release-level figures."""

    passed: bool
    sentence: str
    figures: dict[str, float] = field(default_factory=dict)


class CheckedDay(Protocol):
    """A day of a product after one of its stages: figures and tables of that stage and of all before it. Restricted."""

    @property
    def product(self) -> str: ...

    @property
    def day(self) -> date: ...

    def figures(self, stage: str) -> dict[str, Any]:
        """The figures that a stage wrote beside its tables."""

    def folder(self, stage: str) -> Path:
        """The folder with the Parquet tables of a stage."""
