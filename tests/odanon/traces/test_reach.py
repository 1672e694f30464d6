"""Stays on antennas spread over the ground that the antennas reach: shares, whole people, the same place again."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from product_example import small_product
from pydantic import ValidationError

from odanon.errors import OdanonError
from odanon.geo.crs import to_metres
from odanon.product import Product
from odanon.simulate.mode import Mode
from odanon.simulate.source import Simulated
from odanon.simulate.write import write_city
from odanon.traces.antennas import Antennas
from odanon.traces.points import Points
from odanon.traces.reach import reach_by_area, reach_by_weights
from odanon.traces.recordings import completely_recorded
from odanon.zoning.polygons import PolygonZoning
from odanon.zoning.voronoi import VoronoiZoning
from odanon_assets.chain.od import od, read_rows
from odanon_assets.chain.staypoints import staypoints
from odanon_assets.chain.traces import traces
from odanon_assets.chain.trips import trips
from odanon_assets.lake.files import read_frame
from odanon_assets.lake.lake import Lake

DAY = date(2026, 3, 2)
MASTS = np.array([45.75, 45.76, 45.74, 45.77]), np.array([4.84, 4.86, 4.87, 4.83])
PEOPLE = np.random.default_rng(1).integers(0, 2**63, 40_000)


def squares(folder: Path) -> Path:
    """Zones that have nothing to do with the antennas: squares of 0.01 degrees."""
    corner = [(i, j) for i in range(20) for j in range(20)]
    shapes = [shapely.box(4.75 + 0.01 * i, 45.65 + 0.01 * j, 4.76 + 0.01 * i, 45.66 + 0.01 * j) for i, j in corner]
    frame = gpd.GeoDataFrame({"id": [f"{i:02}-{j:02}" for i, j in corner]}, geometry=shapes, crs=4326)
    frame.to_file(folder / "zones.gpkg")
    return folder / "zones.gpkg"


def table_of(folder: Path, lat, lon) -> Path:
    frame = pd.DataFrame({"antenna": [f"a{n}" for n in range(len(lat))], "lat": lat, "lon": lon})
    frame.to_csv(folder / "antennas.csv", index=False)
    return folder / "antennas.csv"


def area_m2(shapes, crs: str) -> np.ndarray:
    in_metres = shapely.transform(shapes, lambda xy: np.column_stack(to_metres(xy[:, 1], xy[:, 0], crs)))
    return shapely.area(in_metres)


def test_over_many_people_every_zone_gets_its_share_of_the_cell(tmp_path: Path) -> None:
    """The oracle cuts the cells of the zoning `voronoi` with the zones."""
    reach = reach_by_area(*MASTS, None)
    zoning = PolygonZoning(path=squares(tmp_path), id="id")
    cells = VoronoiZoning(antennas=table_of(tmp_path, *MASTS), id="antenna").tiles([f"a{n}" for n in range(4)]).geometry
    zones = zoning.tiles(zoning.every_label)
    for mast in range(4):
        here = (np.full(len(PEOPLE), place[mast]) for place in MASTS)
        found = pd.Series(zoning.assign(*reach.places(PEOPLE, *here))).value_counts(normalize=True, dropna=False)
        wanted = pd.Series(area_m2(shapely.intersection(zones.geometry, cells[mast]), reach.sites.crs), zones.label)
        wanted /= area_m2(cells[[mast]], reach.sites.crs)[0]
        share, expected = found.reindex(zones.label).fillna(0), wanted
        error = np.sqrt(expected * (1 - expected) / len(PEOPLE))
        assert (np.abs(share - expected) <= 5 * error + 1e-4).all()


@given(st.integers(1, 30), st.integers(0, 10_000))
def test_a_person_is_placed_in_the_cell_of_the_antenna(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lat, lon = rng.uniform(45.7, 45.8, n), rng.uniform(4.8, 4.9, n)
    reach, mast = reach_by_area(lat, lon, None), rng.integers(0, n, 200)
    x, y = to_metres(*reach.places(PEOPLE[:200], lat[mast], lon[mast]), reach.sites.crs)
    mast_x, mast_y = to_metres(lat, lon, reach.sites.crs)
    away = np.hypot(x[:, None] - mast_x, y[:, None] - mast_y)
    assert (away[np.arange(200), mast] <= away.min(axis=1) + 0.01).all()


def test_a_person_on_an_antenna_is_always_at_the_same_place() -> None:
    """Whatever else is asked for, in whatever order, and though other antennas come and go far away."""
    lat, lon = (place[np.arange(1000) % 4] for place in MASTS)
    who = np.repeat(PEOPLE[:250], 4)
    once = np.stack(reach_by_area(*MASTS, None).places(who, lat, lon))
    order = np.random.default_rng(2).permutation(1000)
    again = np.stack(
        reach_by_area(*(place[::-1].copy() for place in MASTS), None).places(who[order], lat[order], lon[order])
    )
    np.testing.assert_allclose(again, once[:, order], atol=1e-9)
    assert len(np.unique(once, axis=1).T) == 1000  # another person or another antenna is another place


def test_places_of_different_people_and_antennas_are_independent() -> None:
    reach = reach_by_weights(
        *MASTS, np.repeat(np.arange(4), 2), (np.tile([45.7, 45.8], 4), np.full(8, 4.8)), np.ones(8)
    )
    side = np.stack([reach.places(PEOPLE, *(np.full(len(PEOPLE), p[m]) for p in MASTS))[0] > 45.75 for m in range(4)])
    following = np.concatenate([side, np.roll(side[:1], 1)])  # and of people with neighbouring rows
    assert (np.abs(np.corrcoef(following) - np.eye(5)) < 0.03).all()


def test_weights_are_given_by_antenna_and_shared_by_those_of_one_site() -> None:
    lat, lon = np.append(MASTS[0], MASTS[0][0]), np.append(MASTS[1], MASTS[1][0])  # the fifth stands with the first
    antenna, weight = np.array([0, 0, 1, 2, 3, 4]), np.array([1.0, 0.0, 2.0, 5.0, 1.0, 3.0])
    places = np.array([45.70, 45.71, 45.72, 45.73, 45.74, 45.75]), np.full(6, 4.8)
    reach = reach_by_weights(lat, lon, antenna, places, weight)
    found = reach.places(PEOPLE, np.full(len(PEOPLE), lat[0]), np.full(len(PEOPLE), lon[0]))[0].round(6)
    shares = pd.Series(found).value_counts(normalize=True)
    assert set(shares.index) == {45.70, 45.75}
    assert shares[45.75] == pytest.approx(0.75, abs=0.01)


def test_a_boundary_keeps_people_out_of_the_sea_and_no_position_stays_none(tmp_path: Path) -> None:
    land = shapely.Polygon([(4.8, 45.7), (4.9, 45.7), (4.9, 45.8), (4.85, 45.72), (4.8, 45.8)])  # with a bay
    gpd.GeoDataFrame(geometry=[land], crs=4326).to_file(tmp_path / "land.gpkg")
    reach = reach_by_area(np.append(MASTS[0], 46.9), np.append(MASTS[1], 4.85), tmp_path / "land.gpkg")
    mast = np.arange(2000) % 4
    lat, lon = reach.places(PEOPLE[:2000], MASTS[0][mast], MASTS[1][mast])
    assert shapely.distance(land, shapely.points(lon, lat)).max() < 1e-5
    lat, lon = reach.places(PEOPLE[:2], np.array([46.9, np.nan]), np.array([4.85, np.nan]))
    np.testing.assert_allclose([lat, lon], [[46.9, np.nan], [4.85, np.nan]], atol=1e-7)  # a mast that reaches no land


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reach")
    write_city(Simulated(people=120, seed=4, radius_km=4), Mode.nsd, DAY, 1, folder / "city", lambda _: None)
    return folder


def product_of(city: Path, folder: Path, **source: object) -> Product:
    told = {"plugin": "antennas", "path": f"{city}/city/events", "antennas": f"{city}/city/antennas.parquet"}
    return small_product(
        folder,
        source={**told, "date_zone": "Europe/Paris", **source},
        staypoints="transit",
        trips={"home_work": {}},
        people=None,
        checks={"max_unknown_zone": 0.5},
        zoning={"plugin": "h3", "resolution": 9},
    )


def run(product: Product, root: Path) -> tuple[pd.DataFrame, pd.DataFrame, Lake]:
    """OD rows and trips of the day."""
    lake, engine = Lake(root), product.engine.instance
    traces(product, lake, DAY, source=product.source.instance, engine=engine)
    staypoints(product, lake, DAY, staypoints=product.staypoints.instance, engine=engine)
    trips(product, lake, DAY, engine=engine)
    od(product, lake, DAY, zoning=product.zoning.instance)
    made = pd.concat([read_frame(path) for path in lake.buckets("small", "trips", DAY)], ignore_index=True)
    return read_rows(lake, product, DAY), made, lake


def test_spreading_moves_whole_people_and_neither_makes_nor_loses_a_trip(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", "a key that only tests know")
    roots = [tmp_path / name for name in ("mast", "area")]
    for root in roots:
        root.mkdir()
    products = [product_of(city, roots[0]), product_of(city, roots[1], spread="area")]
    # the same salt, so that people have the same pseudonyms
    _, at_masts, lake = run(products[0], roots[0])
    (roots[1] / "keys").symlink_to(lake.root / "keys")
    rows, spread, other = run(products[1], roots[1])
    same = ["person", "start", "end", "distance_m"]
    pd.testing.assert_frame_equal(at_masts[same], spread[same])
    assert rows["trips"].dtype.kind == "i"
    assert (rows.groupby("person")["trips"].sum() <= spread.groupby("person").size()).all()
    ends = [pd.concat([t[["person", f"{e}_lat", f"{e}_lon"]].set_axis(["who", "lat", "lon"], axis=1) for e in "od"])
            for t in (at_masts, spread)]  # fmt: skip
    both = pd.concat([ends[0], ends[1][["lat", "lon"]].add_suffix("_to")], axis=1)
    assert (both.groupby(["who", "lat", "lon"])[["lat_to", "lon_to"]].nunique() == 1).all(axis=None)
    assert both["lat_to"].nunique() > 3 * both["lat"].nunique()
    homes = [
        pd.concat([read_frame(path) for path in sorted(each.read("small", "trips", DAY).glob("homes-*"))])
        for each in (lake, other)
    ]
    assert homes[0]["home_lat"].notna().equals(homes[1]["home_lat"].notna())
    known = homes[1].dropna(subset=["home_lat"])
    left_home = known.merge(spread, left_on=["person", "home_lat", "home_lon"], right_on=["person", "o_lat", "o_lon"])
    assert left_home["person"].nunique() > 0.5 * spread["person"].nunique()  # trips leave from the very same place


def test_people_recorded_in_too_few_hours_are_left_out_and_counted(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODANON_PSEUDONYM_KEY", "a key that only tests know")
    product = product_of(city, tmp_path, min_hours=23)
    lake, engine = Lake(tmp_path), product.engine.instance
    everybody = traces(product, lake, DAY, source=product.source.instance, engine=engine)["people"]
    figures = staypoints(product, lake, DAY, staypoints=product.staypoints.instance, engine=engine)
    assert 0 < figures["people_incomplete"] < everybody
    assert figures["people_with_stays"] <= everybody - figures["people_incomplete"]


def test_hours_are_those_of_the_day_and_a_complete_person_keeps_every_point() -> None:
    start = datetime(2026, 3, 1, 23, tzinfo=UTC)
    end = start + timedelta(days=1)
    hours = {1: [*range(-3, 10)], 2: [*range(12), 30], 3: [5] * 40}
    points = pd.DataFrame(
        [(who, start + timedelta(hours=hour, minutes=9)) for who, seen in hours.items() for hour in seen],
        columns=["person", "time"],
    )
    kept = completely_recorded(Points(path="x", min_hours=11), points, start, end)
    assert kept["person"].value_counts().to_dict() == {2: 13}
    assert completely_recorded(Points(path="x"), points, start, end) is points


def test_mistakes_are_told(tmp_path: Path) -> None:
    told = {"path": str(tmp_path), "antennas": str(table_of(tmp_path, *MASTS))}
    for wrong in ({"spread": "weights"}, {"weights": "x.csv"}, {"boundary": "x.gpkg"}):
        with pytest.raises(ValidationError, match="give both"):
            Antennas(**told, **wrong)
    weights = tmp_path / "weights.csv"
    source = Antennas(**told, spread="weights", weights=str(weights))
    person, lat, lon = np.array([7]), np.array([45.75]), np.array([4.84])
    weights.write_text("antenna,lat,lon,weight\na0,45.7,4.8,1\na1,45.7,4.8,0\nother,45.7,4.8,1\n")
    with pytest.raises(OdanonError, match="3 of 4 antennas have no place with a weight"):
        source.spread_out(person, lat, lon)
    weights.write_text("antenna,lat,lon,weight\na0,45.7,4.8,-1\na1,99,4.8,1\na2,45.7,4.8,1\n")
    with pytest.raises(OdanonError, match="have 2 of 3 rows without a place or a weight"):
        source.spread_out(person, lat, lon)


def test_places_with_weights_come_from_a_table(tmp_path: Path) -> None:
    weights = tmp_path / "weights.csv"
    weights.write_text("".join(["antenna,lat,lon,weight\n", *(f"a{n},45.7{n},4.8,1\n" for n in range(4))]))
    source = Antennas(path="x", antennas=str(table_of(tmp_path, *MASTS)), spread="weights", weights=str(weights))
    assert source.spread_out(np.arange(4), *MASTS)[0] == pytest.approx([45.70, 45.71, 45.72, 45.73])
