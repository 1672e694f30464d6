"""A simulated city as `odanon demand` takes it, with the truth beside it: everybody in the census, a few in a survey, phones for the rest.

    zones.parquet           zone, commune, canton, lat, lon, geometry
    weights.parquet         tile, residents_and_jobs: what is public about zones, to read a release by
    census.parquet          person, weight, home_zone, age, gender, occupation, car, home_status: everybody
    survey_people.parquet   person, weight, the same attributes, canton: those who were asked
    survey_trips.parquet    person, seq, leave_min, arrive_min, purpose, mode, distance_m
    phones.parquet          person, start, end, o_lat, o_lon, d_lat, d_lon: trips of all others, as phones show them
    commute.parquet         home_commune, work_commune, persons
    od.parquet              step, origin, destination, trips: the true matrices of everybody
    truth.parquet           the trips behind them: person, seq, step, origin, destination, purpose, mode, leave_min, distance_m
    demand.yaml             the file for `odanon demand run`
    city.json               parameters and counts, written last

All of it is about one day, from 04:00 to 04:00. Steps are those of the clock: a trip at 01:00 lies in the first one.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.demand.contracts import STEPS
from odanon.plugin import parameters_of
from odanon.simulate.city import CHUNK, EMPLOYED, City, People, Place, Stream, chunks, draw_people
from odanon.simulate.plan import DAY_STARTS
from odanon.simulate.source import Simulated
from odanon.simulate.surveyed.attributes import NO, attributes
from odanon.simulate.surveyed.days import CAR, PUBLIC, day_trips, seen_trips
from odanon.simulate.surveyed.zones import Zones
from odanon.simulate.timeline import local_instant
from odanon.simulate.write import MANIFEST, Files, fresh_folder

STARTS = tuple(60 * int(step[:2]) + int(step[3:]) for step in STEPS)  # minutes since midnight
SURVEY_TRIPS = ["person", "seq", "leave_min", "arrive_min", "purpose", "mode", "distance_m"]
TRUTH = ["person", "seq", "step", "origin", "destination", "purpose", "mode", "leave_min", "distance_m"]
_YAML = """demand: simulated
seed: {seed}
inputs:
  zones: zones.parquet
  census: census.parquet
  survey_people: survey_people.parquet
  survey_trips: survey_trips.parquet
  od: od.parquet
  commute: commute.parquet
