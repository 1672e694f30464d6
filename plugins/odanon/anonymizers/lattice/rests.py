"""Rests: what the optimum suppresses is told coarsely instead of left out (ALGORITHMS, ATG-Lattice)."""

from dataclasses import replace

import numpy as np

from odanon.anonymizers.lattice import kernels
from odanon.anonymizers.lattice.settled import Settled
from odanon.anonymizers.trees.problem import Problem


def with_rests(problem: Problem, settled: Settled) -> Settled:
    """Tile pairs of no flow end at the first decision above where all that is pooled there keeps the promise.

    People are counted as the union of the pooled rows; what still falls short at the top ends nowhere.
    """
    waiting = (settled.owner >= 0) & ~settled.published[settled.owner]
    owner = np.where(waiting, settled.owner, -1)
    fits = problem.fits[settled.origin] & problem.destination_fits[settled.destination]
    if problem.by_person:
        owner = owner[problem.od.row_pair]
    home = kernels.pool(settled.parent, fits, owner, problem.entries, problem.shift, problem.test, problem.marks())
    if problem.by_person:
        home = home[problem.od.pair_start]
    return replace(settled, owner=np.where(waiting, home, settled.owner))
