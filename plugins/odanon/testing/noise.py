"""Conformance of anonymisers that add noise: what can be said of flows that nobody can count again."""

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.model.areas import Areas
from odanon.model.hierarchy import Hierarchy
from odanon.model.release import Release
from odanon.testing.trial.cities import city_of_two_trees, random_city
from odanon.testing.trial.released import BINS, promising, released, released_window

_CASES = 8
_CROWD = 4000  # people with one trip each: enough for flows to stand out of any noise
_ALIKE = 0.9  # largest share of flows that may be off by the same number
_TILES = {"min_tiles": 2, "max_tiles": 3}
_CAN_BE_SEEN = {*_TILES, "contribution_cap"}  # the noise is made for a cap; other limits need true counts


def check_noise(cls: type[Anonymizer], parameters: dict[str, Any]) -> None:
    """All rules for a method with `verifiable = False`: it names areas, tells no people, and does add noise."""
    name = cls.__name__
    claimed = sorted(cls.keeps - _CAN_BE_SEEN)
    assert not claimed, f"{name} names {', '.join(claimed)} in `keeps`, which nobody can see in noisy counts"
    shared = {"matrices": BINS} if any(field.name == "matrices" for field in fields(cls)) else {}
    errors = []
    for seed in range(_CASES):
        tree, rows = random_city(seed)
        origins, destinations, others = city_of_two_trees(seed)
        released(promising(cls, k=3, **parameters), rows, tree)
        released(promising(cls, k=3, **parameters), others, origins, destinations)
        released_window(promising(cls, **{"k": 3, **shared, **parameters}), rows, tree)
        crowd = _crowd(tree, seed)
        errors.append(_errors(released(promising(cls, k=3, **parameters), crowd, tree), crowd, tree))
        _check_tiles(cls, parameters, crowd, tree)
    off = np.concatenate(errors)
    assert len(off), f"{name} publishes no flow of {_CROWD} people"
    alike = np.unique(off, return_counts=True)[1].max() / len(off)
    assert alike <= _ALIKE, f"{name} says that it adds noise and {alike:.0%} of its trips are true or off by one number"


def _crowd(tree: Hierarchy, seed: int) -> pd.DataFrame:
    tiles = tree.label[tree.tiles]
    ends = np.random.default_rng(seed).integers(0, len(tiles), (2, _CROWD))
    return pd.DataFrame({"origin": tiles[ends[0]], "destination": tiles[ends[1]], "person": range(_CROWD), "trips": 1})


def _errors(made: Release, rows: pd.DataFrame, tree: Hierarchy) -> npt.NDArray[np.int64]:
    """How far the trips of every flow are from those between its areas."""
    table = np.zeros((tree.n_leaves, tree.n_leaves), np.int64)
    ends = [tree.ranks(rows[side].to_numpy()) for side in ("origin", "destination")]
    np.add.at(table, tuple(ends), rows["trips"].to_numpy())
    tiles = [_members(areas) for areas in (made.origins, made.destinations)]
    flows = made.flows.astype({"origin": "str", "destination": "str"})
    ends_of = zip(flows["origin"], flows["destination"], strict=True)
    true = [table[np.ix_(tiles[0][origin], tiles[1][destination])].sum() for origin, destination in ends_of]
    return flows["trips"].to_numpy() - np.array(true, np.int64)


def _members(areas: Areas) -> dict[str, npt.NDArray[np.int32]]:
    return dict(zip(map(str, areas.label), np.split(areas.members, areas.start[1:-1]), strict=True))


def _check_tiles(cls: type[Anonymizer], parameters: dict[str, Any], rows: pd.DataFrame, tree: Hierarchy) -> None:
    """Limits on areas need no counts: the door asks for them."""
    for limit in cls.keeps & _TILES.keys():
        released(promising(cls, **{"k": 3, **parameters, limit: _TILES[limit]}), rows, tree)
