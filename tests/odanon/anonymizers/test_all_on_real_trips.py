"""`odanon anonymize` with every algorithm on real trips: no flow below k, and no trip lost or made up."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from odanon import registry
from odanon.cli import main

pytestmark = pytest.mark.real
K = 10
NAMES = registry.names("anonymize")
RIDES = [name for name in NAMES if name != "laplace"]
TAXI = [name for name in NAMES if name != "user-dp"]
COMPARED_WITH = {
    "datafly",
    "glove",
    "glove-sk",
    "mondrian",
    "oigh",
}  # tests/odanon/anonymizers/places has real trips too
NOISY = [name for name in NAMES if not registry.find("anonymize", name).cls.verifiable]


@pytest.fixture(scope="module")
def rides(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Bike rides with their riders, from coordinates."""
    points = pd.read_parquet(shared_data / "valleybike" / "points.parquet").sort_values(["route_id", "time"])
    ends = points[points["latitude"].abs() > 1].groupby("route_id")
    first, last = ends.first(), ends.last()
    table = pd.DataFrame(
        {
            "user": first["user_id"],
            "o_lat": first["latitude"],
            "o_lon": first["longitude"],
            "d_lat": last["latitude"],
            "d_lon": last["longitude"],
        }
    )
    path = tmp_path_factory.mktemp("bike") / "rides.parquet"
    table.to_parquet(path)
    return [str(path), "--origin", "o_lat,o_lon", "--destination", "d_lat,d_lon", "--resolution", "8"]


@pytest.fixture(scope="module")
def taxi(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Taxi trips of two days between zones with polygons; nobody knows who travelled."""
    trips = pd.read_parquet(shared_data / "nyc_green_taxi" / "trips.parquet")
    trips = trips[(trips["t_start"] >= "2023-01-09") & (trips["t_start"] < "2023-01-11")]
    nowhere = [57, 264, 265]
    trips = trips[~trips["o_zone"].isin(nowhere) & ~trips["d_zone"].isin(nowhere)]
    path = tmp_path_factory.mktemp("taxi") / "trips.parquet"
    trips[["o_zone", "d_zone"]].to_parquet(path)
    zones = shared_data / "nyc_taxi_zones" / "taxi_zones.shp"
    columns = ["--origin", "o_zone", "--destination", "d_zone", "--unit", "trips"]
    return [str(path), *columns, "--hierarchy", "ward", "--zones", str(zones), "--zone-id", "LocationID"]


def in_turn(names: list[str], first: int) -> list[Any]:
    """All names; those that the other data set shows, and those only compared with, are left to `make stress`."""

    def left(number: int, name: str) -> bool:
        return name in COMPARED_WITH or (name in RIDES and name in TAXI and number % 2 != first)

    return [
        pytest.param(name, marks=[pytest.mark.thorough] if left(number, name) else [])
        for number, name in enumerate(names)
    ]


def released(table: list[str], name: str, out: Path) -> pd.DataFrame:
    """The published flows, after checking that every input trip is published or suppressed."""
    budget = ["--suppression", "0.9"] if name == "suppression" else []  # it generalises nothing
    done = CliRunner().invoke(
        main, ["anonymize", *table, "--algorithm", name, "-k", str(K), *budget, "--out", str(out)]
    )
    assert done.exit_code == 0, done.output
    flows, assignment = (
        pd.read_parquet(out / "keep" / "flows.parquet"),
        pd.read_parquet(out / "keep" / "assignment.parquet"),
    )
    assert assignment["trips"].sum() == len(pd.read_parquet(table[0]))
    assert json.loads((out / "keep" / "release.json").read_text())["parameters"]["k"] == K
    if name not in NOISY:
        told = assignment[~assignment["suppressed"]]
        told = told.groupby(["published_origin", "published_destination"])["trips"].sum()
        assert told.to_dict() == flows.set_index(["origin", "destination"])["trips"].to_dict()
    return flows


@pytest.mark.parametrize("name", in_turn(RIDES, 0))
def test_bike_rides_by_rider(rides: list[str], name: str, tmp_path: Path):
    flows = released([*rides, "--person", "user"], name, tmp_path / "out")
    assert len(flows)
    if name != "user-dp":
        assert flows["persons"].min() >= K
    else:
        assert flows["trips"].min() >= K


@pytest.mark.parametrize("name", in_turn(TAXI, 1))
def test_taxi_trips_by_trip(taxi: list[str], name: str, tmp_path: Path):
    flows = released(taxi, name, tmp_path / "out")
    assert len(flows)
    if name != "laplace":
        assert flows["trips"].min() >= K


def test_methods_without_the_unit_say_so(rides: list[str], taxi: list[str], tmp_path: Path):
    for table, name in (([*rides, "--person", "user"], "laplace"), (taxi, "user-dp")):
        done = CliRunner().invoke(main, ["anonymize", *table, "--algorithm", name, "--out", str(tmp_path / "out")])
        assert done.exit_code != 0
        assert "unit" in str(done.exception) + done.output
