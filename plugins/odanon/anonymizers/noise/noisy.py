"""Releases whose counts carry noise: the flows are given, not added up from the matrix."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.model.areas import Areas
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release, kinds

Ints = npt.NDArray[np.int64]


def noisy_release(
    od: ODMatrix,
    origins: Hierarchy,
    destinations: Hierarchy,
    flows: tuple[Ints, Ints, Ints],
    pair_key: Ints,
    parameters: dict[str, Any],
    metrics: dict[str, Any],
) -> Release:
    """Assemble from published (origin node, destination node, noisy trips), sorted by node.

    `pair_key` is origin node * number of destination nodes + destination node of every input pair, published or not.
    People are not counted: a true count beside noisy trips would undo the noise.
    """
    o_node, d_node, trips = flows
    keys = o_node * len(destinations) + d_node
    at = np.searchsorted(keys, pair_key)
    at[at == len(keys)] = 0
    found = keys[at] == pair_key if len(keys) else np.zeros(len(pair_key), dtype=np.bool_)
    sides = {"origin": (origins, o_node), "destination": (destinations, d_node)}
    areas, table = {}, {}
    for side, (tree, node) in sides.items():
        used, code = np.unique(node, return_inverse=True)
        areas[side] = Areas.from_nodes(tree, used)
        table[side] = pd.Categorical.from_codes(code, categories=pd.Index(tree.label[used], dtype="str"))
        table[f"{side}_tiles"] = tree.n_tiles[node]
    unknown = pd.array([pd.NA] * len(trips), dtype="Int64")
    ranks = {"origin": od.pairs.origin, "destination": od.pairs.destination}
    tiles = {
        side: pd.Categorical.from_codes(ranks[side], categories=pd.Index(tree.label[tree.tiles], dtype="str"))
        for side, (tree, _) in sides.items()
    }
    return Release(
        flows=pd.DataFrame(
            {
                "origin": table["origin"],
                "destination": table["destination"],
                "kind": kinds(np.zeros(len(trips), dtype=np.bool_)),
                "trips": trips,
                "persons": unknown,
                "origin_tiles": table["origin_tiles"],
                "destination_tiles": table["destination_tiles"],
            }
        ),
        assignment=pd.DataFrame({**tiles, "trips": od.pairs.trips, "flow": np.where(found, at, -1)}),
        origins=areas["origin"],
        destinations=areas["destination"],
        parameters=parameters,
        metrics=metrics,
    )
