"""What areas are called: by zoning and hierarchy, as one line of plain text."""

from itertools import pairwise
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely import box

from odanon.errors import OdanonError
from odanon.geo.placenames import LONGEST, LONGEST_JOINED, is_plain, joined_name, plain_names
from odanon.hierarchies.admin import AdminHierarchy, AdminLevel
from odanon.hierarchies.over import tree_over
from odanon.hierarchies.table import TableHierarchy
from odanon.hierarchies.ward import WardHierarchy
from odanon.model.files.trees import from_parquet, to_parquet
from odanon.model.hierarchy import Hierarchy
from odanon.model.tiles import Tiles
from odanon.model.zones import as_told, zones_table
from odanon.plugin import parameters_of
from odanon.zoning.polygons import PolygonZoning
from odanon.zoning.voronoi import VoronoiZoning

WIDTHS = (1, 3, 2, 1, 1)  # of a row of places in hundredths of a degree: the second is the largest
NAMES = ["Harbour", "Old Town", "Mills", None, "  Park \n& <b>Ride</b> "]


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    east = np.cumsum((0, *WIDTHS)) / 100
    shapes = [box(4 + a, 45, 4 + b, 45.01) for a, b in pairwise(east)]
    layer = gpd.GeoDataFrame({"zone": list("abcde"), "called": NAMES}, geometry=shapes, crs="EPSG:4326")
    layer.to_parquet(tmp_path / "zones.parquet")
    return tmp_path / "zones.parquet"


def table(tiles: Tiles, tree: Hierarchy) -> gpd.GeoDataFrame:
    return zones_table(tree, tiles, np.arange(len(tree))).set_index("zone_id")


def test_tiles_have_the_names_of_their_column_and_areas_those_with_most_ground(layer: Path) -> None:
    tiles, tree = tree_over(PolygonZoning(path=layer, id="zone", name="called"), WardHierarchy(), ["a"])
    zones = table(tiles, tree)
    assert zones.loc[list("abce"), "name"].tolist() == ["Harbour", "Old Town", "Mills", "Park & <b>Ride</b>"]
    assert pd.isna(zones.loc["d", "name"])
    (root,) = zones.index[zones["n_tiles"] == 5]
    assert zones.loc[root, "name"] == "Old Town, Mills and 2 more"  # of four names; nobody names the fifth place
    assert all(is_plain(name) for name in zones["name"].dropna())


def test_without_names_nothing_is_different(layer: Path, tmp_path: Path) -> None:
    zoning = PolygonZoning(path=layer, id="zone")
    assert "name" not in parameters_of(zoning)
    assert "name" not in parameters_of(AdminLevel(path=layer, id="zone"))
    assert "name" not in parameters_of(VoronoiZoning(antennas=layer))
    tiles, tree = tree_over(zoning, WardHierarchy(), ["a"])
    assert tree.name is None
    assert "name" not in as_told(zones_table(tree, tiles, np.arange(len(tree))))
    to_parquet(tree, tmp_path / "tree.parquet")
    assert "name" not in pd.read_parquet(tmp_path / "tree.parquet")


def test_a_tree_keeps_its_names_in_its_file(layer: Path, tmp_path: Path) -> None:
    _, tree = tree_over(PolygonZoning(path=layer, id="zone", name="called"), WardHierarchy(), ["a"])
    to_parquet(tree, tmp_path / "tree.parquet")
    again = from_parquet(tmp_path / "tree.parquet")
    assert tree.name is not None
    assert again.name is not None
    assert again.name.tolist() == tree.name.tolist()


def test_units_have_names_of_their_own_or_none(layer: Path, tmp_path: Path) -> None:
    halves = gpd.GeoDataFrame(
        {"half": ["w", "e"], "title": ["West End", None]},
        geometry=[box(4, 45, 4.04, 45.01), box(4.04, 45, 4.08, 45.01)],
        crs="EPSG:4326",
    )
    halves.to_parquet(tmp_path / "halves.parquet")
    levels = [AdminLevel(path=tmp_path / "halves.parquet", id="half", name="title")]
    tiles, tree = tree_over(PolygonZoning(path=layer, id="zone", name="called"), AdminHierarchy(levels=levels), ["a"])
    called = table(tiles, tree)["name"]
    assert called["half:w"] == "West End"
    assert pd.isna(called["half:e"])  # its id is what people gave it
    assert pd.isna(called["all"])
    assert called["a"] == "Harbour"


def test_areas_of_a_table_go_by_their_own_ids(layer: Path, tmp_path: Path) -> None:
    edges = pd.DataFrame({"child": list("abcde"), "parent": ["Coast"] * 2 + ["Hills"] * 3})
    edges.to_csv(tmp_path / "tree.csv", index=False)
    zoning = PolygonZoning(path=layer, id="zone", name="called")
    zones = table(*tree_over(zoning, TableHierarchy(path=tmp_path / "tree.csv"), ["a"]))
    assert zones.loc[["Coast", "Hills"], "name"].isna().all()


