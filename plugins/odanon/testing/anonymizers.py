"""Conformance of anonymisers: on generated matrices, the independent verifier must find nothing."""

from typing import Any

import pandas as pd
from pydantic import ValidationError

from odanon.anonymizers.anonymizer import LIMITS, Anonymizer
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.testing.noise import check_noise
from odanon.testing.parameters import check_parameters
from odanon.testing.trial.cities import city_of_two_trees, pair_of_tiles, random_city
from odanon.testing.trial.released import promising, released, released_in_time, released_window

_CASES = 12
_ENOUGH = _ENOUGH_LIMITED = _CASES  # cities released, and those for a limit; where some are refused, the next are tried
_OF_EACH = 4  # cities with two trees, and windows
_LARGE = 20  # trips left out of which some area can surely tell k people
_PROMISES: tuple[dict[str, Any], ...] = (
    {"k": 2, "unit": "persons", "suppression": 0.1},
    {"k": 5, "unit": "persons", "suppression": 0.0},
    {"k": 4, "unit": "trips", "suppression": 0.3},
)
# A value of every limit that binds in the generated cities. Much may be left out, so that limits can be kept; areas grow
# towards max_tiles only where little may.
_ASKED: dict[str, dict[str, Any]] = {
    "k_population": {"unit": "population", "k_population": 12.0, "suppression": 0.6},
    "k_areas": {"k_areas": 9, "report_small": False, "suppression": 0.6},
    "min_tiles": {"min_tiles": 2, "suppression": 0.6},
    "min_visited": {"min_visited": 2, "suppression": 0.6},
    "max_tiles": {"max_tiles": 3, "suppression": 0.1},
    "max_dominance": {"max_dominance": 0.4, "suppression": 0.6},
    "contribution_cap": {"contribution_cap": 1, "suppression": 0.6},
    "report_small": {"report_small": True, "suppression": 0.6},
}
_SHARES_OF_WEIGHT = {**_ASKED["k_population"], **_ASKED["max_dominance"]}


def check_anonymizer(cls: type[Anonymizer], *, may_refuse: bool = False, **parameters: Any) -> None:
    """All rules for an anonymiser class; `parameters` are passed to every instance beside k, unit and suppression.

    A method that cannot always keep the budget, since it does not generalise as far as needed, `may_refuse` some
    matrices (with OdanonError), but not all of them. Of methods that add noise (`verifiable = False`) nobody can count the
    flows again; what is asked of them is in `odanon.testing.noise`.
    """
    check_parameters(promising(cls, **parameters))
    unknown = sorted(cls.keeps - LIMITS.keys())
    assert not unknown, f"{cls.__name__} names {', '.join(unknown)} in `keeps`; the limits are {', '.join(LIMITS)}"
    for limit in LIMITS:
        if limit in parameters:
            continue
        if limit not in cls.keeps:
            _check_refused_limit(cls, limit, parameters)
        elif cls.verifiable:
            _check_kept_limit(cls, limit, {**parameters, **_ASKED[limit]})
    if cls.verifiable:
        if {"k_population", "max_dominance"} <= cls.keeps - parameters.keys():
            _check_kept_limit(cls, "max_dominance", {**parameters, **_SHARES_OF_WEIGHT})
        _check_cities(cls, parameters, may_refuse)
        _check_boundary(cls, parameters)
    else:
        check_noise(cls, parameters)
    _check_empty(promising(cls, **parameters))


def _check_cities(cls: type[Anonymizer], parameters: dict[str, Any], may_refuse: bool) -> None:
    made = 0
    for seed in range(_CASES):
        if made >= _ENOUGH * len(_PROMISES):
            break
        for number, promise in enumerate(_PROMISES):
            try:
                plugin = promising(cls, **promise, **parameters)
                _check_city(plugin, seed, in_turn=number == seed % len(_PROMISES))
            except OdanonError:
                if not may_refuse:
                    raise
            else:
                made += 1
    assert made, f"{cls.__name__} refuses every matrix"


