"""The stages from a source to OD rows: segments, weights, homes, and sources of ready trips and OD rows."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import h3
import pandas as pd
import pytest
from product_example import small_product

from odanon.errors import OdanonError
from odanon.product import Product
from odanon.simulate.city import draw_people
from odanon.simulate.source import Simulated
from odanon_assets.chain.anonymized import anonymized
from odanon_assets.chain.hierarchy import hierarchy
from odanon_assets.chain.metrics import metrics
from odanon_assets.chain.od import od, read_rows
from odanon_assets.chain.staypoints import staypoints
from odanon_assets.chain.traces import traces
from odanon_assets.chain.trips import trips
from odanon_assets.checks.volumes import trips_add_up
from odanon_assets.lake.lake import Lake

DAY = date(2026, 3, 2)
TOWN = {"plugin": "simulated", "people": 150, "seed": 3, "radius_km": 4}
KEY = "a key that only tests know"
HERE = h3.latlng_to_cell(45.75, 4.85, 8)
THERE = sorted(h3.grid_ring(HERE, 1))[0]


def run(product: Product, root: Path) -> tuple[pd.DataFrame, Lake]:
    """The OD rows of the day and the lake behind them."""
    lake, engine = Lake(root), product.engine.instance
    traces(product, lake, DAY, source=product.source.instance, engine=engine)
    staypoints(product, lake, DAY, staypoints=product.staypoints.instance, engine=engine)
    trips(product, lake, DAY, engine=engine)
    od(product, lake, DAY, zoning=product.zoning.instance)
    return read_rows(lake, product, DAY), lake


def town(root: Path, **changes: Any) -> Product:
    return small_product(root, source=TOWN, **changes)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    root = tmp_path_factory.mktemp("plain")
    return run(town(root), root)[0]


def test_without_people_everybody_is_in_one_segment_and_nobody_has_a_weight(plain: pd.DataFrame) -> None:
    assert set(plain["segment"]) == {"all"}
    assert "weight" not in plain


def test_segments_and_given_weights_split_the_rows_and_change_no_trip(plain: pd.DataFrame, tmp_path: Path) -> None:
    product = town(tmp_path, people={"segments": ["sex", "occupation"], "weight": "weight"})
    rows, _ = run(product, tmp_path)
    keys = ["time_bin", "origin", "destination", "person", "trips"]
    together = rows.sort_values(keys, ignore_index=True)[keys]
    pd.testing.assert_frame_equal(together, plain.sort_values(keys, ignore_index=True)[keys])
    assert rows.groupby("person")["segment"].nunique().max() == 1
    table = pd.concat(list(product.source.instance.persons()))
    assert set(rows["segment"]) <= set(table["sex"] + "/" + table["occupation"])
    assert set((rows["weight"] / rows["trips"]).round(2)) <= set(table["weight"])


def test_homes_expand_to_the_population_and_tell_residents(tmp_path: Path) -> None:
    truth = draw_people(Simulated(**{k: v for k, v in TOWN.items() if k != "plugin"}).city, 0, TOWN["people"])
    product = town(tmp_path, trips={"min_distance_m": 200, "home_work": {}}, people={"segments": ["residence"]})
    rows, lake = run(product, tmp_path)
    homes = pd.concat([pd.read_parquet(p) for p in lake.read("small", "trips", DAY).glob("homes-*.parquet")])
    found = homes["home_lat"].notna()
    assert found.mean() > 0.9
    assert set(rows["segment"]) <= {"resident", "visitor"}
    lat, _ = product.source.instance.city.to_degrees(truth.x[:, 0], truth.y[:, 0])
    near = homes.loc[found, "home_lat"].map(lambda home: abs(lat - home).min() < 0.001)
    assert near.mean() > 0.95

    tiles = product.zoning.instance.assign(homes.loc[found, "home_lat"], homes.loc[found, "home_lon"])
    observed = pd.Series(tiles).value_counts()
    table = tmp_path / "population.csv"
    pd.DataFrame({"zone": observed.index, "inhabitants": observed.to_numpy() * 7}).to_csv(table, index=False)
    product = town(
        tmp_path,
        trips={"min_distance_m": 200, "home_work": {}},
        population={"table": str(table), "otherwise": 0},
    )
    rows, _ = run(product, tmp_path / "expanded")
    assert set((rows["weight"] / rows["trips"]).round(9)) <= {0.0, 7.0}


def test_population_without_homes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OdanonError, match="add home_work"):
        town(tmp_path, population={"table": "population.csv"})


def test_a_product_of_working_days_has_no_other_days(tmp_path: Path) -> None:
    product = town(tmp_path, od={"bin": "12h", "days": "working"}, calendar={"holidays": ["2026-03-02"]})
    with pytest.raises(OdanonError, match="the calendar says that this day is not"):
        od(product, Lake(tmp_path), DAY, zoning=product.zoning.instance)


def test_ready_trips_enter_under_pseudonyms_and_bad_ones_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", KEY)
    trips = pd.DataFrame(
        {
            "person": ["canary-1", "canary-2", "canary-2", "", "canary-3", "canary-3"],
            "start": pd.to_datetime(["2026-03-02 08:00"] * 5 + ["2026-03-09 08:00"], utc=True),
            "end": pd.to_datetime(["2026-03-02 09:00"] * 5 + ["2026-03-09 09:00"], utc=True),
            "o_lat": 45.7,
            "o_lon": 4.8,
            "d_lat": [45.8, 45.8, 45.8, 45.8, 0.0, 45.8],
            "d_lon": [4.8, 4.9, 4.9, 4.8, 0.0, 4.8],
        }
    )
    trips.to_parquet(tmp_path / "trips.parquet")
    product = small_product(
        tmp_path,
        source={"plugin": "trips", "path": str(tmp_path / "trips.parquet")},
        checks={"max_quarantined": 0.5},
    )
    rows, lake = run(product, tmp_path)
    assert rows["trips"].tolist() == [1, 1]  # the repeated row changes nothing
    assert not rows["person"].astype("str").str.contains("canary").any()
    figures = lake.figures("small", "traces", DAY)
    assert (figures["points_read"], figures["points"]) == (6, 2)
    assert (figures["duplicates"], figures["outside_window"]) == (1, 1)
    assert {reason for reason, count in figures["reasons"].items() if count} == {"no_person", "null_island"}


def test_a_point_that_an_engine_loses_is_missing_from_the_sum(tmp_path: Path) -> None:
    """What is kept is counted where it is written, not derived from what is read."""
    product, lake = town(tmp_path), Lake(tmp_path)
    engine = product.engine.instance

    class Leaky:
        def shuffle(self, *given: Any) -> Any:
            tallies, buckets = engine.shuffle(*given)
            return tallies, [replace(buckets[0], kept=buckets[0].kept - 1), *buckets[1:]]

    sums = []
    for chosen in (engine, Leaky()):
        figures = traces(product, lake, DAY, source=product.source.instance, engine=chosen)
        parts = ("points", "quarantined", "duplicates", "outside_window")
        sums.append(figures["points_read"] - sum(figures[part] for part in parts))
    assert sums == [0, 1]


def two_squares(folder: Path) -> dict[str, Any]:
    """Zoning and hierarchy of a product on two polygons, west and east, a tenth of a degree wide."""
    west, east = ([(4.8 + x, 45.7), (4.9 + x, 45.7), (4.9 + x, 45.8), (4.8 + x, 45.8)] for x in (0.0, 0.1))
    shapes = [{"type": "Polygon", "coordinates": [[*ring, ring[0]]]} for ring in (west, east)]
    features = [
        {"type": "Feature", "properties": {"id": name}, "geometry": shape}
        for name, shape in zip(("west", "east"), shapes, strict=True)
    ]
    zones = folder / "zones.geojson"
    zones.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return {"zoning": {"plugin": "polygons", "path": str(zones), "id": "id"}, "hierarchy": "ward"}


def test_trips_with_an_unknown_end_are_counted_and_kept_apart_only_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", KEY)
    trips = pd.DataFrame(
        {
            "person": ["a", "b", "c", "d", "d"],
            "start": pd.to_datetime(["2026-03-02 08:00"] * 4 + ["2026-03-02 08:30"], utc=True),
            "end": pd.to_datetime(["2026-03-02 09:00"] * 5, utc=True),
            "o_lat": 45.75,
            "o_lon": [4.85, 4.85, 4.85, 9.0, 9.0],
            "d_lat": 45.75,
            "d_lon": [4.95, 4.95, 9.0, 9.0, 4.95],
        }
    )
    trips.to_parquet(tmp_path / "trips.parquet")
    told = {
        "source": {"plugin": "trips", "path": str(tmp_path / "trips.parquet")},
        **two_squares(tmp_path),
        "checks": {"max_unknown_zone": 0.6},
    }
    for unknown in ("drop", "keep"):
        product = small_product(tmp_path, od={"bin": "1h", "unknown": unknown}, **told)
        rows, lake = run(product, tmp_path / unknown)
        assert set(rows["origin"]) | set(rows["destination"]) == {"west", "east"}
        assert rows["trips"].sum() == 2
        assert lake.figures("small", "od", DAY)["unknown_zone_share"] == 0.6
        pairs = pd.read_parquet(lake.read("small", "od", DAY) / "pairs.parquet")
        found = pairs.set_index(["origin", "destination"])[["trips", "persons"]].T.to_dict("list")
        outside = {("unknown", "east"): [1, 1], ("unknown", "unknown"): [1, 1], ("west", "unknown"): [1, 1]}
        assert found == {("west", "east"): [2, 2], **(outside if unknown == "keep" else {})}
    with pytest.raises(OdanonError, match="lie outside the zoning"):
        run(small_product(tmp_path, **told | {"checks": {"max_unknown_zone": 0.5}}), tmp_path / "limit")


def test_ready_od_rows_enter_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", KEY)
    table = pd.DataFrame(
        {
            "time_bin": pd.to_datetime(["2026-03-02 08:00"] * 3, utc=True),
            "origin": [HERE, HERE, THERE],
            "destination": [THERE] * 3,
            "trips": [4, 1, 2],
            "who": ["canary-1", "canary-2", "canary-1"],
        }
    )
    table.to_csv(tmp_path / "od.csv", index=False)
    source = {"plugin": "od", "path": str(tmp_path / "od.csv"), "person": "who"}
    product = small_product(tmp_path, source=source, od={"bin": "1h", "intrazonal": "drop"})
    rows, _ = run(product, tmp_path)
    assert sorted(rows["trips"]) == [1, 4]
    assert rows["person"].nunique() == 2
    assert set(rows["segment"]) == {"all"}


def test_a_table_without_persons_delivered_twice_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", KEY)
    table = pd.DataFrame(
        {
            "time_bin": pd.to_datetime(["2026-03-02 08:00"] * 3, utc=True),
            "origin": [HERE, HERE, THERE],
            "destination": [THERE] * 3,
            "trips": [40, 10, 20],
        }
    )
    (tmp_path / "tables").mkdir()
    for name in ("first", "again"):
        table.to_csv(tmp_path / "tables" / f"{name}.csv", index=False)
    product = small_product(
        tmp_path,
        source={"plugin": "od", "path": str(tmp_path / "tables")},
        anonymize={"plugin": "atg-joint", "k": 10, "unit": "trips"},
        publish={"accept_unit_trips": True},
    )
    rows, lake = run(product, tmp_path)
    assert sorted(rows["trips"]) == [20, 50]
    assert lake.figures("small", "traces", DAY)["duplicates"] == 3


@pytest.mark.parametrize("unknown", ["drop", "keep"])
@pytest.mark.parametrize("plugin", ["trips", "od"])
def test_zones_that_ready_rows_name_may_be_unknown_too(
    plugin: str, unknown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", KEY)
    pairs = {"origin": ["west", "west", "east", "mars"], "destination": ["east", "west", "mars", "mars"]}
    when = pd.to_datetime(["2026-03-02 08:00"] * 4, utc=True)
    columns = {"trips": {"start": when, "end": when}, "od": {"time_bin": when, "trips": 1}}
    pd.DataFrame({"person": list("abcd"), **columns[plugin], **pairs}).to_parquet(tmp_path / "rows.parquet")
    names = {"origin": "origin", "destination": "destination", "person": "person"}
    told = {"source": {"plugin": plugin, "path": str(tmp_path / "rows.parquet"), **names}, **two_squares(tmp_path)}
    rules = {"bin": "1h", "unknown": unknown, "intrazonal": "drop"}
    product = small_product(tmp_path, od=rules, checks={"max_unknown_zone": 0.5}, **told)
    rows, lake = run(product, tmp_path)
    assert rows[["origin", "destination", "trips"]].values.tolist() == [["west", "east", 1]]
    figures = lake.figures("small", "od", DAY)
    assert (figures["unknown_zone_share"], figures["intrazonal_dropped"]) == (0.5, 1)
    written = pd.read_parquet(lake.read("small", "od", DAY) / "pairs.parquet")
    found = set(written[["origin", "destination"]].itertuples(index=False, name=None))
    apart = {("east", "unknown"), ("unknown", "unknown")} if unknown == "keep" else set()
    assert found == {("west", "east")} | apart
    with pytest.raises(OdanonError, match="lie outside the zoning"):
        run(small_product(tmp_path, od=rules, checks={"max_unknown_zone": 0.4}, **told), tmp_path / "limit")


def test_trips_beyond_an_automatic_root_are_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", KEY)
    here, far = h3.latlng_to_cell(45.75, 4.85, 8), h3.latlng_to_cell(48.85, 2.35, 8)
    when = pd.to_datetime(["2026-03-02 08:00"] * 12, utc=True)
    told = {"time_bin": when, "trips": 1, "origin": here, "destination": [here] * 9 + [far] * 3}
    pd.DataFrame({"person": list("abcdefghijkl"), **told}).to_parquet(tmp_path / "rows.parquet")
    source = {"plugin": "od", "path": str(tmp_path / "rows.parquet"), "person": "person"}
    rules = {"source": source, "staypoints": None, "zoning": {"plugin": "h3", "resolution": 8}}
    with pytest.raises(OdanonError, match=r"more of the trips lie beyond the root.*widen hierarchy\.root") as refused:
        run(small_product(tmp_path, **rules), tmp_path / "stopped")
    assert "outside the zoning" not in str(refused.value)
    rows, _ = run(small_product(tmp_path, **rules, hierarchy={"plugin": "h3", "root": 0}), tmp_path)
    assert rows["trips"].sum() == 12  # the remedy helps


@pytest.mark.parametrize("plugin", ["trips", "od"])
def test_zones_without_a_polygon_are_named_where_many_use_them_and_dropped_if_so_asked(
    plugin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", KEY)
    when = pd.to_datetime(["2026-03-02 08:00"] * 16, utc=True)
    columns = {"trips": {"start": when, "end": when}, "od": {"time_bin": when, "trips": 1}}
    pairs = {"origin": ["west"] * 16, "destination": ["mars"] * 6 + ["home of ann"] + ["east"] * 9}
    pd.DataFrame({"person": list("abcdefghijklmnop"), **columns[plugin], **pairs}).to_parquet(tmp_path / "rows.parquet")
    names = {"origin": "origin", "destination": "destination", "person": "person"}
    source = {"plugin": plugin, "path": str(tmp_path / "rows.parquet"), **names}
    told = {"source": source, "staypoints": None, **two_squares(tmp_path)}
    with pytest.raises(OdanonError, match=r"lie outside the zoning.*the zoning has no zone mars; a zoning") as refused:
        run(small_product(tmp_path, **told), tmp_path / "stopped")
    assert "ann" not in str(refused.value)
    told["zoning"] = {**told["zoning"], "drop_missing": True}
    product = small_product(tmp_path, **told)
    rows, lake = run(product, tmp_path)
    assert rows["trips"].sum() == 9
    figures = lake.figures("small", "od", DAY)
    assert (figures["unknown_zone_share"], figures["missing_zone_dropped"], figures["dropped_people"]) == (0, 7, 7)
    assert trips_add_up(product, lake, DAY).passed


def test_areas_of_polygons_are_measured_in_square_kilometres(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve people go from west to east: both squares are published as they are, 11.1 km high and 7.8 km wide."""
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", KEY)
    when = pd.to_datetime(["2026-03-02 08:00"] * 12, utc=True)
    trips = {"person": list("abcdefghijkl"), "start": when, "end": when, "origin": "west", "destination": "east"}
    pd.DataFrame(trips).to_parquet(tmp_path / "trips.parquet")
    names = {"origin": "origin", "destination": "destination"}
    source = {"plugin": "trips", "path": str(tmp_path / "trips.parquet"), **names}
    product = small_product(tmp_path, source=source, metrics=["surface", "distance"], **two_squares(tmp_path))
    _, lake = run(product, tmp_path)
    plugins = {"zoning": product.zoning.instance, "hierarchy": product.hierarchy.instance}
    hierarchy(product, lake, DAY, **plugins)
    anonymized(product, lake, DAY, anonymize=product.anonymize.instance)
    figures = metrics(product, lake, DAY)
    assert figures["MAO"] == pytest.approx(figures["MAD"]) == pytest.approx(11.11 * 7.77, rel=0.01)
    assert figures["GDM"] == 0
