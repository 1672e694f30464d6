"""Boxes as areas: which tiles they touch, how large they count, what they are called and how they are drawn."""

import geopandas
import h3
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from placed_cities import grid_tree

from odanon.anonymizers.places.boxes import BoxSide
from odanon.anonymizers.places.kernels.boxes import tiles_in_boxes
from odanon.anonymizers.places.mondrian import Mondrian
from odanon.door import release
from odanon.errors import OdanonError
from odanon.geo.crs import local_crs, to_metres
from odanon.hierarchies.h3 import H3Hierarchy
from odanon.hierarchies.ward import WardHierarchy
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.zones import release_zones
from odanon.tables.read import TableInput
from odanon.zoning.grid import GridZoning
from odanon.zoning.h3 import H3Zoning

place = st.tuples(st.integers(-50, 50), st.integers(0, 30))


@given(st.lists(place, min_size=1, max_size=40), st.data())
def test_a_box_touches_the_tiles_within_reach(places, data):
    x, y = np.ascontiguousarray(np.array(places, dtype=np.int64).T)
    corner = st.sampled_from(range(len(places)))
    chosen = data.draw(st.lists(st.tuples(corner, corner), min_size=1, max_size=8))
    corners = [[min(x[a], x[b]), max(x[a], x[b]), min(y[a], y[b]), max(y[a], y[b])] for a, b in chosen]
    boxes = np.ascontiguousarray(np.array(corners).T)  # as the product passes them; other layouts are compiled anew
    reach = data.draw(st.integers(0, 10))
    start, members = tiles_in_boxes(x, y, boxes, reach)
    for n, (west, east, south, north) in enumerate(boxes.T.tolist()):
        near = [
            i
            for i, (px, py) in enumerate(places)
            if west - reach <= px <= east + reach and south - reach <= py <= north + reach
        ]
        assert members[start[n] : start[n + 1]].tolist() == near


def side(x: list[int], y: list[int]) -> BoxSide:
    return BoxSide(grid_tree(x, y), np.array(x), np.array(y))


def test_rows_of_tiles_a_little_out_of_line_still_count():
    areas = side([0, 100, 200], [0, 7, 0]).areas(np.array([[0, 200], [0, 0]]), np.array([1, 1]))[1]
    assert areas.n_tiles.tolist() == [3]


def test_a_box_over_irregular_polygons_has_every_tile_that_it_touches_and_no_other(tmp_path):
    corners = {
        "a": shapely.box(4.00, 45.00, 4.01, 45.01),
        "b": shapely.box(4.03, 45.00, 4.04, 45.01),
        "long": shapely.box(4.015, 44.70, 4.025, 45.02),  # its centre is far to the south
        "near": shapely.box(4.00, 45.012, 4.04, 45.016),  # its centre is close, and the box ends below it
    }
    layer = geopandas.GeoDataFrame({"id": list(corners)}, geometry=list(corners.values()), crs="EPSG:4326")
    layer.to_file(tmp_path / "zones.gpkg")
    rows = pd.DataFrame({"origin": ["a", "b"] * 3, "destination": "near", "person": range(6)})
    rows.to_parquet(tmp_path / "rows.parquet")
    table = TableInput(path=tmp_path / "rows.parquet", person="person", hierarchy="ward", zones=tmp_path / "zones.gpkg")
    loaded = table.load()
    made = release(loaded.matrices, loaded.tree, Mondrian(k=6), metrics=()).releases[None]
    box = made.origins
    assert sorted(loaded.tree.label[loaded.tree.tiles][box.members]) == ["a", "b", "long"]
    assert made.flows["origin_tiles"].tolist() == [3]


def test_boxes_with_the_same_tiles_are_one_area_and_a_box_of_one_tile_is_the_tile():
    grid = side([0, 100, 0, 100], [0, 0, 100, 100])
    points = np.array([[0, 100, 100, 0, 100], [0, 100, 0, 100, 0]])
    nodes, areas = grid.areas(points, np.array([7, 7, 8, 8, 3]))
    assert nodes[:4].tolist() == [len(grid.tree)] * 4
    assert nodes[4] == grid.tree.tiles[1]
    assert areas.members.tolist() == [0, 1, 2, 3]


def test_names_depend_on_the_members_alone():
    one, other = side([0, 100, 300], [0, 0, 0]), side([300, 0, 100], [0, 0, 0])
    other = BoxSide(Hierarchy.from_parents(["t2", "t0", "t1", "all"], [3, 3, 3, -1], kind="x"), one.x, one.y)
    labels = [s.areas(np.array([[0, 100], [0, 0]]), np.zeros(2, int))[1].label.tolist() for s in (one, other)]
    assert labels[0] == labels[1]
    assert labels[0][0].startswith("box ")


