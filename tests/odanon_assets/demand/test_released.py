"""The typical day of a published month on a modeller's zones, against slow twins: one question a step and day, and cell by cell."""

from datetime import date
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pytest
from bundles import accept, bundle, town_zones
from rested import SIZE, rested_bundle
from shapely.geometry import box
from store_databases import as_role
from told_town import HALVES, SQUARES, Town
from told_windows import WINDOWS

import odanon
from odanon.demand.released import od_of, released
from odanon.errors import OdanonError
from odanon_assets.stores.bundle import FLOW_COLUMNS, Bundle
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Store
from odanon_assets.stores.postgis import PostgisStore

pytestmark = pytest.mark.stores_in_turn

WORKING = [date(2026, 4, 1), date(2026, 4, 2)]  # Wednesday and Thursday
HOLIDAY, SATURDAY, MARCH = date(2026, 4, 3), date(2026, 4, 4), date(2026, 3, 31)
STEPS = ["00:00", "01:30", "12:00"]
CLOCKS = ["00:00-01:30", "01:30-12:00"]  # nothing is later
PLACES = [(-1.0, 0, 3.3, 8), (3.3, 0, 8, 4.5), (3.3, 4.5, 8, 9)]  # in squares of the town, along none of their sides


@pytest.fixture(params=["embedded", "postgis"])
def town(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Store, str]:
    """An empty store, and where those find it who have the rights of a reader."""
    if request.param == "embedded":
        return EmbeddedStore(tmp_path), str(tmp_path)
    url = request.getfixturevalue("database")
    return PostgisStore(url), as_role(url, "odanon_reader")


def zones_of(shapes: list, prefix: str = "z") -> geopandas.GeoDataFrame:
    names = [f"{prefix}{number}" for number in range(len(shapes))]
    return geopandas.GeoDataFrame({"zone": names, "commune": "c"}, geometry=shapes, crs="EPSG:4326")


def test_it_is_the_mean_of_what_the_client_says_of_every_day_and_step(town: tuple[Store, str]) -> None:
    store, place = town
    for seed, day in zip((0, 1, 0, 1, 0), [*WORKING, HOLIDAY, SATURDAY, MARCH], strict=True):
        store.publish(rested_bundle(day, seed, split=seed == 1, reading=("even", "fitted")[seed]), accept)
    product, zones = odanon.open(place)["rested"], zones_of([box(*(SIZE * np.array(at))) for at in PLACES])
    drawn = zones.set_index("zone")
    for reading in ("prior", "auto"):
        made = released(product, "2026-04", zones, STEPS, reading, holidays=[HOLIDAY])
        assert [*made.releases] == WORKING
        assert made.days.tolist() == [2, 2, 2]
        found = made.od.set_index(["step", "origin", "destination"])["trips"]
        expected = []
        for step, clock in enumerate(CLOCKS):
            told = product.matrix(drawn, WORKING[0], HOLIDAY, reading, clock=clock)
            expected.append(told.assign(step=step, trips=told["estimate"] / len(WORKING)))
        twin = pd.concat(expected).set_index(["step", "origin", "destination"])["trips"].sort_index()
        twin = twin[twin > 1e-9]
        assert found.index.equals(twin.index)
        assert found.to_numpy() == pytest.approx(twin.to_numpy(), rel=1e-7)
    assert made.readings == ["even", "fitted"]
    assert (made.beyond > 0).tolist() == [True, True, False]  # from one to two o'clock is one bin
    one = product.flow(*drawn.geometry.iloc[:2], WORKING[0], HOLIDAY, clock=CLOCKS[0])
    assert found[0, "z0", "z1"] == pytest.approx(one.estimate / len(WORKING))
    assert len(od_of(product, "2026-04", zones, STEPS, days=None)) == len(found)
    assert [*released(product, "2026-04", zones, STEPS, days="saturday").releases] == [SATURDAY]


