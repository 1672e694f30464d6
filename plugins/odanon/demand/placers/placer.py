"""What is placed: agents with a home and an agenda."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from odanon.demand.draws import nth
from odanon.demand.placers.agenda import Agenda

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Travellers:
    """Agents by number: the zone they live in, the agenda they have, and a random word each."""

    home: Ints
    agenda: Ints  # of `agendas`
    agendas: tuple[Agenda, ...]
    own: npt.NDArray[np.uint64]

    def by_agenda(self) -> list[tuple[Agenda, Ints]]:
        """The agents of every agenda that has trips."""
        order = np.argsort(self.agenda, kind="stable")
        edges = np.searchsorted(self.agenda[order], np.arange(len(self.agendas) + 1))
        return [
            (agenda, order[edges[number] : edges[number + 1]])
            for number, agenda in enumerate(self.agendas)
            if agenda.steps and edges[number] < edges[number + 1]
        ]

    def chances(self, who: Ints, number: int) -> npt.NDArray[np.float64]:
        """The random number, in [0, 1), of a draw of some agents: the same whoever else is placed."""
        return nth(self.own[who], number)
