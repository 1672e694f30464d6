"""Statistical matching: whose day of the survey an agent gets (003 section 4.3.6)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.demand.draws import uniform
from odanon.errors import OdanonError

KEYS = ("age", "gender", "occupation", "car", "home_status", "canton")  # from the most to the least important
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Matched:
    """The row of the survey that each agent got, and on how many keys the two agree."""

    donor: Ints
    keys: Ints


def match(
    agents: pd.DataFrame, survey: pd.DataFrame, seed: int, min_matches: int = 20, keys: Sequence[str] = KEYS
) -> Matched:
    """A donor for every agent: of the respondents that agree on as many leading keys as leave `min_matches` of them, one by weight.

    The last key is dropped until enough respondents are left; with none, everybody is.
    """
    if len(survey) < min_matches:
        raise OdanonError(
            f"the survey has {len(survey):,} usable respondents and each agent is to have {min_matches} to choose from;"
            " give a larger survey, or lower min_matches"
        )
    theirs, ours = _prefixes(agents, survey, keys)
    agreed = agreement(theirs, ours, min_matches)
    chance = uniform(seed, "donors", len(agents))
    weight = survey["weight"].to_numpy("float64")
    donor = np.empty(len(agents), np.int64)
    for depth in np.unique(agreed):
        here = np.flatnonzero(agreed == depth)
        donor[here] = _drawn(theirs[depth][here], ours[depth], weight, chance[here])
    return Matched(donor, agreed)


def agreement(theirs: Sequence[Ints], ours: Sequence[Ints], min_matches: int) -> Ints:
    """On how many leading keys each agent is matched."""
    depth = np.zeros(len(theirs[0]), np.int64)
    for length, (agents, survey) in enumerate(zip(theirs, ours, strict=True)):
        known = np.bincount(survey, minlength=int(max(agents.max(initial=0), survey.max())) + 1)
        depth[known[agents] >= min_matches] = length
    return depth


def _prefixes(agents: pd.DataFrame, survey: pd.DataFrame, keys: Sequence[str]) -> tuple[list[Ints], list[Ints]]:
    """Numbers of the values of the first 0, 1, 2 ... keys together, of agents and of respondents."""
    code = np.zeros(len(agents) + len(survey), np.int64)
    theirs, ours = [code[: len(agents)]], [code[len(agents) :]]
    for key in keys:
        both = pd.api.types.union_categoricals([_names(agents[key]), _names(survey[key])], sort_categories=True)
        code = np.unique(code * len(both.categories) + both.codes, return_inverse=True)[1].astype(np.int64)
        theirs.append(code[: len(agents)])
        ours.append(code[len(agents) :])
    return theirs, ours


def _names(column: pd.Series) -> pd.Series:
    """Values as text, each written once."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype("str").astype("category")
    return column.cat.rename_categories(column.cat.categories.astype("str"))


def _drawn(wanted: Ints, offered: Ints, weight: npt.NDArray[np.float64], chance: npt.NDArray[np.float64]) -> Ints:
    """For each wanted value one of the rows that have it, with a probability in proportion to their weight."""
    order = np.argsort(offered, kind="stable")
    passed = np.concatenate([[0.0], np.cumsum(weight[order])])
    first = np.searchsorted(offered[order], wanted, side="left")
    last = np.searchsorted(offered[order], wanted, side="right")
    at = passed[first] + chance * (passed[last] - passed[first])
    place = np.clip(np.searchsorted(passed, at, side="right") - 1, first, last - 1)
    return order[place].astype(np.int64)
