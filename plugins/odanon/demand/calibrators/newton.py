"""One step of Newton's method on a convex function, shortened until the function falls."""

from collections.abc import Callable

import numpy as np

from odanon.demand.calibrators.system import Floats


def descended(value: Callable[[Floats], float], y: Floats, way: Floats, slope: Floats) -> Floats:
    """As far along the way as the function falls by a part of what its slope promises."""
    start, promised, length = value(y), float(slope @ way), 1.0
    while length > 1e-12:
        found = value(y + length * way)
        if np.isfinite(found) and found <= start + 1e-4 * length * promised + 1e-12 * abs(start):
            break
        length /= 2
    return y + length * way
