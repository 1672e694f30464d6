"""The fourth stage: a zone for every activity of every copy of an agent."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.demand.agendas import HOME
from odanon.demand.draws import words
from odanon.demand.matrices import Matrices
from odanon.demand.placers.placer import Travellers
from odanon.demand.stages.calibrate import Calibration
from odanon.demand.stages.days import Days, Ints
from odanon.demand.stages.match import Matching
from odanon.demand.stages.prepare import Figures, Prepared
from odanon.errors import OdanonError
from odanon.protocols import Placer

Done = Callable[[int, int], None]  # travellers who are placed, and all of them
_PARTS = 24  # of the agendas; each is placed by itself


@dataclass(frozen=True, eq=False)
class Placement:
    """Activities of all travellers: agent, copy, seq, purpose, mode, step of the trip there (-1 for the first), zone (its number)."""

    activities: pd.DataFrame
    figures: Figures


def matrices_of(prepared: Prepared) -> Matrices:
    """The table of trips as matrices."""
    size, od = len(prepared.zones), prepared.od
    trips = np.zeros((prepared.steps, size, size))
    trips[od["step"], od["origin"], od["destination"]] = od["trips"]
    return Matrices(trips)


def placed(
    prepared: Prepared,
    matching: Matching,
    calibration: Calibration,
    placer: Placer,
    seed: int,
    parts: int = _PARTS,
    done: Done | None = None,
) -> Placement:
    """Zones by the matrices (003 section 5.3), home as the census has it. Neither `parts` nor the number of cores changes anything."""
    days = Days(prepared.agendas, int(prepared.respondents["agenda"].max()) + 1)
    copies = calibration.agents["copies"].to_numpy(np.int64)
    agent = np.repeat(np.arange(len(copies)), copies)
    agenda = matching.agents["agenda"].to_numpy(np.int64)[agent]
    home = prepared.agents["home_zone"].to_numpy(np.int64)[agent]
    length = days.length[agenda] + 1
    first = np.cumsum(length) - length
    zone = np.empty(int(length.sum()), np.int32)
    zone[first] = home
    matrices = matrices_of(prepared)
    everybody = Travellers(home, days.walks[1][agenda], days.walks[0], words(seed, "places", 0, len(agent)))
    counted, told = Lock(), [0]

    def place(who: Ints) -> None:
        part = Travellers(home[who], everybody.agenda[who], everybody.agendas, everybody.own[who])
        for (day, mine), at in zip(part.by_agenda(), placer.place(part, matrices), strict=True):
            _refuse_odd(at, (len(mine), len(day.steps) + 1), len(prepared.zones), placer)
            zone[first[who[mine]][:, None] + np.arange(at.shape[1])] = at
        with counted:
            told[0] += len(who)
            if done is not None:
                done(told[0], len(agent))

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for _ in pool.map(place, _parted(everybody.agenda, len(everybody.agendas), parts)):
            pass
    seq = np.arange(len(zone)) - np.repeat(first, length)
    table = _activities(days, np.repeat(agenda, length), seq).assign(zone=zone)
    table.insert(0, "agent", np.repeat(agent, length))
    table.insert(1, "copy", np.repeat((np.arange(len(agent)) - np.repeat(np.cumsum(copies) - copies, copies)), length))
    return Placement(table, {"travellers": len(agent), "origins without trips": matrices.transitions[1]})


def _parted(agenda: Ints, number: int, parts: int) -> list[Ints]:
    """The travellers of some agendas each; all who have one are in the same part."""
    weight = np.bincount(agenda, minlength=number) + len(agenda) / number  # matrices of an agenda take time as well
    part = np.minimum((np.cumsum(weight) / weight.sum() * parts).astype(np.int64), parts - 1)[agenda]
    order = np.argsort(part, kind="stable")
    return [each for each in np.split(order, np.searchsorted(part[order], np.arange(1, parts))) if len(each)]


def _refuse_odd(at: npt.NDArray[np.int64], shape: tuple[int, int], zones: int, placer: Placer) -> None:
    if at.shape != shape or at.min(initial=0) < 0 or at.max(initial=0) >= zones:
        raise OdanonError(
            f"the placer {type(placer).__name__} returns no usable zones; choose another, and report it to its author"
        )


def _activities(days: Days, agenda: Ints, seq: Ints) -> pd.DataFrame:
    """Purpose, mode and step of activities; the day begins at home, where no trip leads."""
    row = np.where(seq > 0, days.first[agenda] + seq, 0)  # 0 stands for the beginning of a day
    step = np.concatenate([[-1], days.table["step"].to_numpy(np.int32)])
    named = {"purpose": HOME, "mode": ""}
    found: dict[str, npt.ArrayLike] = {"seq": seq.astype(np.int32)}
    for name, at_first in named.items():
        words = pd.Categorical([at_first, *days.table[name].astype("str")])
        found[name] = pd.Categorical.from_codes(words.codes[row], words.categories)
    return pd.DataFrame({**found, "step": step[row].astype(np.int32)})