def test_antennas_have_names_and_those_at_one_place_share_the_first_ones(tmp_path: Path) -> None:
    sites = pd.DataFrame(
        {
            "id": list("cab"),
            "lat": [45.0, 45.01, 45.0],
            "lon": [4.0, 4.01, 4.0],
            "town": ["Third", "First", "Second"],
        }
    )
    sites.to_csv(tmp_path / "sites.csv", index=False)
    zoning = VoronoiZoning(antennas=tmp_path / "sites.csv", name="town")
    tiles = zoning.tiles(zoning.every_label)
    assert tiles.name is not None
    assert dict(zip(tiles.label, tiles.name, strict=True)) == {"a": "First", "b": "Second"}


def test_the_order_of_rows_does_not_matter_where_those_of_one_id_differ(tmp_path: Path) -> None:
    told = gpd.GeoDataFrame(
        {"zone": list("aab"), "called": ["Quay", "Dock", "Hill"]},
        geometry=[box(at, 0, at + 1, 1) for at in range(3)],
        crs="EPSG:4326",
    )
    for rows in (told, told[::-1]):
        rows.to_parquet(tmp_path / "zones.parquet")
        tiles = PolygonZoning(path=tmp_path / "zones.parquet", id="zone", name="called").tiles(["a", "b"])
        assert tiles.name is not None
        assert tiles.name.tolist() == ["Dock", "Hill"]


def test_mistakes_are_told_without_a_name(layer: Path) -> None:
    with pytest.raises(OdanonError, match="no column 'nobody'"):
        PolygonZoning(path=layer, id="zone", name="nobody").tiles(["a"])
    with pytest.raises(OdanonError, match=f"1 of 2 names of places in here have more than {LONGEST}") as found:
        plain_names(["x" * (LONGEST + 1), "fine"], "here")
    assert "xxx" not in str(found.value)


class Stranger:
    """A zoning of another package that hands over whatever it likes."""

    def __init__(self, zoning: PolygonZoning, names: list[object]) -> None:
        self._zoning, self._names = zoning, names

    def assign(self, lat: np.ndarray, lon: np.ndarray) -> np.ndarray:
        return self._zoning.assign(lat, lon)

    def tiles(self, labels: object) -> Tiles:
        known = self._zoning.tiles(list("abcde"))
        name = np.array(self._names, dtype=object)
        return Tiles(known.label, known.lat, known.lon, known.kind, known.draw, name=name)


def test_names_of_other_packages_become_plain_text(layer: Path) -> None:
    names: list[object] = ["a\0b", "\u202eevil\u202c", 7, "line\u2028break\r\n", ""]
    tiles, tree = tree_over(Stranger(PolygonZoning(path=layer, id="zone"), names), WardHierarchy(), ["a"])
    called = table(tiles, tree)["name"]
    assert called[list("abd")].tolist() == ["a b", "evil", "line break"]
    assert called[list("ce")].isna().all()


@given(st.lists(st.text(max_size=60) | st.none(), min_size=1, max_size=8))
def test_whatever_a_file_says_a_name_is_one_plain_line(told: list[str | None]) -> None:
    names = plain_names(told, "a file")
    assert all(name is None or is_plain(name) for name in names)
    assert plain_names(names, "a file").tolist() == names.tolist()  # once is enough
    whole = joined_name(names, np.ones(len(names)))
    assert (whole is None) == all(name is None for name in names)
    assert whole is None or (is_plain(whole) and len(whole) <= LONGEST_JOINED)


def test_an_area_is_called_by_up_to_three_places() -> None:
    ground = np.array([1.0, 2.0, 2.0, 4.0, 1.0])
    names = np.array(["A", "B", "C", "D", "A"], dtype=object)
    assert joined_name(names[:1], ground[:1]) == "A"
    assert joined_name(names[:2], ground[:2]) == "B and A"
    assert joined_name(names[:3], ground[:3]) == "B, C and A"  # of equal ground, in the order of names
    assert joined_name(names, ground) == "D, A and 2 more"  # A is two places of one name


def test_an_area_has_the_same_outline_whatever_others_are_asked_for(layer: Path) -> None:
    tiles, tree = tree_over(PolygonZoning(path=layer, id="zone"), WardHierarchy(), ["a"])
    alone = zones_table(tree, tiles, np.array([tree.root])).geometry.to_wkb().iloc[0]
    for node in range(len(tree) - 1):
        both = zones_table(tree, tiles, np.array([node, tree.root]))
        assert both.geometry.to_wkb().iloc[1] == alone
