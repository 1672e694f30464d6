"""Reading a release back at the tile pairs of the matrix, without ever making a dense one."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def spread_over_pairs(
    pair_origin, pair_destination, o_start, o_area, flow_start, flow_destination, share, d_start, d_area, n_areas
):
    """For every pair, the sum of `share` over the flows whose two areas hold its tiles.

    Pairs are sorted by origin. `o_start`, `o_area` list the origin areas around every tile, `d_start`, `d_area` the
    destination areas; the flows of origin area a are `flow_start[a]` to `flow_start[a + 1]`. One origin tile at a time,
    the shares of its flows are laid out by destination area and read by each of its pairs.
    """
    given = np.zeros(len(pair_origin))
    laid = np.zeros(n_areas)
    laid_for = np.full(n_areas, -1)
    pair = 0
    while pair < len(pair_origin):
        tile = pair_origin[pair]
        for i in range(o_start[tile], o_start[tile + 1]):
            for flow in range(flow_start[o_area[i]], flow_start[o_area[i] + 1]):
                area = flow_destination[flow]
                if laid_for[area] != tile:
                    laid_for[area] = tile
                    laid[area] = 0.0
                laid[area] += share[flow]
        while pair < len(pair_origin) and pair_origin[pair] == tile:
            for i in range(d_start[pair_destination[pair]], d_start[pair_destination[pair] + 1]):
                if laid_for[d_area[i]] == tile:
                    given[pair] += laid[d_area[i]]
            pair += 1
    return given
