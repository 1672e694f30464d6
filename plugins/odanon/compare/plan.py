"""What is compared: the cases, each with a folder of its own."""

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from glob import escape
from pathlib import Path
from typing import Any

from odanon import registry
from odanon.errors import OdanonError
from odanon.model.promise import Promise
from odanon.reconstruct.readings import EVEN
from odanon.tables.read import TableInput

EVERYBODY = "all"  # the segment of a table that is not split
WEIGHTS_ALONE = "weights"  # the papers' unit of a protected population, which no anonymiser offers
NOT_VERIFIED = "not verified"  # of a release whose flows nobody can count again
_WEIGHT_UNITS = 100  # how many units a trip of mean weight has when weights alone are counted


@dataclass(frozen=True)
class Case:
    """One run: an algorithm with its promise, on the whole table or a segment of it.

    `protect` says whom a case of a cross table protects; `k_population` is then the weight that k people stand for.
    """

    algorithm: str
    k: int
    unit: str
    suppression: float
    parameters: dict[str, Any] = field(default_factory=dict)
    protect: str = ""
    k_population: float | None = None
    segment: str = EVERYBODY
    adaptive: bool = False  # with time as a third tree

    @property
    def label(self) -> str:
        """What tables and pages call the algorithm."""
        return f"{self.algorithm} adaptive" if self.adaptive else self.algorithm

    @property
    def name(self) -> str:
        """A folder name; what is free text in a case enters as a digest."""
        parts = [self.algorithm, f"k{self.k}", f"s{self.suppression:g}"]
        if self.protect:
            parts += [self.protect, self.unit]
        if self.adaptive:
            parts.append("adaptive")
        if self.parameters or self.segment != EVERYBODY:
            free = json.dumps([self.parameters, self.segment], sort_keys=True)
            parts.append(hashlib.sha256(free.encode()).hexdigest()[:8])
        return "-".join(parts)

    @property
    def publishable(self) -> bool:
        """Whether a release of the case may leave the house: single thresholds of a cross table never do."""
        return not self.protect or self.unit in ("persons", "population")

    @property
    def weight_unit(self) -> float:
        """The weight that counts as one when weights alone are counted."""
        assert self.k_population is not None
        return self.k_population / self.k / _WEIGHT_UNITS

    def create(self, matrices: int = 1) -> tuple[Any, Promise]:
        """The anonymiser of the case, for a window of some matrices where it must know how many, and its promise."""
        promise: dict[str, Any] = {"k": self.k, "unit": self.unit, "suppression": self.suppression}
        if self.unit == WEIGHTS_ALONE:
            promise |= {"k": self.k * _WEIGHT_UNITS, "unit": "trips"}
        elif self.unit == "population":
            promise["k_population"] = self.k_population
        found = registry.find("anonymize", self.algorithm)
        if any(known.name == "matrices" for known in found.parameters):
            promise["matrices"] = matrices
        asked = {**promise, **self.parameters}
        return registry.create("anonymize", self.algorithm, asked), found.promise(asked)


@dataclass(frozen=True)
class Plan:
    """A table and the cases to run on it, with the results in one folder.

    Without `keep_releases` the figures of a case are all that is kept of it. `reading` is how the page reads releases back.
    """

    table: TableInput
    cases: tuple[Case, ...]
    folder: Path
    time_limit_s: float
    keep_releases: bool = True
    reading: str = EVEN

    def result(self, case: Case) -> Path:
        """The file that exists once a case is done."""
        return self.folder / "runs" / case.name / "result.json"

    def release(self, case: Case) -> Path:
        """The folder of a case's release."""
        return self.result(case).with_name("release")

    def fingerprint(self, case: Case) -> str:
        """Changes when the bytes of the table or of what lies under it, its reading or the case do, so that old results are not taken for new."""
        content = [_digest(path) for path in _files(self.table)]
        reading = {key: str(value) for key, value in asdict(self.table).items()}
        return hashlib.sha256(json.dumps([content, reading, asdict(case)], sort_keys=True).encode()).hexdigest()


def _files(table: TableInput) -> list[Path]:
    """The files that a table is read from: itself, its zones, hierarchy and weights; of a shapefile all that belong to it."""
    named = [path for path in (table.path, table.tile_weights, table.zones, Path(table.hierarchy)) if path is not None]
    parts = [sorted(path.parent.glob(f"{escape(path.stem)}.*")) if path.suffix == ".shp" else [path] for path in named]
    return [path for some in parts for path in some if path.is_file()]


def _digest(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def algorithms(wanted: str) -> list[str]:
    """`all` or a comma-separated list of anonymisers."""
    installed = registry.names("anonymize")
    names = installed if wanted == "all" else list(dict.fromkeys(name.strip() for name in wanted.split(",")))
    for name in names:
        registry.find("anonymize", name)
    return names


def cases(wanted: str, ks: str, unit: str, suppression: float, adaptive: bool = False) -> tuple[Case, ...]:
    """Every algorithm with every k of a comma-separated list; if asked for, those that split time also in time.

    A mistake that every case shares is told at once; an algorithm that alone cannot be made refuses when run.
    """
    planned = tuple(
        Case(name, k, unit, suppression, adaptive=in_time)
        for name in algorithms(wanted)
        for k in _whole_numbers(ks)
        for in_time in ([False, True] if adaptive and splits_time(name) else [False])
    )
    refusals = [refusal for case in planned if (refusal := _refusal(case))]
    if len(refusals) == len(planned):
        raise refusals[0]
    return planned


def crossed(planned: tuple[Case, ...], protect: str, mean_weight: float, segments: tuple[str, ...]) -> tuple[Case, ...]:
    """Every case once for each view to protect and each segment, everybody first (004 section 4; 002 section 5.2).

    Participants are protected by k persons, the population by k persons who also stand for k times the mean weight. Next
    to each stands the papers' single threshold, k trips or that weight alone, which is unsafe and only compared.
    """
    units = {"participants": ("persons", "trips"), "population": ("population", WEIGHTS_ALONE)}
    views = [name.strip() for name in protect.split(",")]
    for view in views:
        if view not in units:
            raise OdanonError(f"--protect {view}: choose participants, population or both, separated by a comma")
    counted = [case for case in planned if getattr(registry.find("anonymize", case.algorithm).cls, "verifiable", True)]
    if not counted:
        raise OdanonError("--protect compares true counts and these algorithms add noise; choose others")
    return tuple(
        replace(case, protect=view, unit=unit, k_population=case.k * mean_weight, segment=segment)
        for segment in (EVERYBODY, *segments)
        for case in counted
        for view in views
        for unit in units[view]
    )


def splits_time(algorithm: str) -> bool:
    """Whether an anonymiser takes a matrix with times."""
    return getattr(registry.find("anonymize", algorithm).cls, "timed", False) is True


def _whole_numbers(text: str) -> list[int]:
    try:
        return list(dict.fromkeys(int(value) for value in text.split(",")))
    except ValueError:
        raise OdanonError(f"--k {text}: write whole numbers separated by commas, such as 5,10,20") from None


def _refusal(case: Case) -> OdanonError | None:
    try:
        case.create()
    except OdanonError as error:
        return error
    return None
