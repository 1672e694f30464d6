"""From raw GPS points to a table that can be published: stay points, trips, flows between H3 cells.

    python docs/examples/gps_logs.py --data data --out gps

The points of ten people in Beijing. With so few of them k is 3, which is far too little for a real publication, and much of what
they did is told coarsely.
"""

import pandas as pd
from example import asked, odanon

options = asked(
    "From raw GPS points to a table that can be published.",
    {"geolife/points_users_000-009.parquet": "GeoLife of Microsoft Research as a table with user, ts (UTC), lat, lon"},
)
points = options.data / "geolife" / "points_users_000-009.parquet"
if options.sample:
    everything = pd.read_parquet(points)
    points = options.out / "points.parquet"
    everything.groupby("user").head(options.sample // everything["user"].nunique()).to_parquet(points)

# The logger writes UTC without saying so. Ids are replaced by pseudonyms under a key that nobody keeps.
stays, trips = options.out / "stays.parquet", options.out / "trips.parquet"
odanon("staypoints", points, "--person", "user", "--time", "ts", "--timezone", "UTC", "--out", stays)
odanon("trips", stays, "--min-distance-m", 200, "--out", trips)

columns = ["--origin", "o_lat,o_lon", "--destination", "d_lat,d_lon", "--person", "person", "--resolution", 8]
odanon("anonymize", trips, *columns, "-k", 3, "--suppression", 0.3, "--out", options.out / "release")

made, flows = pd.read_parquet(trips), pd.read_parquet(options.out / "release" / "handout" / "flows.parquet")
coarse = flows.loc[flows["kind"] == "rest", "trips"].sum() / flows["trips"].sum()
print(
    f"\n{len(made):,} trips of {made['person'].nunique()} people are told in {len(flows)} rows, {coarse:.0%} of them coarsely"
)
