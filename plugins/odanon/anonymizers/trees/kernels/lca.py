"""The LCA of two tiles, from the table of `trees.lca`."""

from numba import njit


@njit(cache=True, nogil=True)
def lca(table, exponent, first, last):
    """The lowest node above the tiles of ranks first < last."""
    j = exponent[last - first]
    return max(table[j, first], table[j, last - (1 << j)])
