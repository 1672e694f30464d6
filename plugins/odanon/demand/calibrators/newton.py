"""One step of Newton's method on a convex function, shortened until the function falls.

Sums are made here in one order: libraries of linear algebra add in another one for another number of cores, and the same seed would not
give the same bytes.
"""

from collections.abc import Callable

import numpy as np

from odanon.demand.calibrators.system import Floats


def descended(value: Callable[[Floats], float], y: Floats, way: Floats, slope: Floats) -> Floats:
    """As far along the way as the function falls by a part of what its slope promises."""
    start, promised, length = value(y), product(slope, way), 1.0
    while length > 1e-12:
        found = value(y + length * way)
        if np.isfinite(found) and found <= start + 1e-4 * length * promised + 1e-12 * abs(start):
            break
        length /= 2
    return y + length * way


def product(a: Floats, b: Floats) -> float:
    """The sum of the products of two rows of numbers."""
    return float((a * b).sum())


def solved(curved: Floats, right: Floats) -> Floats:
    """x with curved x = right, by elimination with the largest pivot of each column."""
    rows, size = np.column_stack([curved, right]), len(right)
    for at in range(size):
        largest = at + int(np.argmax(np.abs(rows[at:, at])))
        rows[[at, largest]] = rows[[largest, at]]
        rows[at + 1 :, at:] -= (rows[at + 1 :, at] / rows[at, at])[:, None] * rows[at, at:]
    x = np.zeros(size)
    for at in reversed(range(size)):
        x[at] = (rows[at, size] - product(rows[at, at + 1 : size], x[at + 1 :])) / rows[at, at]
    return x
