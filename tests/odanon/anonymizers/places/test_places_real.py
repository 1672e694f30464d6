"""Methods that work on places, and the quadtree knapsack, on real trips: the verifier finds nothing."""

from pathlib import Path

import h3
import pandas as pd
import pytest

from odanon.anonymizers.atg.knapsack import QuadtreeKnapsack
from odanon.anonymizers.places.glove import Glove
from odanon.anonymizers.places.glove_sk import GloveSk
from odanon.anonymizers.places.mondrian import Mondrian
from odanon.door import release
from odanon.hierarchies.h3 import H3Hierarchy
from odanon.hierarchies.ward import WardHierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.zones import release_zones
from odanon.zoning.h3 import H3Zoning
from odanon.zoning.polygons import PolygonZoning

pytestmark = pytest.mark.real
METHODS = [Mondrian, *(pytest.param(it, marks=pytest.mark.thorough) for it in (Glove, GloveSk, QuadtreeKnapsack))]


@pytest.fixture(scope="module")
def rides(shared_data: Path) -> pd.DataFrame:
    """Bike rides between H3 cells, with their riders."""
    points = pd.read_parquet(shared_data / "valleybike" / "points.parquet").sort_values(
        ["route_id", "time"], kind="stable"
    )
    ends = points[points["latitude"].abs() > 1].groupby("route_id")

    def cell(rows: pd.DataFrame) -> list[str]:
        return [h3.latlng_to_cell(*place, 9) for place in zip(rows["latitude"], rows["longitude"], strict=True)]

    first, last = ends.first(), ends.last()
    rows = pd.DataFrame({"origin": cell(first), "destination": cell(last), "person": first["user_id"].to_numpy()})
    return rows.groupby(["origin", "destination", "person"]).size().rename("trips").reset_index()


@pytest.mark.parametrize("method", METHODS)
def test_bike_rides_by_rider(rides: pd.DataFrame, method: type):
    tiles = H3Zoning(resolution=9).tiles([*rides["origin"], *rides["destination"]])
    tree = H3Hierarchy().build(tiles)
    od = ODMatrix.from_frame(rides, tree, tree)
    made = release({None: od}, tree, method()).releases[None]
    zones = release_zones([made], tree, tiles)
    assert set(zones["zone_id"]) == {*made.flows["origin"], *made.flows["destination"]}
    assert zones.geometry.is_valid.all()


@pytest.mark.parametrize("method", METHODS)
def test_taxi_trips_of_a_week(shared_data: Path, method: type):
    zoning = PolygonZoning(path=shared_data / "nyc_taxi_zones" / "taxi_zones.shp", id="LocationID")
    trips = pd.read_parquet(shared_data / "nyc_green_taxi" / "trips.parquet")
    trips = trips[(trips["t_start"] >= "2023-01-09") & (trips["t_start"] < "2023-01-16")]
    rows = trips[["o_zone", "d_zone"]].astype("Int64").astype("str").set_axis(["origin", "destination"], axis=1)
    known = set(zoning.tiles(zoning._zones[0]).label)
    rows = rows[rows["origin"].isin(known) & rows["destination"].isin(known)]
    rows = rows.groupby(["origin", "destination"]).size().rename("trips").reset_index()
    assert rows["trips"].sum() > 1000
    tree = WardHierarchy().build(zoning.tiles([*rows["origin"], *rows["destination"]]))
    made = release({None: ODMatrix.from_frame(rows, tree, tree, person=None)}, tree, method(unit="trips"))
    assert made.verified
