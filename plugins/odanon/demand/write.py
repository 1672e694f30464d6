"""The folder of a synthetic population: tables, evaluation, and what has to be said of them."""

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from odanon.demand import eqasim, matsim
from odanon.demand.settings import Demand
from odanon.demand.stages import Calibration, Matching, Placement, Prepared
from odanon.demand.stages.prepare import ATTRIBUTES
from odanon.report.demand import demand_page
from odanon.report.demand_tables import demand_tables
from odanon.system.scratch import scratch

EVALUATION = "evaluation.json"
_README = """# {name}: synthetic travellers

`report.html` shows it, `matsim/` and `eqasim/` have it for other programs. `agents.parquet` has {agents:,} agents, `activities.parquet` what {travellers:,} copies of them do in a day and in which zone, `evaluation.json` how well
they fit what they were made from, with seed {seed} and digests of the inputs. Made by odanon {odanon} ({calibrate}, {place}).

## What this is

A model: people of a census, each with the day of a respondent of a travel survey, weighted so that trips lie at the times of origin-destination matrices, and placed by
these matrices. Sums over many agents are meant to be used, as a starting point of transport models.

## What this is not

- **Not anonymous.** Agents copy agendas of survey respondents (purposes, modes and times of day), and `donor` says whose. An agenda is copied only if
  {min_donors} or more respondents have it; that does not keep anybody from guessing who took part.
- Not an observation of anybody: no agent is a person, and its places were drawn by chance.
- Not to be passed on whole: `work/` has respondents of the survey with their attributes, which stages hand to each other. Delete it when you are done.
- Not data of a release. If the matrices come from one, do not publish these files beside it as if they were.

## Licence of the survey

{licence}

## Columns

| file | column | meaning |
|---|---|---|
| agents | agent, donor | number of the agent; respondent whose agenda it has |
| | age, gender, occupation, car, home_status, home_zone | as in the census |
| | coefficient, copies | people that the agent stands for after calibration; the same as a whole number |
| activities | agent, copy, seq | which copy of which agent; order in the day, from 0 at home |
| | purpose, mode, step | what for; how the trip there was made, and in which step it set out: none and -1 for the first activity |
| | zone | where |

Steps start at {steps}.
"""


@dataclass(frozen=True, eq=False)
class Result:
    """What is written."""

    settings: Demand
    zones: pd.DataFrame
    od: pd.DataFrame  # step, origin, destination, trips
    agents: pd.DataFrame
    activities: pd.DataFrame
    evaluation: dict[str, Any]

    @classmethod
    def of(
        cls,
        settings: Demand,
        prepared: Prepared,
        matching: Matching,
        calibration: Calibration,
        placement: Placement,
        evaluation: dict[str, Any],
    ) -> "Result":
        """Tables with names of zones and donors in place of their numbers."""
        names = pd.Index(prepared.zones["zone"].astype("str"))
        agents = prepared.agents[["agent", *ATTRIBUTES]].assign(
            home_zone=pd.Categorical.from_codes(prepared.agents["home_zone"], names),
            coefficient=calibration.agents["coefficient"],
            copies=calibration.agents["copies"],
        )
        donors = pd.Index(prepared.respondents["person"].astype("str"))
        agents.insert(1, "donor", pd.Categorical.from_codes(matching.agents["respondent"], donors))
        activities = placement.activities.assign(zone=pd.Categorical.from_codes(placement.activities["zone"], names))
        ends = {side: pd.Categorical.from_codes(prepared.od[side], names) for side in ("origin", "destination")}
        return cls(settings, prepared.zones, prepared.od.assign(**ends), agents, activities, evaluation)


def write_folder(result: Result, folder: Path, done: Callable[[int, int], None] | None = None) -> None:
    """Write all files, and tell how many of their kinds are done: each is complete or as it was, and evaluation.json is there only beside all others."""
    folder.mkdir(parents=True, exist_ok=True)
    with scratch(folder) as near:
        for number, writer in enumerate(WRITERS, start=1):
            writer(result, near)
            if done is not None:
                done(number, len(WRITERS))
        (folder / EVALUATION).unlink(missing_ok=True)
        for part in sorted(near.iterdir(), key=lambda path: (path.name == EVALUATION, path.name)):
            if part.is_dir():
                shutil.rmtree(folder / part.name, ignore_errors=True)
            part.replace(folder / part.name)


def _tables(result: Result, folder: Path) -> None:
    for name, table in (("agents", result.agents), ("activities", result.activities)):
        plain = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata()
        text = [
            pa.field(each.name, pa.string()) if pa.types.is_dictionary(each.type) else each for each in plain.schema
        ]
        pq.write_table(plain.cast(pa.schema(text)), folder / f"{name}.parquet", compression="zstd")


def _evaluation(result: Result, folder: Path) -> None:
    text = json.dumps(_for_json(result.evaluation), indent=2, allow_nan=False, ensure_ascii=False)
    (folder / EVALUATION).write_text(text + "\n", encoding="utf-8")


def _readme(result: Result, folder: Path) -> None:
    settings = result.settings
    text = _README.format(
        name=settings.demand,
        agents=len(result.agents),
        travellers=int(result.agents["copies"].sum()),
        seed=settings.seed,
        odanon=result.evaluation["odanon"],
        calibrate=settings.calibrate.plugin,
        place=settings.place.plugin,
        min_donors=settings.match.min_donors,
        licence=settings.licence,
        steps=", ".join(settings.clock),
    )
    (folder / "README.md").write_text(text, encoding="utf-8")


def _matsim(result: Result, folder: Path) -> None:
    asked = result.settings
    told = result.activities, result.agents, result.zones, asked.clock
    matsim.write(*told, folder / "matsim" / "population.xml.gz", asked.seed, asked.licence)


def _eqasim(result: Result, folder: Path) -> None:
    told = result.activities, result.agents, result.zones, result.settings.clock
    eqasim.write(*told, folder / "eqasim", result.settings.seed)


def _report(result: Result, folder: Path) -> None:
    asked, told = result.settings, result.evaluation
    byline = f"odanon {told['odanon']}, seed {asked.seed}, {asked.calibrate.plugin}, {asked.place.plugin}"
    tables = demand_tables(told, result.activities, result.zones, result.od)
    (folder / "report.html").write_text(demand_page(asked.demand, byline, asked.licence, tables), encoding="utf-8")


def _for_json(value: Any) -> Any:
    """The same without numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _for_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_for_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


WRITERS: tuple[Callable[[Result, Path], None], ...] = (
    _tables,
    _evaluation,
    _readme,
    _report,
    _matsim,
    _eqasim,
)
