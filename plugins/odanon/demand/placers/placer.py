"""What is placed: agents with a home and an agenda, and the matrices that say where trips go."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from odanon.demand.matrices import Matrices
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


class Placer(Protocol):
    """A plugin of `odanon.placers`."""

    def place(self, travellers: Travellers, matrices: Matrices) -> list[Ints]:
        """For every entry of `travellers.by_agenda()`, the zones of its agents (rows) at all activities (columns, home first)."""
