"""Areas tell nothing of single people: the root is where k people go, and no area lists only what was visited (PRIVACY rule 24)."""

from pathlib import Path

import gate_town as gate
import h3
import pandas as pd
import pytest
from gate_town import DAY, TILES, people, town

from odanon import registry
from odanon.errors import OdanonError
from odanon.product import Product
from odanon_assets.stores.choice import open_store

JAPAN = h3.latlng_to_cell(35.68, 139.69, 8)


@pytest.fixture
def rows(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    made = people()
    gate.write(workspace, made)
    return made


def release_of(product: Product) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Public flows and zones."""
    store = open_store(product)
    release = store.released(product.product, DAY)
    assert release is not None
    return store.flows(release), store.zones(release)


def travellers(rows: pd.DataFrame, n: int) -> pd.DataFrame:
    """The town with n of its people on a trip to the other end of the world."""
    return pd.concat([rows, rows.drop_duplicates("person").head(n).assign(destination=JAPAN)], ignore_index=True)


def test_one_trip_to_another_continent_changes_nothing_that_is_published(workspace: Path, rows: pd.DataFrame) -> None:
    near = town(workspace, "near")
    gate.published(near)
    (workspace / "far").mkdir()
    some = travellers(rows, 9)
    gate.write(workspace / "far", some.assign(person="far " + some["person"]))  # or the auditor would compare the two
    far = town(workspace / "far", "far")
    gate.published(far)
    shown = ["origin_zone", "destination_zone", "trips", "persons_band"]
    for one, other in zip(release_of(near), release_of(far), strict=True):
        columns = [name for name in one if name in shown or name in ("zone_id", "n_tiles")]
        pd.testing.assert_frame_equal(one[columns], other[columns])


def test_where_k_people_go_the_map_reaches(workspace: Path, rows: pd.DataFrame) -> None:
    gate.write(workspace, travellers(rows, 12))
    product = town(workspace, anonymize={"plugin": "atg-joint", "k": 10, "suppression": 0.0})
    gate.published(product)
    flows, _ = release_of(product)
    assert JAPAN in set(flows["destination_zone"])


@pytest.mark.parametrize("hierarchy", ["ward", {"plugin": "h3", "coverage": "observed"}])
def test_areas_of_visited_tiles_are_refused_with_a_sentence(workspace: Path, rows: pd.DataFrame, hierarchy) -> None:
    with pytest.raises(OdanonError, match="would list only tiles that somebody visited"):
        gate.made(town(workspace, hierarchy=hierarchy))


@pytest.mark.parametrize("algorithm", ["mondrian", "glove"])
def test_boxes_around_visited_cells_are_not_published(workspace: Path, rows: pd.DataFrame, algorithm: str) -> None:
    product = town(workspace, anonymize={"plugin": algorithm, "k": 10})
    gate.made(product)
    with pytest.raises(OdanonError, match="visited-areas"):
        gate.publish(product)
    assert open_store(product).released(product.product, DAY) is None


def test_boxes_over_zones_that_are_all_known_are(workspace: Path, rows: pd.DataFrame) -> None:
    from geopandas import GeoDataFrame
    from shapely import Polygon

    cells = sorted({*TILES, *(cell for tile in TILES for cell in h3.grid_disk(tile, 1))})
    shapes = [Polygon([(lon, lat) for lat, lon in h3.cell_to_boundary(cell)]) for cell in cells]
    called = [f"Place {number}" for number in range(len(cells))]
    GeoDataFrame({"zone": cells, "called": called}, geometry=shapes, crs="EPSG:4326").to_file(workspace / "zones.gpkg")
    zoning = {"plugin": "polygons", "path": str(workspace / "zones.gpkg"), "id": "zone", "name": "called"}
    product = town(workspace, zoning=zoning, hierarchy="ward", anonymize={"plugin": "mondrian", "k": 10})
    gate.published(product)
    flows, zones = release_of(product)
    assert flows["origin_zone"].str.startswith("box ").any()
    name = dict(zip(cells, called, strict=True))
    for zone, told, tiles in zip(zones["zone_id"], zones["name"], zones["tiles"], strict=True):
        inside = {name[tile] for tile in tiles}
        assert told == name.get(zone) if len(inside) == 1 else any(told.startswith(each) for each in inside)
    listed = {tile for tiles in zones["tiles"] for tile in tiles}
    assert listed > {*rows["origin"], *rows["destination"]}  # zones that nobody visited as well


def test_a_grid_needs_bounds(workspace: Path, rows: pd.DataFrame) -> None:
    ends = {side: [h3.cell_to_latlng(cell) for cell in rows[side]] for side in ("origin", "destination")}
    bounds = {"plugin": "grid", "cell_m": 500, "crs": "EPSG:2154", "bounds": [4.7, 45.6, 5.0, 45.9]}
    zoning = registry.create("zoning", "grid", {name: value for name, value in bounds.items() if name != "plugin"})
    labels = {side: zoning.assign(*zip(*places, strict=True)) for side, places in ends.items()}
    gate.write(workspace, rows.assign(**labels))
    without = {name: value for name, value in bounds.items() if name != "bounds"}
    with pytest.raises(OdanonError, match="a grid with bounds"):
        gate.made(town(workspace, "unbounded", zoning=without, hierarchy="quadtree"))
    product = town(workspace, zoning=bounds, hierarchy="quadtree")
    gate.published(product)
    assert len(release_of(product)[0])
