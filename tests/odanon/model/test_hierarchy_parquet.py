"""Hierarchies survive Parquet, always as the same bytes."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from random_trees import h3_tiles, parent_lists

from odanon.errors import OdanonError
from odanon.hierarchies.h3 import H3Hierarchy
from odanon.model.files.trees import from_parquet, to_parquet
from odanon.model.hierarchy import Hierarchy


def dump(tree: Hierarchy) -> bytes:
    out = io.BytesIO()
    to_parquet(tree, out)
    return out.getvalue()


@given(parent_lists())
def test_round_trip(nodes):
    tree = Hierarchy.from_parents(*nodes, kind="some kind", coverage="observed")
    again = from_parquet(io.BytesIO(dump(tree)))
    for name in ("parent", "n_tiles", "level", "label", "tile_start"):
        assert np.array_equal(getattr(tree, name), getattr(again, name))
        assert getattr(tree, name).dtype == getattr(again, name).dtype
    assert (again.kind, again.coverage) == ("some kind", "observed")
    assert dump(again) == dump(tree)


def test_round_trip_through_a_file(tmp_path):
    tree = H3Hierarchy().build(h3_tiles(500))
    to_parquet(tree, tmp_path / "tree.parquet")
    again = from_parquet(tmp_path / "tree.parquet")
    assert again.coverage == "full"
    for name in ("n_tiles", "lat", "lon"):
        assert np.array_equal(getattr(again, name), getattr(tree, name))


def test_a_tree_without_centroids_stays_without():
    again = from_parquet(io.BytesIO(dump(Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0], kind="hand"))))
    assert again.lat is None
    assert again.lon is None


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"not parquet")
    with pytest.raises(OdanonError, match="not a readable Parquet file"):
        from_parquet(path)
    pd.DataFrame({"a": [1]}).to_parquet(path)
    with pytest.raises(OdanonError, match="not a hierarchy written by odanon"):
        from_parquet(path)


@pytest.mark.parametrize("parent", [[1, 0, -1], [-1, 2, -1], [2, 3, 4, 4, -1], [2, 7, -1]])
def test_nodes_out_of_order_are_refused(tmp_path, parent):
    n = len(parent)
    damaged = Hierarchy(
        parent=np.array(parent, np.int32),
        n_tiles=np.ones(n, np.int64),
        level=np.zeros(n, np.int16),
        label=np.array([str(i) for i in range(n)], dtype=object),
        kind="h3",
    )
    to_parquet(damaged, tmp_path / "x.parquet")
    with pytest.raises(OdanonError, match="not in post-order"):
        from_parquet(tmp_path / "x.parquet")
