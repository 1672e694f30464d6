"""Trip by trip from home on, by the chances of each step (003 section 5.3.2)."""

import numpy as np
import numpy.typing as npt

from odanon.demand.draws import nth
from odanon.demand.matrices import Matrices
from odanon.demand.placers.agenda import Agenda
from odanon.demand.placers.placer import Ints, Travellers
from odanon.plugin import plugin


@plugin
class NaiveForward:
    """Draws the end of every trip from where the one before ended; nobody returns but by chance. Fits matrices best, breaks agendas."""

    def place(self, travellers: Travellers, matrices: Matrices) -> list[Ints]:
        return _placed(travellers, matrices, linked=False)


@plugin
class LinkedForward:
    """The same, but a place that has a zone keeps it, so that people return."""

    def place(self, travellers: Travellers, matrices: Matrices) -> list[Ints]:
        return _placed(travellers, matrices, linked=True)


def _placed(travellers: Travellers, matrices: Matrices, linked: bool) -> list[Ints]:
    chances = matrices.transitions[0]
    # Rows one after the other, each from its number to the next: one search finds the column in any row.
    zones = chances.shape[1]
    laid = (np.cumsum(chances, axis=2) / chances.sum(axis=2, keepdims=True)).reshape(-1, zones)
    laid = (laid + np.arange(len(laid))[:, None]).ravel()
    return [
        _walk(agenda, travellers.home[who], travellers.own[who], laid, zones, linked)
        for agenda, who in travellers.by_agenda()
    ]


def _walk(
    agenda: Agenda,
    home: Ints,
    own: npt.NDArray[np.uint64],
    laid: npt.NDArray[np.float64],
    zones: int,
    linked: bool,
) -> Ints:
    at = np.empty((len(home), len(agenda.steps) + 1), np.int64)
    at[:, 0] = home
    first = {0: 0}  # the activity at which each place got its zone
    for number, (_, place, step) in enumerate(agenda.trips, 1):
        if linked and place in first:
            at[:, number] = at[:, first[place]]
            continue
        first.setdefault(place, number)
        row = step * zones + at[:, number - 1]
        found = np.searchsorted(laid, row + nth(own, number), side="right")
        at[:, number] = np.clip(found - row * zones, 0, zones - 1)
    return at
