"""A hierarchy as one Parquet file: a row per node in post-order, names of places where there are any, kind and coverage in the file's metadata."""

from pathlib import Path
from typing import BinaryIO

import numpy as np

from odanon.errors import OdanonError
from odanon.model.hierarchy import FloatArray, Hierarchy, IntArray

_COLUMNS = ("label", "parent", "n_tiles", "level")
_CENTROIDS = ("lat", "lon")  # NaN at inner nodes, and at tiles that are not placed
_NAME = "name"  # where some node has one
_KIND, _COVERAGE = b"odanon.hierarchy.kind", b"odanon.hierarchy.coverage"


def to_parquet(tree: Hierarchy, path: str | Path | BinaryIO) -> None:
    """Write a tree; the same tree always gives the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"label": pa.array(tree.label, pa.string())}
    columns |= {name: pa.array(getattr(tree, name)) for name in _COLUMNS[1:]}
    columns |= {name: pa.array(_by_node(tree, getattr(tree, name))) for name in _CENTROIDS}
    if tree.name is not None:
        columns[_NAME] = pa.array(tree.name, pa.string())
    table = pa.table(columns).replace_schema_metadata({_KIND: tree.kind, _COVERAGE: tree.coverage})
    pq.write_table(table, path, compression="zstd")


def from_parquet(path: str | Path | BinaryIO) -> Hierarchy:
    """Read a tree back; a file that is not a hierarchy in post-order is refused."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid as error:
        raise OdanonError(f"{path} is not a readable Parquet file; build the hierarchy again") from error
    metadata = table.schema.metadata or {}
    if {*_COLUMNS, *_CENTROIDS} - set(table.column_names) or _KIND not in metadata or not table.num_rows:
        raise OdanonError(f"{path} is not a hierarchy written by odanon; build the hierarchy again")
    arrays = {name: table[name].to_numpy() for name in _COLUMNS[1:]}
    if not _in_post_order(arrays["parent"]):
        raise OdanonError(f"{path} holds nodes that are not in post-order; build the hierarchy again")
    label = np.array(table["label"].to_pylist(), dtype=object)
    tree = Hierarchy(label=label, kind=metadata[_KIND].decode(), coverage=metadata[_COVERAGE].decode(), **arrays)
    if _NAME in table.column_names:
        tree = tree.named(label, np.array(table[_NAME].to_pylist(), dtype=object))
    return tree.placed(label, *(table[name].to_numpy() for name in _CENTROIDS))


def _by_node(tree: Hierarchy, centroid: FloatArray | None) -> FloatArray:
    values = np.full(len(tree), np.nan)
    if centroid is not None:
        values[tree.tiles] = centroid
    return values


def _in_post_order(parent: IntArray) -> bool:
    """One root at the end, every parent after its children, every subtree a contiguous run of ids."""
    n = len(parent)
    if parent[-1] != -1 or not ((parent[:-1] > np.arange(n - 1)) & (parent[:-1] < n)).all():
        return False
    size = [1] * n
    for node, up in enumerate(parent[:-1].tolist()):
        size[up] += size[node]
    start = np.arange(n) - np.array(size)
    return bool((start[:-1] >= start[parent[:-1]]).all())
