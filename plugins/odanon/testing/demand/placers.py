"""Conformance of placers."""

import numpy as np
import numpy.typing as npt

from odanon.demand.draws import words
from odanon.demand.matrices import Matrices
from odanon.demand.placers.agenda import Agenda
from odanon.demand.placers.placer import Travellers
from odanon.protocols import Placer
from odanon.testing.parameters import check_parameters

_ZONES, _STEPS, _PEOPLE, _CASES = 5, 3, 80, 3
AGENDAS = (
    Agenda(("work", "home"), (0, 2)),
    Agenda(("work", "shopping", "work", "home", "personal", "home"), (0, 1, 1, 2, 2, 2)),
    Agenda((), ()),
    Agenda(("work", "study", "shopping", "work", "home"), (0, 1, 1, 2, 2)),  # its places close a loop
)


def check_placer(plugin: Placer) -> None:
    """All rules for a placer, on generated matrices and people."""
    check_parameters(plugin)
    name = type(plugin).__name__
    for seed in range(_CASES):
        travellers, matrices = _some_travellers(seed), _some_matrices(seed, gaps=bool(seed))
        before = matrices.trips.copy(), travellers.home.copy()
        zones = _zones(plugin, travellers, matrices, name)
        assert np.array_equal(before[0], matrices.trips), f"{name} changes the matrices"
        assert np.array_equal(before[1], travellers.home), f"{name} changes where people live"
        assert _same(zones, _zones(plugin, travellers, matrices, name)), (
            f"{name}: the same people are placed in two ways"
        )
        order = np.random.default_rng(seed).permutation(_PEOPLE)
        for some in (order, order[: _PEOPLE // 2]):
            again = _zones(plugin, _chosen(travellers, some), matrices, name)
            assert _same([zones[at] for at in some], again), (
                f"{name}: where somebody goes depends on who else is placed"
            )


def _zones(plugin: Placer, travellers: Travellers, matrices: Matrices, name: str) -> list[npt.NDArray]:
    """The zones of every traveller, after a look at what the plugin returned."""
    groups, found = travellers.by_agenda(), plugin.place(travellers, matrices)
    assert len(found) == len(groups), f"{name}: there is not one array an agenda"
    mine: list[npt.NDArray] = [np.array([home]) for home in travellers.home]
    for (agenda, who), at in zip(groups, found, strict=True):
        assert at.shape == (len(who), len(agenda.steps) + 1), (
            f"{name}: an array is not people by activities, home first"
        )
        assert np.issubdtype(at.dtype, np.integer), f"{name}: zones are not numbered"
        assert ((at >= 0) & (at < _ZONES)).all(), f"{name}: somebody is in a zone that does not exist"
        assert np.array_equal(at[:, 0], travellers.home[who]), f"{name}: a day does not begin at home"
        for each, row in zip(who, at, strict=True):
            mine[each] = row
    return mine


def _same(one: list[npt.NDArray], two: list[npt.NDArray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def _chosen(travellers: Travellers, some: npt.NDArray) -> Travellers:
    return Travellers(travellers.home[some], travellers.agenda[some], travellers.agendas, travellers.own[some])


def _some_travellers(seed: int) -> Travellers:
    rng = np.random.default_rng(seed)
    home, agenda = rng.integers(0, _ZONES, _PEOPLE), rng.integers(0, len(AGENDAS), _PEOPLE)
    return Travellers(home, agenda, AGENDAS, words(seed, "places", 0, _PEOPLE))


def _some_matrices(seed: int, gaps: bool) -> Matrices:
    rng = np.random.default_rng(seed)
    trips = rng.uniform(0.2, 5, (_STEPS, _ZONES, _ZONES)) ** 2
    if gaps:  # as published matrices have them
        trips[rng.random(trips.shape) < 0.5] = 0
        trips[1, 2] = 0
    return Matrices(trips)