def test_nested_areas_of_unlike_times_are_read_cell_by_cell(town: tuple[Store, str]) -> None:
    store, place = town
    towns = [Town.of(seed, day) for seed, day in zip((2, 3), WORKING, strict=True)]
    for each in towns:
        store.publish(each.bundle, accept)
    quarters = [[0, 1, 2, 3], [4, 5, 6, 7, 8], [9, 10, 11, 12, 13, 14, 15]]
    zones = zones_of([geopandas.GeoSeries([SQUARES[tile] for tile in tiles]).union_all() for tiles in quarters])
    steps = ["00:00", "00:30", "02:00", "03:30"]
    halves = [(0, 1), (1, 4), (4, 7), (7, HALVES)]
    made = released(odanon.open(place)["told"], "2026-04", zones, steps)
    found = made.od.set_index(["step", "origin", "destination"])["trips"]
    for step, span in enumerate(halves):
        for o, origins in enumerate(quarters):
            for d, destinations in enumerate(quarters):
                mean = np.mean([each.expected(each.asked(origins, destinations, span))[1] for each in towns])
                assert found.get((step, f"z{o}", f"z{d}"), 0.0) == pytest.approx(mean, rel=1e-7, abs=1e-6)
    assert made.notes[0].startswith("4 of 4 steps have trips of rows that reach beyond the step")
    # The zones cover the town, so that what was published of a step is all there.
    trips = sum(int(each.trips[own].sum()) for each in towns for *_, own in each.rows)
    assert made.od["trips"].sum() == pytest.approx(made.published.sum()) == pytest.approx(trips / 2)
    assert made.inside == pytest.approx(1.0)


def test_a_month_of_day_types_is_divided_by_its_working_days(town: tuple[Store, str]) -> None:
    store, place = town
    told = WINDOWS["month"]
    made = bundle(product="typed", day=told.start, zones=town_zones(["z1", "z2", "z3"]), rows=1, **told.manifest)
    rows = told.trips(7)
    parts = [made.flows.assign(time_start=a, time_end=b, trips=n, spread=float(n)) for a, b, n, _ in rows]
    flows = pd.concat(parts).astype(dict.fromkeys(("time_start", "time_end"), "datetime64[us, UTC]"))
    store.publish(Bundle(**{**vars(made), "flows": flows[list(FLOW_COLUMNS)]}), accept)
    product, zones = odanon.open(place)["typed"], zones_of([box(0, 0, 0.25, 1), box(0.5, 0, 1.5, 1), box(1.5, 0, 3, 1)])
    days = max(each["days"] for each in told.manifest["bins"] if each["day_type"] == "working")
    read = released(product, "2026-05", zones, ["05:00", "09:00", "17:00"])
    assert read.days == pytest.approx([days] * 3)
    found = read.od.set_index(["step", "origin", "destination"])["trips"]
    for step, clock in enumerate(["05:00-09:00", "09:00-17:00", "17:00-05:00"]):
        told_day = product.matrix(zones.set_index("zone"), month="2026-05", days="working", clock=clock)
        twin = told_day.set_index(["origin", "destination"])["estimate"] / days
        twin = twin[twin > 0]
        assert found.loc[step].reindex(twin.index).to_numpy() == pytest.approx(twin.to_numpy(), rel=1e-7)
        assert len(found.loc[step]) == len(twin)
    assert "lie outside the zones" in read.notes[-1]


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    EmbeddedStore(tmp_path).publish(bundle(day=date(2026, 4, 4), timezone="Europe/Paris"), accept)
    product, zones = odanon.open(tmp_path)["town"], zones_of([box(0, 0, 1, 1)])
    for month, given, steps, reading, what in (
        ("2026-04", zones, STEPS, "auto", "no working day of 2026-04"),
        ("2026-03", zones, STEPS, "auto", "2026-03"),
        ("2026-04", pd.DataFrame({"zone": ["a"]}), STEPS, "auto", "no outlines"),
        (
            "2026-04",
            zones_of([box(0, 0, 1, 1), box(0, 0, 0.5, 1)]),
            STEPS,
            "auto",
            "over each other on 33% of their ground",
        ),
        ("2026-04", zones, ["05:00", "02:00"], "auto", "one after the other"),
        ("2026-04", zones, STEPS, "best", "reading is none of"),
    ):
        with pytest.raises(OdanonError, match=what):
            released(product, month, given, steps, reading)
    with pytest.raises(OdanonError, match="fitted has no weights"):
        released(product, "2026-04", zones, STEPS, "fitted", "saturday")


def test_a_release_that_is_replaced_while_it_is_read_is_not_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    EmbeddedStore(tmp_path).publish(bundle(day=WORKING[0]), accept)
    product = odanon.open(tmp_path)["town"]
    before = [{**each, "release_id": "town-20260401-000000000000"} for each in product.manifests()]
    monkeypatch.setattr(product, "manifests", lambda: before)
    with pytest.raises(OdanonError, match="replaced meanwhile"):
        released(product, "2026-04", zones_of([box(0, 0, 1, 1)]), STEPS)
