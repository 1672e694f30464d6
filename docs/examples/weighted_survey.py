"""A household travel survey: every participant stands for many people, and both are to be protected.

    python docs/examples/weighted_survey.py --data data --out survey

Working days of a sample of Melbourne's survey, between municipalities under the regions of the city. Every published flow has
five participants behind it, and these stand for at least five times as many people as a participant does on average.
"""

import json

import pandas as pd
from example import asked, odanon

REGIONS = {
    "inner": "Melbourne, Port Phillip, Stonnington, Yarra",
    "west": "Brimbank, Hobsons Bay, Maribyrnong, Melton, Wyndham",
    "north": "Banyule, Darebin, Hume, Moreland, Nillumbik, Whittlesea",
    "east": "Boroondara, Knox, Manningham, Maroondah, Monash, Whitehorse",
    "south": "Bayside, Casey, Frankston, Glen Eira, Greater Dandenong, Kingston, Mornington Peninsula",
    "geelong": "Greater Geelong",
}
K = 5

options = asked(
    "A household travel survey, weighted.",
    {"vista_sample/T_VISTA1218_V1.sample.csv": "trips of the Victorian travel survey VISTA (data.vic.gov.au)"},
)
names = {"PERSID": "person", "ORIGLGA": "origin", "DESTLGA": "destination", "WDTRIPWGT": "weight"}
told = pd.read_csv(options.data / "vista_sample" / "T_VISTA1218_V1.sample.csv", usecols=[*names], nrows=options.sample)
trips = told.rename(columns=names).dropna()  # trips of weekends have no weight for working days
for side in ("origin", "destination"):
    trips[side] = trips[side].str.replace(r" \(\w+\)$", "", regex=True)  # Yarra (C) is Yarra
trips.to_csv(options.out / "trips.csv", index=False)

# Which areas may be joined: a table of children and parents.
edges = [(town, f"region {region}") for region, towns in REGIONS.items() for town in towns.split(", ")]
edges += [(f"region {region}", "everywhere") for region in REGIONS]
pd.DataFrame(edges, columns=["child", "parent"]).to_csv(options.out / "regions.csv", index=False)

people = K * trips["weight"].mean()
print(f"{len(trips)} trips of {trips['person'].nunique()} participants stand for {trips['weight'].sum():,.0f} a day")
promise = ["--unit", "population", "-k", K, "--set", f"k_population={people:.0f}", "--suppression", 0.2]
columns = ["--person", "person", "--weight", "weight", "--hierarchy", options.out / "regions.csv"]
odanon("anonymize", options.out / "trips.csv", *columns, *promise, "--out", options.out / "release")

# What is handed out has rounded weights, so that nobody's own can be read off; what is to keep has the exact figures.
figures = json.loads((options.out / "release" / "keep" / "release.json").read_text())["metrics"]
fewest, least = figures["min_persons"], figures["min_weight"]
print(f"\nbehind every row: {fewest:.0f} participants or more, who stand for {least:,.0f} people or more")
