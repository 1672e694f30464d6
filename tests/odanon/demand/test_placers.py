"""Places: exact draws against full enumeration, the published toy, loops, and independence of how agents are cut."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.demand.draws import words
from odanon.demand.matrices import Matrices
from odanon.demand.placers.agenda import Agenda, tree_order
from odanon.demand.placers.forward import LinkedForward, NaiveForward
from odanon.demand.placers.linked import FactorGraph, LinkedMcmc
from odanon.demand.placers.placer import Travellers
from odanon.errors import OdanonError
from odanon.protocols import Placer

MANY = 40_000
HWH = Agenda(("work", "home"), (0, 1))
TREE = Agenda(("work", "shopping", "work", "home", "personal", "home"), (0, 1, 1, 2, 2, 2))
LOOP = Agenda(("work", "study", "shopping", "work", "home"), (0, 1, 1, 2, 2))


def some_matrices(seed: int, zones: int = 3, steps: int = 3) -> Matrices:
    return Matrices(np.random.default_rng(seed).uniform(0.2, 5, (steps, zones, zones)) ** 2)


def at_home(agenda: Agenda, home: int, number: int = MANY, seed: int = 1) -> Travellers:
    return Travellers(np.full(number, home), np.zeros(number, np.int64), (agenda,), words(seed, "places", 0, number))


def enumerated(agenda: Agenda, home: int, zones: int, chance) -> dict[tuple[int, ...], float]:  # type: ignore[no-untyped-def]
    """The chance of all places together, by trying everything."""
    found = {}
    for others in product(range(zones), repeat=agenda.size - 1):
        place = (home, *others)
        at = tuple(place[each] for each in agenda.places)
        found[at] = float(np.prod([chance(step, place[a], place[b], (a, b)) for a, b, step in agenda.trips]))
    total = sum(found.values())
    return {at: each / total for at, each in found.items()}


def compare(
    plugin: Placer, agenda: Agenda, matrices: Matrices, home: int, wanted: dict[tuple[int, ...], float]
) -> None:
    (at,) = plugin.place(at_home(agenda, home), matrices)
    seen = dict.fromkeys(wanted, 0.0)
    for each, number in zip(*np.unique(at, axis=0, return_counts=True), strict=True):
        seen[tuple(each.tolist())] += number / MANY
    assert seen.keys() == wanted.keys(), "somebody is where nobody can be"
    assert sum(abs(seen[each] - wanted[each]) for each in wanted) < 0.05


@pytest.mark.parametrize("agenda", [HWH, TREE, LOOP])
def test_factor_graphs_are_those_of_full_enumeration(agenda: Agenda) -> None:
    matrices, counted = some_matrices(3), agenda.counted("trips")

    def chance(step: int, a: int, b: int, pair: tuple[int, int]) -> float:
        return matrices.trips[step, a, b] ** (1 / len(counted[min(pair), max(pair)]))

    compare(FactorGraph(unseen=0, warm_up=30), agenda, matrices, 1, enumerated(agenda, 1, 3, chance))


@pytest.mark.parametrize("agenda", [HWH, TREE, LOOP])
def test_products_of_chances_are_those_of_full_enumeration(agenda: Agenda) -> None:
    matrices = some_matrices(4)
    chances = matrices.transitions[0]
    wanted = enumerated(agenda, 2, 3, lambda step, a, b, _: chances[step, a, b])
    compare(LinkedMcmc(warm_up=30), agenda, matrices, 2, wanted)


def test_the_published_toy_keeps_its_diagonal_with_the_exponent_and_not_without() -> None:
    """Everybody commutes, flows are equal both ways: the diagonal of .73 becomes .93 by the product of chances."""
    flows = np.full((3, 3), 0.27 / 6)
    np.fill_diagonal(flows, 0.73 / 3)
    matrices = Matrices(np.stack([flows, flows.T]))
    for plugin, wanted in ((FactorGraph(unseen=0), 0.73), (LinkedMcmc(), 0.936)):
        everybody = Travellers(np.arange(MANY) % 3, np.zeros(MANY, np.int64), (HWH,), words(1, "places", 0, MANY))
        (at,) = plugin.place(everybody, matrices)
        assert (at[:, 0] == at[:, 1]).mean() == pytest.approx(wanted, abs=0.01)
        assert (at[:, 0] == at[:, 2]).all()


def test_naive_walks_follow_the_chances_and_linked_ones_return() -> None:
    matrices, agenda = some_matrices(5), Agenda(("work", "shopping", "home"), (0, 1, 2))
    chances = matrices.transitions[0]
    (naive,), (linked,) = (plugin.place(at_home(agenda, 0), matrices) for plugin in (NaiveForward(), LinkedForward()))
    for at in (naive, linked):
        for number in (1, 2):
            for zone in np.unique(at[:, number - 1]):
                went = at[at[:, number - 1] == zone, number]
                assert np.bincount(went, minlength=3) / len(went) == pytest.approx(chances[number - 1, zone], abs=0.03)
    assert (linked[:, 3] == 0).all()
    assert 0 < (naive[:, 3] == 0).mean() < 1


def test_trips_and_factors_are_counted_as_the_thesis_does() -> None:
    agenda = Agenda(("work", "home", "work", "shopping", "home"), (0, 1, 2, 3, 4))
    assert [sum(times for *_, times in agenda.counted(how)[0, 1]) for how in ("trips", "factors")] == [3, 4]
    assert [sum(times for *_, times in agenda.counted(how)[1, 2]) for how in ("trips", "factors")] == [1, 1]


def test_home_closes_no_loop() -> None:
    assert tree_order(list(TREE.counted("trips"))) is not None
    assert tree_order(list(LOOP.counted("trips"))) is None


@given(st.integers(0, 1000))
def test_places_do_not_depend_on_who_else_is_placed(seed: int) -> None:
    rng, matrices = np.random.default_rng(seed), some_matrices(seed, zones=5)
    agendas = (HWH, TREE, LOOP, Agenda((), ()))
    home, which, own = rng.integers(0, 5, 60), rng.integers(0, 4, 60), words(seed, "places", 0, 60)
    for plugin in (NaiveForward(), LinkedForward(), LinkedMcmc(warm_up=3), FactorGraph(warm_up=3)):
        together = Travellers(home, which, agendas, own)
        placed = dict(
            zip([id(agenda) for agenda, _ in together.by_agenda()], plugin.place(together, matrices), strict=True)
        )
        half = Travellers(home[30:], which[30:], agendas, own[30:])
        for (agenda, who), at in zip(half.by_agenda(), plugin.place(half, matrices), strict=True):
            order = np.flatnonzero(which == agendas.index(agenda))
            rows = np.searchsorted(order, who + 30)
            assert (placed[id(agenda)][rows] == at).all()


def test_origins_without_trips_take_those_of_steps_around_or_of_the_day_and_else_stay() -> None:
    trips = np.zeros((4, 3, 3))
    trips[0, 0, 1] = trips[3, 1, 2] = 2.0
    chances, taken = Matrices(trips).transitions
    assert chances[1, 0].tolist() == [0, 1, 0]
    assert chances[0, 1].tolist() == [0, 0, 1]
    assert chances[2, 2].tolist() == [0, 0, 1]
    assert taken == {"neighbouring steps": 2, "whole day": 4, "stays": 4}
    assert np.allclose(chances.sum(axis=2), 1)


def test_no_trip_is_impossible_after_smoothing_and_totals_stay() -> None:
    trips = np.zeros((2, 3, 3))
    trips[0, 0, 1], trips[1, 2, 2] = 10.0, 30.0
    made = Matrices(trips).smoothed(0.01)
    assert (made > 0).all()
    assert made.sum(axis=(1, 2)) == pytest.approx([10, 30])
    with pytest.raises(OdanonError, match="hold no trips"):
        Matrices(np.zeros((1, 2, 2)))


def test_the_unit_in_which_trips_are_counted_changes_nothing() -> None:
    trips = some_matrices(6, zones=4).trips
    trips[1, 2], trips[2] = 0, 0
    many, few = (Matrices(unit * trips).smoothed(0.01) for unit in (1e4, 1e-7))
    assert (few > 0).all()
    shares = [made / made.sum(axis=(1, 2), keepdims=True) for made in (many, few)]
    assert shares[0] == pytest.approx(shares[1])


def test_a_day_that_matrices_do_not_allow_has_as_few_strange_trips_as_can_be() -> None:
    """Everybody lives in zone 0, to which no trip leads: from 1 one goes to 2, and the way back was not seen."""
    trips = np.zeros((3, 6, 6))
    trips[0, 0, 1] = trips[1, 1, 2] = trips[2, 2, 3] = 5.0
    agenda = Agenda(("work", "shopping", "home"), (0, 1, 2))
    (at,) = LinkedMcmc().place(at_home(agenda, 0, 1000), Matrices(trips))
    assert np.unique(at, axis=0).tolist() == [[0, 1, 2, 0]]
    trips = np.zeros((3, 6, 6))
    trips[0, 0, 1] = trips[1, 3, 2] = trips[2, 2, 0] = 5.0
    (at,) = FactorGraph(unseen=0).place(at_home(agenda, 0, 1000), Matrices(trips))
    assert np.bincount(at[:, 2], minlength=6).min() > 0, "where nothing is possible, no zone is better than others"