def h3_trips(n: int = 900) -> tuple[H3Zoning, pd.DataFrame]:
    rng = np.random.default_rng(3)
    cells = np.array(sorted(h3.grid_disk(h3.latlng_to_cell(45.75, 4.85, 8), 4)), dtype=object)
    draw = lambda: cells[rng.integers(0, len(cells), n)]  # noqa: E731
    return H3Zoning(resolution=8), pd.DataFrame(
        {"origin": draw(), "destination": draw(), "person": rng.integers(0, 300, n)}
    )


def boxes_on_h3(coverage: str, keep: int):
    zoning, rows = h3_trips()
    rows = rows[rows["origin"].isin(rows["origin"].unique()[:keep])]
    tiles = zoning.tiles([*rows["origin"], *rows["destination"]])
    tree = H3Hierarchy(coverage=coverage).build(tiles)
    od = ODMatrix.from_frame(rows, tree, tree, trips=None)
    return tiles, tree, release({None: od}, tree, Mondrian(k=8)).releases[None]


def test_full_coverage_counts_tiles_without_traffic():
    _, _, observed = boxes_on_h3("observed", 20)
    _, _, full = boxes_on_h3("full", 20)
    assert observed.origins.n_tiles.tolist() == np.diff(observed.origins.start).tolist()
    assert (full.origins.n_tiles >= np.diff(full.origins.start)).all()
    assert full.metrics["Gbar"] > observed.metrics["Gbar"]


def test_full_coverage_is_close_to_the_hexagons_in_the_box():
    """In the middle of a disk of tiles both counts are known: every hexagon is listed."""
    centre = h3.latlng_to_cell(45.75, 4.85, 8)
    tiles = H3Zoning(resolution=8).tiles(list(h3.grid_disk(centre, 16)))
    tree = H3Hierarchy(coverage="full").build(tiles)
    x, y = (
        np.rint(100 * axis).astype(np.int64) for axis in to_metres(tree.lat, tree.lon, local_crs(tree.lat, tree.lon))
    )
    inner = tree.ranks(list(h3.grid_disk(centre, 7)))
    corner = np.random.default_rng(0).choice(inner, (2, 300)).ravel()
    _, areas = BoxSide(tree, x, y).areas(np.stack([x[corner], y[corner]]), np.tile(np.arange(300), 2))
    listed = np.diff(areas.start)
    assert abs(areas.n_tiles.sum() / listed.sum() - 1) < 0.05
    assert ((areas.n_tiles >= listed) & (areas.n_tiles <= 1.5 * listed + 2)).all()


def test_full_coverage_of_other_tiles_is_refused():
    plain = grid_tree([0, 1], [0, 0])
    tree = Hierarchy(plain.parent, plain.n_tiles + 1, plain.level, plain.label, "custom", "full", plain.lat, plain.lon)
    with pytest.raises(OdanonError, match="use one with coverage observed"):
        BoxSide(tree, np.array([0, 9]), np.array([0, 0])).areas(np.array([[0, 9], [0, 0]]), np.zeros(2, int))


def test_zones_of_boxes_are_the_unions_of_their_tiles():
    tiles, tree, release = boxes_on_h3("observed", 1000)
    zones = release_zones([release, release], tree, tiles).set_index("zone_id")
    assert set(zones.index) == {*release.flows["origin"], *release.flows["destination"]}
    assert zones.geometry.is_valid.all()
    cell = float(np.mean([h3.cell_area(label, unit="km^2") for label in tiles.label]))
    boxes = zones[zones.index.str.startswith("box ")]
    assert len(boxes)
    assert boxes["tiles"].map(len).tolist() == boxes["n_tiles"].tolist()
    assert np.allclose(boxes["area_km2"], boxes["n_tiles"] * cell, rtol=0.02)


def test_zones_of_boxes_over_grid_tiles():
    zoning = GridZoning(cell_m=500, crs="EPSG:2154")
    rng = np.random.default_rng(0)
    end = lambda: zoning.assign(45.75 + 0.02 * rng.random(400), 4.85 + 0.02 * rng.random(400))  # noqa: E731
    rows = pd.DataFrame({"origin": end(), "destination": end(), "person": range(400)})
    tiles = zoning.tiles([*rows["origin"], *rows["destination"]])
    tree = WardHierarchy().build(tiles)
    od = ODMatrix.from_frame(rows, tree, tree, trips=None)
    release = Mondrian().anonymize(od, tree, tree)
    zones = release_zones([release], tree, tiles)
    assert np.allclose(zones["area_km2"], 0.25 * zones["n_tiles"], rtol=0.02)
    assert all(shape.geom_type == "MultiPolygon" for shape in zones.geometry)
