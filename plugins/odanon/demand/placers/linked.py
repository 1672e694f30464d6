"""All places of an agenda together, by a product over its trips (003 section 5.3.2)."""

from collections.abc import Callable
from functools import partial

import numpy as np

from odanon.demand.matrices import Matrices
from odanon.demand.placers.agenda import Agenda, Exponent, Pair
from odanon.demand.placers.exact import Floats, places_of
from odanon.demand.placers.placer import Ints, Travellers
from odanon.plugin import parameter, plugin


@plugin
class LinkedMcmc:
    """Places by the product of the chances of all trips. People return, and flows gather where they are large already."""

    warm_up: int = parameter(50, "rounds of Gibbs sampling for agendas whose places close a loop", ge=1)

    def place(self, travellers: Travellers, matrices: Matrices) -> list[Ints]:
        chances = matrices.possible
        return _placed(
            travellers, lambda agenda: _products(agenda, "trips", lambda step, _: chances[step], 1), self.warm_up
        )


@plugin
class FactorGraph:
    """Places by the product of flows, each to the power of one by their number between two places, so that pairs are as frequent as flows."""

    exponent: Exponent = parameter("trips", "what is counted between two places: trips, or the factors of the thesis")
    unseen: float = parameter(
        1e-3, "share of trips that is spread over pairs that the matrices do not show", ge=0, lt=1
    )
    warm_up: int = parameter(50, "rounds of Gibbs sampling for agendas whose places close a loop", ge=1)

    def place(self, travellers: Travellers, matrices: Matrices) -> list[Ints]:
        powers = partial(matrices.powers, self.unseen)
        return _placed(travellers, lambda agenda: _products(agenda, self.exponent, powers, None), self.warm_up)


def _products(
    agenda: Agenda, exponent: Exponent, table: Callable[[int, float], Floats], power: float | None
) -> dict[Pair, Floats]:
    """The potential of every two places between which there are trips; without a power, one by their number."""
    made = {}
    for pair, factors in agenda.counted(exponent).items():
        number = sum(times for _, _, times in factors)
        product = None
        for step, forward, times in factors:
            part = table(step, times * (1 / number if power is None else power))
            part = part if forward else part.T
            product = part if product is None else product * part
        made[pair] = np.asarray(product)
    return made


def _placed(travellers: Travellers, potentials: Callable[[Agenda], dict[Pair, Floats]], warm_up: int) -> list[Ints]:
    made = []
    for agenda, who in travellers.by_agenda():
        zones = places_of(agenda.size, potentials(agenda), travellers.home[who], travellers.own[who], warm_up)
        made.append(zones[:, list(agenda.places)])
    return made
