"""The fitted reading: where in its areas a flow's trips are likely to be, learnt from all other published numbers.

Even spreading ignores what the rest of a release says. Here every part of the map gets a weight for what leaves it and one for what
enters it; each published number is spread in proportion to both, and the weights are the sums of what was spread, again and again
(ALGORITHMS, Readings). Nothing but published numbers comes in, so it costs no privacy.
"""

import numpy as np

from odanon.reconstruct.nested import Floats, Ints, Nested
from odanon.reconstruct.rests import Regions

_ROUNDS = 30
SMOOTHING = 0.005  # of the trips that tiles have on average, so that no part of the map gets nothing


def fitted_weights(
    origins: Nested, destinations: Nested, origin: Ints, destination: Ints, trips: Floats, around: Ints
) -> tuple[Floats, Floats]:
    """Weights of the own parts of both sides, each with sum 1; rows are (origin, destination, trips) and the row around."""
    leave, enter = (side.own / side.own.sum() for side in (origins, destinations))
    even = leave, enter
    volume = float(trips.sum())
    for _ in range(_ROUNDS if volume else 0):
        out, into = origins.total(leave)[origin], destinations.total(enter)[destination]
        density = Regions.measured(around, out * into).layered(trips)
        left = leave * origins.received(_sums(origin, density * into, len(leave)))
        entered = enter * destinations.received(_sums(destination, density * out, len(enter)))
        leave, enter = (
            _normal(np.maximum(got, 0.0) / volume + SMOOTHING * base)
            for got, base in zip((left, entered), even, strict=True)
        )
    return leave, enter


def _sums(number: Ints, values: Floats, length: int) -> Floats:
    return np.bincount(number, values, length).astype(np.float64)


def _normal(weight: Floats) -> Floats:
    return weight / weight.sum()