match: {{min_donors: 1}}  # nobody is behind these respondents; of real ones leave it at 5
licence: "made-up people of `odanon simulate`; no licence is needed"
"""


def _nobody(_people: int) -> None:
    pass


def write_demand_set(
    source: Simulated,
    day: date,
    out: Path,
    survey_share: float = 0.02,
    seed: int = 0,
    zones: int = 120,
    done: Callable[[int], None] = _nobody,
) -> dict[str, Any]:
    """Write the set of one day into the folder `out`, which appears only when it is complete.

    Another `seed` asks other people of the same city. `done(people)` is called after each chunk of them. Returns what `city.json` says.
    """
    city, rows = source.city, Counter[str]()
    ground = Zones.drawn(city, zones)
    asked = _asked(city, source.people, survey_share, seed)
    sums = _Sums(ground)
    with fresh_folder(out) as folder:
        with Files(folder, rows) as files:
            for chunk in chunks(source.people):
                people = draw_people(city, chunk, source.people)
                _write_chunk(files, ground, people, day, asked, sums)
                done(len(people))
            files.write("od.parquet", sums.od())
            files.write("commute.parquet", sums.commute())
            files.write("weights.parquet", sums.weights())
        ground.frame().to_parquet(folder / "zones.parquet", compression="zstd")
        rows["zones.parquet"] = len(ground)
        (folder / "demand.yaml").write_text(_YAML.format(seed=source.seed), encoding="utf-8")
        manifest = {
            "parameters": parameters_of(source),
            "mode": "demand",
            "first_day": day.isoformat(),
            "days": 1,
            "survey": {"share": survey_share, "seed": seed},
            "rows": dict(sorted(rows.items())),
            "dirt": {},
        }
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
    return manifest


def _asked(city: City, people: int, share: float, seed: int) -> npt.NDArray[np.bool_]:
    """Who is asked by the survey: as many as the share says, at least one."""
    draw = city.rng(Stream.SURVEY, 2, seed).random(people)
    asked = np.zeros(people, np.bool_)
    asked[np.argsort(draw, kind="stable")[: max(1, round(share * people))]] = True
    return asked


def _write_chunk(
    files: Files, zones: Zones, people: People, day: date, asked: npt.NDArray[np.bool_], sums: "_Sums"
) -> None:
    city, ids = zones.city, np.array(people.ids, dtype=object)
    here = asked[people.chunk * CHUNK :][: len(people)]
    trips = day_trips(city, people, day)
    who = attributes(city, people, trips)
    no_car = (who["car"] == NO).to_numpy()[trips["who"]]
    trips["mode"] = trips["mode"].mask(no_car & (trips["mode"] == CAR), PUBLIC)
    trips["person"] = ids[trips["who"]]
    home = zones.at(people.x[:, Place.HOME], people.y[:, Place.HOME])
    census = who.assign(weight=1.0, home_zone=zones.names[home])
    files.write("census.parquet", census[["person", "weight", "home_zone", *who.columns[1:]]])
    respondents = who.assign(weight=len(asked) / asked.sum(), canton=zones.cantons[home])[here]
    files.write("survey_people.parquet", respondents[["person", "weight", *who.columns[1:], "canton"]])
    files.write("survey_trips.parquet", trips[here[trips["who"]]][SURVEY_TRIPS])
    seen = seen_trips(trips)
    truth, ends = _true(seen, zones)
    files.write("truth.parquet", truth)
    files.write("phones.parquet", _phones(seen[~here[seen["who"]]], city, day))
    work = zones.at(people.x[:, Place.MAIN], people.y[:, Place.MAIN])
    works = people.occupation == EMPLOYED
    sums.add(truth["step"].to_numpy(), *ends, home, home[works], work[works])


def _true(seen: pd.DataFrame, zones: Zones) -> tuple[pd.DataFrame, tuple[npt.NDArray, npt.NDArray]]:
    """The trips with their zones by name, and these by number."""
    origin, destination = (zones.at(seen[f"{end}_x"].to_numpy(), seen[f"{end}_y"].to_numpy()) for end in "od")
    step = np.searchsorted(STARTS, seen["leave_min"] % 1440, side="right") - 1
    named = seen.assign(step=step, origin=zones.names[origin], destination=zones.names[destination])
    return named[TRUTH], (origin, destination)


def _phones(seen: pd.DataFrame, city: City, day: date) -> pd.DataFrame:
    opens = local_instant(day, city.zone, DAY_STARTS) - DAY_STARTS * 3600
    places: dict[str, npt.NDArray] = {}
    for end in "od":
        lat, lon = city.to_degrees(seen[f"{end}_x"].to_numpy(), seen[f"{end}_y"].to_numpy())
        places |= {f"{end}_lat": lat.round(6), f"{end}_lon": lon.round(6)}
    times = {
        name: pd.to_datetime(opens + 60 * seen[column].to_numpy(), unit="s", utc=True).as_unit("us")
        for name, column in (("start", "leave_min"), ("end", "arrive_min"))
    }
    return pd.DataFrame({"person": seen["person"].to_numpy(), **times, **places})


@dataclass
class _Sums:
    """What is counted over all people."""

    zones: Zones
    trips: Counter[int] = field(default_factory=Counter)
    workers: Counter[int] = field(default_factory=Counter)
    present: npt.NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.present = np.zeros(len(self.zones), np.int64)

    def add(
        self,
        step: npt.NDArray,
        origin: npt.NDArray,
        destination: npt.NDArray,
        home: npt.NDArray,
        home_of_worker: npt.NDArray,
        work: npt.NDArray,
    ) -> None:
        n, commune = len(self.zones), self.zones.commune
        self.trips.update(((step * n + origin) * n + destination).tolist())
        self.workers.update((commune[home_of_worker] * n + commune[work]).tolist())
        self.present += np.bincount(home, minlength=n) + np.bincount(work, minlength=n)

    def od(self) -> pd.DataFrame:
        n, names = len(self.zones), self.zones.names
        key, trips = _counted(self.trips)
        columns = {"origin": names[key // n % n], "destination": names[key % n], "trips": trips.astype(np.float64)}
        return pd.DataFrame({"step": key // (n * n), **columns})

    def commute(self) -> pd.DataFrame:
        n = len(self.zones)
        name = dict(zip(self.zones.commune.tolist(), self.zones.communes, strict=True))
        key, persons = _counted(self.workers)
        home, work = ([name[each] for each in side.tolist()] for side in (key // n, key % n))
        return pd.DataFrame({"home_commune": home, "work_commune": work, "persons": persons})

    def weights(self) -> pd.DataFrame:
        return pd.DataFrame({"tile": self.zones.names, "residents_and_jobs": self.present})


def _counted(counter: Counter[int]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    found = np.array(sorted(counter.items()), np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]
