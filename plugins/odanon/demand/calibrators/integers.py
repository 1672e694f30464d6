"""Whole agents from coefficients (003 section 4.2.2)."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from odanon.demand.draws import generator, uniform

Method = Literal["trs", "proportional"]


def copies(
    coefficient: npt.NDArray[np.float64], seed: int, method: Method = "trs", purpose: str = "copies"
) -> npt.NDArray[np.int64]:
    """How often each agent is there; draws for another purpose are others.

    trs (truncate, replicate, sample): as often as the whole part says, and once more with the probability of the rest. proportional: a fixed number of
    agents, the sum of coefficients, is drawn in proportion to them.
    """
    if method == "proportional":
        total = float(coefficient.sum())
        drawn = generator(seed, purpose).multinomial(round(total), coefficient / total)
        return drawn.astype(np.int64)
    whole = np.floor(coefficient)
    once_more = uniform(seed, purpose, len(coefficient)) < coefficient - whole
    return whole.astype(np.int64) + once_more
