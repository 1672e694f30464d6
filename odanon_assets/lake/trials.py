"""How the trials of days ended: what publication would have said, and where the report of it lies. Restricted.

work/<product>/trial/judged/date=<day>/figures.json     the outcome
                                       release.json     the manifest as it would have been
                                       report.html      its report, marked as a trial's
"""

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from odanon_assets.lake.files import to_json
from odanon_assets.lake.lake import Lake, write_figures

_JUDGED, _MANIFEST, _REPORT = "published", "release.json", "report.html"


@dataclass(frozen=True)
class Outcome:
    """What publication would have said of a day."""

    day: date
    would_publish: bool
    sentence: str
    folder: Path
    release_id: str | None = None

    @property
    def report(self) -> Path | None:
        """The page of the release that would have been; a day that came to none has none."""
        return self.folder / _REPORT if self.would_publish else None

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest that would have been."""
        return json.loads((self.folder / _MANIFEST).read_text())


def write_judged(folder: Path, manifest: dict[str, Any], report: str, *, fresh: bool) -> dict[str, Any]:
    """Put the release that a trial came to into its folder; what there is to tell of it."""
    (folder / _MANIFEST).write_text(to_json(manifest))
    (folder / _REPORT).write_text(report, encoding="utf-8")
    release = manifest["release_id"]
    sentence = f"would be published as {release}" if fresh else f"is published as {release}, and nothing would change"
    return {"would_publish": True, "sentence": sentence}


def write_refused(lake: Lake, product: str, day: date, why: str) -> Outcome:
    """Note why a day would not have been published; what an earlier trial of it left goes."""
    with lake.new(product, _JUDGED, day) as folder:
        write_figures(folder, {"would_publish": False, "sentence": f"would not be published: {why}"})
    return outcome_of(lake, product, day)


def outcome_of(lake: Lake, product: str, day: date) -> Outcome:
    """How the last trial of a day ended."""
    told = lake.figures(product, _JUDGED, day)
    folder = lake.folder(product, _JUDGED, day)
    return Outcome(day, told["would_publish"], told["sentence"], folder, told.get("release_id"))


def outcomes(root: Path, product: str) -> dict[date, Outcome]:
    """How the last trial of each day ended, in order."""
    lake = Lake(root, trial=True)
    home = lake.folder(product, _JUDGED, date.min).parent
    days = sorted(date.fromisoformat(path.parent.name.removeprefix("date=")) for path in home.glob("date=*/*.json"))
    return {day: outcome_of(lake, product, day) for day in dict.fromkeys(days)}
