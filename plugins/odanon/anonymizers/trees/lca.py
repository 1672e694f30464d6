"""Lowest common ancestors of tiles in O(1): post-order ids make the LCA of a run of tiles a range maximum."""

import numpy as np
import numpy.typing as npt

from odanon.model.hierarchy import Hierarchy


def lca_table(tree: Hierarchy) -> npt.NDArray[np.int32]:
    """Sparse table over the LCAs of neighbouring tile ranks: row j holds maxima of runs of 2^j neighbours."""
    boundary = tree.next_lca if tree.n_leaves > 1 else np.zeros(1, dtype=np.int32)
    rows = [boundary]
    step = 1
    while 2 * step <= len(boundary):
        previous, merged = rows[-1], rows[-1].copy()
        np.maximum(previous[:-step], previous[step:], out=merged[:-step])
        rows.append(merged)
        step *= 2
    return np.stack(rows)


def floor_log2(largest: int) -> npt.NDArray[np.uint8]:
    """Exponents of the highest set bit of 0..largest (0 for 0): one cached load instead of a library call."""
    exponent = np.zeros(largest + 1, dtype=np.uint8)
    power = 1
    while 2 << (power - 1) <= largest:
        exponent[1 << power :] = power
        power += 1
    return exponent
