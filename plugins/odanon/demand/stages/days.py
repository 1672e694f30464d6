"""The agendas of respondents as arrays, by their numbers."""

from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.demand.placers.agenda import Agenda

Ints = npt.NDArray[np.int64]


class Days:
    """Activities of agendas one after the other: those of agenda `a` are `length[a]` from `first[a]` on."""

    def __init__(self, agendas: pd.DataFrame, number: int) -> None:
        """`agendas` is sorted by agenda and seq; `number` is how many there are, with those of no activity."""
        self.table, self.number = agendas, number
        self.length: Ints = np.bincount(agendas["agenda"], minlength=number).astype(np.int64)
        self.first: Ints = np.concatenate([[0], np.cumsum(self.length)[:-1]]).astype(np.int64)

    def trips_by_step(self, steps: int) -> Ints:
        """How many trips of each agenda set out in each step."""
        cell = self.table["agenda"].to_numpy(np.int64) * steps + self.table["step"].to_numpy(np.int64)
        return np.bincount(cell, minlength=self.number * steps).reshape(self.number, steps).astype(np.int64)

    @cached_property
    def walks(self) -> tuple[tuple[Agenda, ...], Ints]:
        """Different agendas as placers know them, without modes, and which of them each agenda is."""
        purposes, steps = self.table["purpose"].astype("str").tolist(), self.table["step"].tolist()
        found: dict[Agenda, int] = {}
        number = np.empty(self.number, np.int64)
        for at, (first, length) in enumerate(zip(self.first.tolist(), self.length.tolist(), strict=True)):
            day = Agenda(tuple(purposes[first : first + length]), tuple(steps[first : first + length]))
            number[at] = found.setdefault(day, len(found))
        return tuple(found), number
