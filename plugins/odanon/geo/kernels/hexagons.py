"""Which hexagon of a face of the icosahedron a point lies in."""

from math import cos, floor, radians, sin, sqrt

import numpy as np
from numba import njit

_HALF_HEIGHT = sqrt(3) / 2  # of a row of hexagons whose centres are one apart
_FACE_BITS, _ROW_BITS = 58, 29


@njit(cache=True, nogil=True)
def hexagon_of(lat, lon, faces, scale, turn_cos, turn_sin, sure, sure_face, near, key):
    """Write into `key` one number a hexagon, the same for all points in it; -1 for points too close to an edge to be sure.

    `faces` are 20 frames of three unit vectors: the middle of a face, towards one of its corners, and leftwards of that. A point is
    projected from the centre of the earth on the plane of the face whose middle is closest; there the centres of hexagons are
    a lattice, which is turned against the corner, and `scale` is one over their distance. Left out are points within `sure`
    of an edge (in distances of centres), of which two faces are within `sure_face` (as cosines), or `near` the middle of one.
    """
    for n in range(len(lat)):
        phi, lam = radians(lat[n]), radians(lon[n])
        px, py, pz = cos(phi) * cos(lam), cos(phi) * sin(lam), sin(phi)
        best, second, face = -2.0, -2.0, 0
        for f in range(20):
            along = px * faces[f, 0, 0] + py * faces[f, 0, 1] + pz * faces[f, 0, 2]
            if along > best:
                best, second, face = along, best, f
            elif along > second:
                second = along
        key[n] = -1
        if best - second < sure_face or best > near:
            continue
        x = (px * faces[face, 1, 0] + py * faces[face, 1, 1] + pz * faces[face, 1, 2]) / best * scale
        y = (px * faces[face, 2, 0] + py * faces[face, 2, 1] + pz * faces[face, 2, 2]) / best * scale
        x, y = x * turn_cos + y * turn_sin, y * turn_cos - x * turn_sin
        # The closest of the four centres around; the others are further than an edge.
        row, column = floor(y / _HALF_HEIGHT), floor(x - y / _HALF_HEIGHT / 2)
        closest, at_row, at_column = np.inf, 0, 0
        for r in range(row, row + 2):
            for c in range(column, column + 2):
                away = (x - c - r / 2) ** 2 + (y - r * _HALF_HEIGHT) ** 2
                if away < closest:
                    closest, at_row, at_column = away, r, c
        dx, dy = abs(x - at_column - at_row / 2), abs(y - at_row * _HALF_HEIGHT)
        if max(dx, dx / 2 + dy * _HALF_HEIGHT) < 0.5 - sure:
            key[n] = (
                (np.int64(face) << _FACE_BITS)
                + (np.int64(at_row + (1 << _ROW_BITS - 1)) << _ROW_BITS)
                + np.int64(at_column + (1 << _ROW_BITS - 1))
            )
