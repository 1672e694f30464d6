"""What is compared: the cases, each with a folder of its own."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from odanon import registry
from odanon.errors import OdanonError
from odanon.tables.read import TableInput


@dataclass(frozen=True)
class Case:
    """One run: an algorithm with its promise."""

    algorithm: str
    k: int
    unit: str
    suppression: float

    @property
    def name(self) -> str:
        return f"{self.algorithm}-k{self.k}-s{self.suppression:g}"

    def create(self) -> Any:
        """The anonymiser of the case."""
        promise = {"k": self.k, "unit": self.unit, "suppression": self.suppression}
        return registry.create("anonymize", self.algorithm, promise)


@dataclass(frozen=True)
class Plan:
    """A table and the cases to run on it, with the results in one folder."""

    table: TableInput
    cases: tuple[Case, ...]
    folder: Path
    time_limit_s: float

    def result(self, case: Case) -> Path:
        """The file that exists once a case is done."""
        return self.folder / "runs" / case.name / "result.json"

    def fingerprint(self, case: Case) -> str:
        """Changes when the table's bytes, its reading or the case do, so that old results are not taken for new."""
        with self.table.path.open("rb") as handle:
            content = hashlib.file_digest(handle, "sha256").hexdigest()
        reading = {key: str(value) for key, value in asdict(self.table).items()}
        return hashlib.sha256(json.dumps([content, reading, asdict(case)]).encode()).hexdigest()


def algorithms(wanted: str) -> list[str]:
    """`all` or a comma-separated list of anonymisers."""
    installed = registry.names("anonymize")
    names = installed if wanted == "all" else [name.strip() for name in wanted.split(",")]
    for name in names:
        registry.find("anonymize", name)
    return names


def cases(wanted: str, ks: str, unit: str, suppression: float) -> tuple[Case, ...]:
    """Every algorithm with every k of a comma-separated list."""
    try:
        values = [int(value) for value in ks.split(",")]
    except ValueError:
        raise OdanonError(f"--k {ks}: write whole numbers separated by commas, such as 5,10,20") from None
    planned = tuple(Case(name, k, unit, suppression) for name in algorithms(wanted) for k in values)
    for case in planned:
        case.create()
    return planned