def _check_city(plugin: Anonymizer, seed: int, in_turn: bool) -> None:
    """One release of a city; of a promise whose turn it is in this city, also what the order of rows, another tree and windows do."""
    tree, rows = random_city(seed)
    before = rows.copy()
    made = released(plugin, rows, tree)
    pd.testing.assert_frame_equal(rows, before)
    _check_budget(plugin, made)
    if in_turn:
        again = released(plugin, rows.sample(frac=1, random_state=seed), tree)
        assert again.flows.equals(made.flows), f"{type(plugin).__name__} depends on the order of the rows"
    if in_turn and plugin.timed:
        _check_budget(plugin, released_in_time(plugin, rows, tree, seed))
    if in_turn and seed < _OF_EACH:
        origins, destinations, others = city_of_two_trees(seed)
        _check_budget(plugin, released(plugin, others, origins, destinations))
        _check_budget(plugin, *released_window(plugin, rows, tree))


def _check_budget(plugin: Anonymizer, *made: Release) -> None:
    if not plugin.budgeted:
        return
    lost, volume = sum(map(_lost, made)), sum(int(each.assignment["trips"].sum()) for each in made)
    budget = plugin.suppression * volume
    assert lost <= budget + 1e-9, f"{type(plugin).__name__} suppresses {lost} trips, more than the budget of {budget:g}"


def _lost(made: Release) -> int:
    """Trips that a release leaves out."""
    return int(made.assignment.loc[made.assignment["flow"] < 0, "trips"].sum())


def _check_refused_limit(cls: type[Anonymizer], limit: str, parameters: dict[str, Any]) -> None:
    """A limit that the class does not say it keeps is refused at once."""
    try:
        cls(**{"k": 3, **parameters, **_ASKED[limit]})
    except (OdanonError, ValidationError):
        return
    raise AssertionError(f"{cls.__name__} accepts {limit} and does not name it in `keeps`; keep it or refuse it")


def _check_kept_limit(cls: type[Anonymizer], limit: str, asked: dict[str, Any]) -> None:
    """A limit that the class says it keeps is kept in every release."""
    asked = {"k": 3, **asked}
    made, large, fewer = 0, 0, 0
    for seed in range(_CASES):
        if made >= _ENOUGH_LIMITED:
            break
        tree, rows = random_city(seed)
        rows = rows.assign(weight=1.5 * rows["trips"] * (1 + rows["person"] % 6))  # some weigh six times as much
        try:
            limited = released(promising(cls, **asked), rows, tree)
            made += 1
            if limit == "report_small":
                silent = released(promising(cls, **{**asked, "report_small": False}), rows, tree)
                large += _lost(silent) >= _LARGE
                fewer += _lost(limited) < _lost(silent)
        except OdanonError:
            continue  # what cannot be done may be refused
    assert made, f"{cls.__name__} names {limit} in `keeps` and refuses every matrix with it"
    assert fewer or not large, f"{cls.__name__} names report_small in `keeps` and never leaves out less with it"


def _check_boundary(cls: type[Anonymizer], parameters: dict[str, Any]) -> None:
    """A lone flow of k-1 people never appears; with k and k + 1 people it does."""
    tree = pair_of_tiles()
    for people, k in ((5, 5), (6, 5)):
        rows = pd.DataFrame({"origin": "a", "destination": "b", "person": range(people), "trips": 3})
        made = released(promising(cls, k=k, **parameters), rows, tree)
        assert made.flows["trips"].sum() == 3 * people, f"{cls.__name__} drops a flow of {people} people at k = {k}"
    crowd = pd.DataFrame({"origin": "a", "destination": "b", "person": range(60), "trips": 1})
    window = released_window(promising(cls, k=5, **parameters), crowd, tree)
    told = sum(made.flows["trips"].sum() for made in window)
    assert told == len(crowd), f"{cls.__name__} drops flows of a window though each has enough people"
    commuter = pd.DataFrame({"origin": "a", "destination": "b", "person": [1, 2, 3, 4], "trips": 10})
    _expect_refusal(promising(cls, k=5, **parameters), commuter, tree, "fewer than k people")


def _check_empty(plugin: Anonymizer) -> None:
    empty = pd.DataFrame({"origin": [], "destination": [], "person": [], "trips": []}).astype({"trips": int})
    _expect_refusal(plugin, empty, pair_of_tiles(), "an empty matrix")


def _expect_refusal(plugin: Anonymizer, rows: pd.DataFrame, tree: Hierarchy, what: str) -> None:
    try:
        plugin.anonymize(ODMatrix.from_frame(rows, tree, tree), tree, tree)
    except OdanonError:
        return
    raise AssertionError(f"{type(plugin).__name__} accepts {what}; raise OdanonError with a clear sentence")
