"""A simulated city with its truth, as arrays by zone."""

from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path

import geopandas as gpd
import numpy as np
import numpy.typing as npt
import pandas as pd

import odanon
from odanon.model.hierarchy import Hierarchy
from odanon.simulate.demand import STARTS, write_demand_set
from odanon.simulate.source import Simulated
from odanon.trips.build import great_circle_m

Floats = npt.NDArray[np.float64]
DAY = date(2026, 3, 3)  # a Tuesday


@dataclass(frozen=True, eq=False)
class City:
    """The folder of `odanon simulate --demand`."""

    folder: Path

    @classmethod
    def made(cls, folder: Path, people: int, zones: int, seed: int, day: date = DAY) -> "City":
        """The city of a seed; one that is there already is read."""
        if not (folder / "city.json").exists():
            write_demand_set(Simulated(people=people, seed=seed), day, folder, zones=zones)
        return cls(folder)

    def table(self, name: str) -> pd.DataFrame:
        return pd.read_parquet(self.folder / f"{name}.parquet")

    @cached_property
    def zones(self) -> gpd.GeoDataFrame:
        return gpd.read_parquet(self.folder / "zones.parquet")

    @cached_property
    def number(self) -> pd.Series:
        """Of zones by name."""
        return pd.Series(np.arange(len(self.zones)), self.zones["zone"])

    @cached_property
    def tree(self) -> Hierarchy:
        return odanon.hierarchy("ward", self.zones, id="zone")

    @cached_property
    def truth(self) -> Floats:
        """trips[t, o, d] of everybody."""
        od = self.table("od")
        made = np.zeros((len(STARTS), len(self.zones), len(self.zones)))
        made[od["step"], self.number[od["origin"]], self.number[od["destination"]]] = od["trips"]
        return made

    @cached_property
    def phones(self) -> pd.DataFrame:
        """The true trips of all who were not asked: what an operator counts."""
        truth = self.table("truth")
        return truth[~truth["person"].isin(self.table("survey_people")["person"])]

    @cached_property
    def commune(self) -> npt.NDArray[np.int64]:
        """Of zones, by number."""
        return pd.factorize(self.zones["commune"], sort=True)[0]

    @cached_property
    def commuters(self) -> Floats:
        table = self.table("commute")
        names = pd.Series(np.arange(self.commune.max() + 1), np.unique(self.zones["commune"]))
        made = np.zeros((len(names), len(names)))
        made[names[table["home_commune"]], names[table["work_commune"]]] = table["persons"]
        return made

    @cached_property
    def lengths(self) -> Floats:
        """Metres between the middles of zones, 0 within one."""
        lat, lon = (self.zones[name].to_numpy() for name in ("lat", "lon"))
        return great_circle_m(lat[:, None], lon[:, None], lat, lon)
