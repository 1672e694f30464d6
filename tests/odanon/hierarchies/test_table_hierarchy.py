"""User-supplied trees."""

import numpy as np
import pandas as pd
import pytest
from random_trees import h3_tiles

from odanon.errors import OdanonError
from odanon.hierarchies.table import TableHierarchy
from odanon.model.tiles import unplaced
from odanon.model.zones import zones_table
from odanon.testing.hierarchies import check_hierarchy
from odanon.zoning.h3 import H3Zoning


@pytest.fixture
def tiles():
    return h3_tiles(3, spread=0.3)


def write(tmp_path, rows, name="tree.csv"):
    frame = pd.DataFrame(rows, columns=["child", "parent"])
    path = tmp_path / name
    frame.to_parquet(path) if name.endswith("parquet") else frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", ["tree.csv", "tree.parquet"])
def test_unequal_depths_single_children_and_unused_branches(tmp_path, tiles, name):
    a, b, c = tiles.label
    rows = [(a, "south"), (b, "chain"), (c, "north"), ("chain", "south"), ("south", "city"), ("north", "city")]
    rows += [("unused", "north"), ("city", None)]
    tree = TableHierarchy(path=write(tmp_path, rows, name)).build(tiles)
    edges = {(label, tree.label[up]) for label, up in zip(tree.label, tree.parent, strict=True) if up >= 0}
    assert edges == {row for row in rows if row[1] and row[0] != "unused"}
    assert tree.label[tree.root] == "city"
    assert tree.n_tiles[tree.root] == 3


@pytest.mark.parametrize("root_row", [[], [("city", None)], [("city", "city")]])
def test_ways_to_mark_the_root(tmp_path, tiles, root_row):
    rows = [(label, "city") for label in tiles.label] + root_row
    tree = TableHierarchy(path=write(tmp_path, rows)).build(tiles)
    assert tree.label[tree.root] == "city"


def test_several_roots_are_joined(tmp_path, tiles):
    rows = [(label, f"town {i}") for i, label in enumerate(tiles.label)]
    tree = TableHierarchy(path=write(tmp_path, rows)).build(tiles)
    assert tree.label[tree.root] == "all"
    assert len(tree) == 7


def test_other_column_names_and_repeated_rows(tmp_path, tiles):
    pd.DataFrame({"tile": [*tiles.label, tiles.label[0]], "zone": "city"}).to_csv(tmp_path / "t.csv")
    tree = TableHierarchy(path=tmp_path / "t.csv", child="tile", parent="zone").build(tiles)
    assert len(tree) == 4


def test_labels_without_a_place_are_enough(tmp_path):
    tree = TableHierarchy(path=write(tmp_path, [("a", "x"), ("b", "x")])).build(unplaced(["b", "a", "a"]))
    assert tree.label.tolist() == ["a", "b", "x"]
    with pytest.raises(OdanonError, match="cannot be drawn"):
        zones_table(tree, unplaced(["a", "b"]), np.array([tree.root]))


def test_mistakes_are_told(tmp_path, tiles):
    a, b, c = tiles.label
    for rows, message in [
        ([(a, "x"), (b, "x")], "1 of 3 tiles are missing"),
        ([(a, "x"), (b, "x"), (c, "x"), (a, "y")], "1 labels a second parent"),
        ([(a, "x"), (b, "x"), (c, "x"), ("d", a)], "1 tiles have children"),
        ([(a, "x"), (b, "x"), (c, "x"), ("x", "y"), ("y", "x")], "cycle"),
    ]:
        with pytest.raises(OdanonError, match=message):
            TableHierarchy(path=write(tmp_path, rows)).build(tiles)
    with pytest.raises(
        OdanonError, match=r"no column 'kid' \(for child\); name the column that holds it; it has child, parent"
    ):
        TableHierarchy(path=tmp_path / "tree.csv", child="kid").build(tiles)
    with pytest.raises(OdanonError, match="does not exist"):
        TableHierarchy(path=tmp_path / "none.csv").build(tiles)


def test_conformance(tmp_path):
    labels = h3_tiles(50).label
    path = write(tmp_path, [(label, label[:11]) for label in labels])
    check_hierarchy(TableHierarchy(path=path), H3Zoning(), labels)
