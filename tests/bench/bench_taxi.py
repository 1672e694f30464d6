"""ATG-Joint against ATG-Dual on real trips: NYC green taxis (hours and months) and valleybike (people).

For every matrix ATG-Dual gets the best of 40 values of v_target, which no user could know; ATG-Joint must still blur
no more (Gbar) at the same budget. Run it with `python tests/bench/bench_taxi.py`; it fails if one matrix disagrees.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.anonymizers.atg.dual import AtgDual, solve_dual
from odanon.anonymizers.atg.forest import BudgetError
from odanon.anonymizers.atg.joint import AtgJoint, solve_both
from odanon.anonymizers.atg.origins import areas_emitting
from odanon.anonymizers.trees.problem import Problem
from odanon.hierarchies.h3 import H3Hierarchy
from odanon.hierarchies.ward import WardHierarchy
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.zoning.h3 import H3Zoning
from odanon.zoning.polygons import PolygonZoning

DATA = Path(os.environ.get("ODANON_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
TARGETS = 40
LEAST_TRIPS = 150  # of an hour: enough for several flows of ten
HOURS_A_MONTH = 60

Matrix = tuple[str, str, ODMatrix, Hierarchy, Anonymizer]  # set, name, matrix, tree, promise


def best_dual(problem: Problem) -> float:
    """The smallest Gbar over 40 values of v_target from k to the whole volume."""
    solve, found = solve_dual(problem), []
    for v_target in np.unique(np.geomspace(problem.anonymizer.k, problem.volume, TARGETS).round()):
        areas = areas_emitting(problem.origins, problem.emitted, problem.fits, float(v_target))
        try:
            solution = solve(areas).publish(float(v_target))
        except BudgetError:
            continue
        found.append(solution.A / solution.K)
    return min(found)


def taxi_matrices() -> Iterator[Matrix]:
    """Every month, and the busiest hours of each."""
    trips = pd.read_parquet(DATA / "nyc_green_taxi" / "trips.parquet")
    zoning = PolygonZoning(path=DATA / "nyc_taxi_zones" / "taxi_zones.shp", id="LocationID")
    known = set(zoning._zones[0])
    trips["origin"], trips["destination"] = trips["o_zone"].astype(str), trips["d_zone"].astype(str)
    trips = trips[trips["origin"].isin(known) & trips["destination"].isin(known)]
    tree = WardHierarchy().build(zoning.tiles(pd.concat([trips["origin"], trips["destination"]])))
    month = trips["t_start"].dt.to_period("M")
    for name, of_month in trips.groupby(month):
        if len(of_month) < 1000:  # stray time stamps
            continue
        yield "taxi month", str(name), matrix(of_month, tree), tree, AtgJoint(unit="trips")
        hours = of_month.groupby(of_month["t_start"].dt.floor("h"))
        busy = hours.size().sort_values(ascending=False, kind="stable")
        for hour in busy.index[busy >= LEAST_TRIPS][:HOURS_A_MONTH]:
            yield "taxi hour", str(name), matrix(hours.get_group(hour), tree), tree, AtgJoint(unit="trips")


def bike_matrices() -> Iterator[Matrix]:
    """First and last point of each ride as H3 tiles: all rides, and each month with enough of them."""
    points = pd.read_parquet(DATA / "valleybike" / "points.parquet").sort_values(["route_id", "time"], kind="stable")
    ends = points.groupby("route_id", observed=True).agg(["first", "last"])
    rides = pd.DataFrame(
        {
            "person": ends[("user_id", "first")].astype(str),
            "month": ends[("time", "first")].dt.to_period("M").astype(str),
            **{
                side: H3Zoning(resolution=9).assign(ends[("latitude", which)], ends[("longitude", which)])
                for side, which in (("origin", "first"), ("destination", "last"))
            },
        }
    ).dropna()
    tiles = H3Zoning(resolution=9).tiles(pd.concat([rides["origin"], rides["destination"]]))
    tree = H3Hierarchy(coverage="observed").build(tiles)
    for k in (5, 10):
        yield "bike all", f"k={k}", matrix(rides, tree, "person"), tree, AtgJoint(k=k)
        for name, of_month in rides.groupby("month"):
            if of_month["person"].nunique() >= 2 * k:
                yield "bike month", f"{name} k={k}", matrix(of_month, tree, "person"), tree, AtgJoint(k=k)


def matrix(rows: pd.DataFrame, tree: Hierarchy, person: str | None = None) -> ODMatrix:
    return ODMatrix.from_frame(rows, tree, tree, trips=None, person=person)


def main() -> int:
    if not DATA.is_dir():
        print(f"the real data are not at {DATA}; set ODANON_SHARED_DATA")
        return 0
    started, results = time.process_time(), []
    for kind, name, od, tree, promise in (*taxi_matrices(), *bike_matrices()):
        joint = solve_both(Problem(od, tree, tree, promise))
        dual = best_dual(Problem(od, tree, tree, AtgDual(k=promise.k, unit=promise.unit)))
        results.append((kind, name, od.volume, joint.A / joint.K, dual))
    table = pd.DataFrame(results, columns=["set", "of", "trips", "joint", "dual"])
    table["ratio"] = table["dual"] / table["joint"]
    summary = table.groupby(["set", "of"], sort=False).agg(
        matrices=("trips", "size"),
        trips=("trips", "sum"),
        joint_Gbar=("joint", "mean"),
        dual_Gbar=("dual", "mean"),
        mean_ratio=("ratio", "mean"),
        least_ratio=("ratio", "min"),
    )
    print(summary.round(3).to_string())
    worse = int((table["ratio"] < 1).sum())
    print(f"\nGbar of ATG-Dual with the best of {TARGETS} v_target values over that of ATG-Joint:")
    print(table.groupby("set", sort=False)["ratio"].describe()[["count", "mean", "min", "max"]].round(3).to_string())
    print(f"matrices where ATG-Joint is coarser: {worse} of {len(table)}; {time.process_time() - started:.0f} CPU s")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
