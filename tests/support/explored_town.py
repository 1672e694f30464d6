"""A town with what makes maps hard: outlines that change, rests, segments, and a day that was taken back."""

from datetime import date

import pandas as pd
from bundles import accept, bundle, town_zones
from shapely import MultiPolygon, box

from odanon_assets.stores.interface import Act, Store

NAMES = ["Harbour", None, "<b>Old</b> Town"]
DAYS = [date(2026, 3, 2), date(2026, 3, 3), date(2026, 3, 4)]
FACTS = {
    "timezone": "Europe/Paris",
    "parameters": {"k": 10, "unit": "persons", "zoning": {"plugin": "table"}, "hierarchy": {"plugin": "table"}},
    "metrics": {"flows": 9.0, "trips_published": 400.0},
}


def filled(store: Store) -> Store:
    """Three days of `town`, whose third zone is larger on the second day, and two of `gone`, whose places have names; one was withdrawn."""
    names = ["z1", "z2", "z3"]
    moved = town_zones(names)
    moved.loc[2, "geometry"] = MultiPolygon([box(2, 0, 3.25, 1)])
    for day, zones in zip(DAYS, (None, moved, None), strict=True):
        made = bundle(day=day, rows=12, zones=zones, **FACTS)
        rests = made.flows["trips"] % 4 == 0
        made.flows.loc[rests, "kind"] = "rest"
        made.flows.loc[made.flows["trips"] % 3 == 0, "segment"] = "cars"
        store.publish(made, accept)
    for day in DAYS[:2]:
        called = town_zones(names).assign(name=pd.array(NAMES, dtype="str"))
        store.publish(bundle(product="gone", day=day, zones=called, **FACTS), accept)
    store.withdraw("gone", DAYS[0], Act("Ada", "a test"))
    return store
