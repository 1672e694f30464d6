"""Taxi trips between the zones of New York: zones with polygons, no people in the data.

    python docs/examples/nyc_taxi_zones.py --data data --out taxi

The trips of working mornings become one table of flows between areas that are as small as ten trips allow. Nobody knows who rode, so
k counts trips: that keeps rare journeys out, and does not protect somebody who takes the same taxi ride ten times.
"""

import geopandas
import pandas as pd
from example import asked, odanon

options = asked(
    "Taxi trips between the zones of New York.",
    {
        "nyc_green_taxi/trips.parquet": "green taxi trip records of nyc.gov/tlc, with the columns t_start, o_zone, d_zone",
        "nyc_taxi_zones/taxi_zones.shp": "the taxi zones of nyc.gov/tlc, a shapefile",
    },
)
zones = options.data / "nyc_taxi_zones" / "taxi_zones.shp"
trips = pd.read_parquet(options.data / "nyc_green_taxi" / "trips.parquet", columns=["t_start", "o_zone", "d_zone"])
start = trips["t_start"].dt
mornings = trips[start.hour.between(7, 9) & (start.day_of_week < 5)]
if options.sample:
    mornings = mornings.sample(min(options.sample, len(mornings)), random_state=1)
print(f"{len(mornings):,} of {len(trips):,} trips start on a working morning")
counted = mornings.groupby(["o_zone", "d_zone"], as_index=False).size().rename(columns={"size": "trips"})
counted.to_csv(options.out / "mornings.csv", index=False)

# A Ward tree joins zones that lie close together. Some trips name zones without a polygon, which are left out and counted.
columns = ["--origin", "o_zone", "--destination", "d_zone", "--count", "trips", "--unit", "trips"]
ground = ["--hierarchy", "ward", "--zones", zones, "--zone-id", "LocationID", "--drop-unknown"]
odanon("anonymize", options.out / "mornings.csv", *columns, *ground, "-k", 10, "--out", options.out / "release")

flows = pd.read_parquet(options.out / "release" / "handout" / "flows.parquet")
areas = geopandas.read_parquet(options.out / "release" / "handout" / "zones.parquet")
alone = areas[areas["n_tiles"] == 1]
print(f"\n{len(areas)} areas, {len(alone)} of them single zones; the largest flows:")
print(flows.nlargest(5, "trips")[["origin_zone", "destination_zone", "kind", "trips"]].to_string(index=False))
