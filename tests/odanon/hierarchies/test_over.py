"""Which tiles a hierarchy stands on."""

from pathlib import Path

import geopandas
import pandas as pd
from shapely.geometry import box

from odanon.hierarchies.h3 import H3Hierarchy
from odanon.hierarchies.over import tree_over
from odanon.hierarchies.ward import WardHierarchy
from odanon.zoning.h3 import H3Zoning
from odanon.zoning.polygons import PolygonZoning
from odanon.zoning.voronoi import VoronoiZoning


def test_areas_of_polygons_do_not_tell_which_zones_were_visited(tmp_path: Path) -> None:
    squares = [box(4 + x / 100, 45, 4.01 + x / 100, 45.01) for x in range(6)]
    layer = geopandas.GeoDataFrame({"zone": list("abcdef")}, geometry=squares, crs="EPSG:4326")
    layer.to_file(tmp_path / "zones.gpkg")
    zoning = PolygonZoning(path=tmp_path / "zones.gpkg", id="zone")
    monday, tuesday = (tree_over(zoning, WardHierarchy(), day)[1] for day in (["a", "b"], ["f"]))
    assert sorted(monday.label[monday.tiles]) == list("abcdef")
    assert monday.label.tolist() == tuesday.label.tolist()
    assert monday.coverage == "full"


def test_the_same_holds_for_antennas(tmp_path: Path) -> None:
    sites = pd.DataFrame({"id": list("abc"), "lat": [45.0, 45.01, 45.02], "lon": [4.0, 4.01, 4.0]})
    sites.to_csv(tmp_path / "sites.csv", index=False)
    _, tree = tree_over(VoronoiZoning(antennas=tmp_path / "sites.csv"), WardHierarchy(), ["b"])
    assert sorted(tree.label[tree.tiles]) == list("abc")


def test_h3_has_no_end_so_its_tree_holds_the_visited_cells() -> None:
    zoning = H3Zoning(resolution=8)
    cell = str(zoning.assign([45.0], [4.0])[0])
    _, tree = tree_over(zoning, H3Hierarchy(), [cell])
    assert tree.label[tree.tiles].tolist() == [cell]
