"""Whether an assignment lists the tile pairs of its matrix; what reads it afterwards counts on their order."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.gate.coverage import Ints, codes_of
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix


def listed_flows(assignment: pd.DataFrame, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Ints | None:
    """The flow of every tile pair of a matrix, in the matrix's order.

    None unless the assignment lists each pair once, with its trips, and nothing else.
    """
    pairs = od.pairs
    told = [_ranks(assignment["origin"], origins), _ranks(assignment["destination"], destinations)]
    known: list[npt.NDArray] = [pairs.origin, pairs.destination]
    if pairs.time is not None and od.times is not None:
        told.append(_ranks(assignment["time"], od.times.tree))
        known.append(pairs.time)
    there, here = (np.lexsort(columns[::-1]) for columns in (told, known))
    told.append(assignment["trips"].to_numpy(np.int64))
    known.append(pairs.trips)
    if not all(np.array_equal(one[there], two[here]) for one, two in zip(told, known, strict=True)):
        return None
    flow = np.empty(len(here), dtype=np.int64)
    flow[here] = assignment["flow"].to_numpy(np.int64)[there]
    return flow


def _ranks(labels: pd.Series, tree: Hierarchy) -> Ints:
    """The tile of every label, -1 for strangers."""
    code, names = codes_of(labels)
    tiles = pd.Index(tree.label[tree.tiles], dtype="str")
    return np.append(tiles.get_indexer(pd.Index(names, dtype="str")), -1)[code]
