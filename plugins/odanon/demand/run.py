"""All stages of a file, one after the other; those that were made from the same before are taken as they are."""

import hashlib
from collections.abc import Callable
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeVar

import pandas as pd

from odanon.client.publications import PublishedProduct
from odanon.client.publications import open as open_place
from odanon.demand.contracts import PUBLISHED, Table, read
from odanon.demand.released import released, releases_of
from odanon.demand.settings import Demand, Input, OdInput
from odanon.demand.stages import (
    Calibration,
    Inputs,
    Matching,
    Placement,
    Prepared,
    calibrated,
    evaluated,
    matched,
    placed,
    prepare,
)
from odanon.demand.stages.kept import Kept, digest_of
from odanon.demand.write import Result, write_folder
from odanon.errors import OdanonError

Stage = Literal["prepare", "match", "calibrate", "place", "evaluate"]
STAGES: tuple[Stage, ...] = ("prepare", "match", "calibrate", "place", "evaluate")
Progress = Callable[[str, int, int], None]  # stage, how much of it is done, and of how much
WORK = "work"
_MEANING = {
    "columns",
    "values",
    "csv",
    "reading",
    "days",
    "holidays",
}  # of an input, besides what its file or releases hold
_BESIDE = (".dbf", ".prj", ".cpg")  # a shapefile: names, coordinates, encoding
T = TypeVar("T")


def _silent(_stage: str, _done: int, _of: int) -> None:
    pass


def run(settings: Demand, out: Path, progress: Progress = _silent) -> dict[str, Any]:
    """Make everything and write the folder; returns what evaluation.json says."""
    made = Run(settings, out, progress)
    made.write(out)
    return made.evaluation


class Run:
    """The stages of a file, each made when it is asked for."""

    def __init__(
        self, settings: Demand, out: Path, progress: Progress = _silent, published: PublishedProduct | None = None
    ) -> None:
        """`published` is the product that `inputs.od` names, for those who have its store at hand."""
        self.settings, self.progress, self._given = settings, progress, published
        self.kept = Kept(out / WORK)

    def until(self, stage: Stage) -> dict[str, Any]:
        """Make the stages up to one, and tell its figures."""
        if stage == "evaluate":
            return self.evaluation
        made = {"prepare": "prepared", "match": "matching", "calibrate": "calibration", "place": "placement"}
        return getattr(self, made[stage]).figures

    @property
    def unchanged(self) -> list[Stage]:
        """Stages that lie there as they would be made."""
        return [stage for stage, digest in self._made_from.items() if self.kept.has(stage, digest)]

    @cached_property
    def digests(self) -> dict[str, str]:
        """What every input holds, as a digest."""
        return {table: self._digest(given) for table, given in self.settings.inputs.named().items()}

    @cached_property
    def prepared(self) -> Prepared:
        return self._made("prepare", Prepared, self._prepare)

    @cached_property
    def matching(self) -> Matching:
        asked = self.settings.match
        return self._made(
            "match",
            Matching,
            lambda: matched(self.prepared, self.settings.seed, asked.min_matches, asked.keys, asked.min_donors),
        )

    @cached_property
    def calibration(self) -> Calibration:
        asked = self.settings
        return self._made(
            "calibrate",
            Calibration,
            lambda: calibrated(self.prepared, self.matching, asked.calibrate.instance, asked.seed, asked.integers),
        )

    @cached_property
    def placement(self) -> Placement:
        asked = self.settings

        def make() -> Placement:
            before = self.prepared, self.matching, self.calibration
            return placed(
                *before, asked.place.instance, asked.seed, done=lambda done, of: self.progress("place", done, of)
            )

        return self._made("place", Placement, make)

    @cached_property
    def evaluation(self) -> dict[str, Any]:
        """All that evaluation.json says."""
        made = self.prepared, self.matching, self.calibration, self.placement
        self.progress("evaluate", 0, 1)
        commute = None if self.settings.inputs.commute is None else self._read("commute")
        found = evaluated(*made, commute)
        self.progress("evaluate", 1, 1)
        return {
            "demand": self.settings.demand,
            "seed": self.settings.seed,
            "odanon": version("odanon"),
            "digests": self.digests,
            "settings": self.settings.model_dump(mode="json", exclude={"demand", "seed", "inputs"}),
            **found,
        }

    @property
    def result(self) -> Result:
        """What the folder is written from."""
        return Result.of(self.settings, self.prepared, self.matching, self.calibration, self.placement, self.evaluation)

    def write(self, out: Path) -> None:
        """Write the folder."""
        write_folder(self.result, out, lambda done, of: self.progress("write", done, of))

    def _made(self, stage: Stage, kind: type[T], make: Callable[[], T]) -> T:
        digest = self._made_from[stage]
        if self.kept.has(stage, digest):
            found = self.kept.read(stage, kind)
        else:
            self.progress(stage, 0, 1)
            found = make()
            self.kept.write(stage, digest, found)
        self.progress(stage, 1, 1)
        return found

    @cached_property
    def _made_from(self) -> dict[Stage, str]:
        """For every stage a digest of all that it is made from, the stages before it included."""
        told = self.settings.model_dump(mode="json", exclude={"inputs", "licence"})
        inputs = {table: each for table, each in self.digests.items() if table != "commute"}
        files = self.settings.inputs.model_dump(mode="json", include=dict.fromkeys(inputs, _MEANING))
        keys = {
            "prepare": [version("odanon"), inputs, files, told["seed"], told["steps"], told["filter"]],
            "match": [told["match"]],
            "calibrate": [told["calibrate"], told["integers"]],
            "place": [told["place"]],
        }
        found, before = dict[Stage, str](), ""
        for stage in STAGES[:-1]:
            before = found[stage] = digest_of(before, keys[stage])
        return found

    def _prepare(self) -> Prepared:
        asked = self.settings
        tables = {table: self._read(table) for table in asked.inputs.named() if table not in ("od", "commute")}
        return prepare(
            Inputs(**tables, od=self._od),
            asked.seed,
            asked.clock,
            asked.filter.min_activity.total_seconds() / 60,
            asked.filter.min_trip_m,
        )

    @cached_property
    def _od(self) -> pd.DataFrame:
        """Trips between zones, from a table or from what was published."""
        given = self.settings.inputs.od
        if given.published is None:
            return self._read("od")
        asked = self._read("zones"), self.settings.clock, given.reading, given.days, given.holidays
        made = released(self._published, str(given.month), *asked)
        made.od.attrs[PUBLISHED] = made.told
        return made.od

    @cached_property
    def _published(self) -> PublishedProduct:
        """The product whose releases are read; no more than a reader's rights are needed."""
        given = self.settings.inputs.od
        return self._given or open_place(str(given.published))[str(given.product)]

    def _read(self, table: Table) -> pd.DataFrame:
        given: Input = getattr(self.settings.inputs, table)
        assert given.path is not None
        return read(table, given.path, given.columns, given.values, given.csv)

    def _digest(self, given: Input) -> str:
        if isinstance(given, OdInput) and given.published is not None:
            read = releases_of(self._published, str(given.month), given.days, given.holidays)
            return digest_of(sorted(read.values()))
        assert given.path is not None
        # The names of zones lie beside a shapefile, not in it.
        beside = [given.path.with_suffix(suffix) for suffix in _BESIDE] if given.path.suffix.lower() == ".shp" else []
        found = [_digest_of_file(path) for path in (given.path, *filter(Path.is_file, beside))]
        return found[0] if len(found) == 1 else digest_of(found)


def _digest_of_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise OdanonError(f"{path}: {error.strerror}; correct the path of inputs") from None
