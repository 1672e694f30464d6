"""The second stage: the day of a respondent for every agent, of days that enough respondents have."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from odanon.demand.matching import KEYS, match
from odanon.demand.stages.prepare import Figures, Prepared
from odanon.errors import OdanonError

_LISTED = 6  # words that a sentence names


@dataclass(frozen=True, eq=False)
class Matching:
    """Whose day each agent has."""

    agents: pd.DataFrame  # agent, respondent (row of the respondents), keys (on how many the two agree), agenda
    figures: Figures


def matched(
    prepared: Prepared, seed: int, min_matches: int = 20, keys: Sequence[str] = KEYS, min_donors: int = 5
) -> Matching:
    """A donor for every agent (003 section 4.3.6), among respondents whose agenda at least `min_donors` of them have.

    An agenda is purposes, modes and steps after the filter. One that few respondents have may be known to be somebody's, and agents who copy it
    would tell of that person; so it is given to nobody (DEMAND, Privacy and limits). A day at home is an agenda too.
    """
    if min_donors < 1:
        raise OdanonError("min_donors is how many respondents must have an agenda; give 1 or more")
    people = prepared.respondents
    holders = np.bincount(people["agenda"])
    kept = np.flatnonzero(holders[people["agenda"]] >= min_donors)
    if not len(kept):
        raise OdanonError(
            f"no agenda of the survey is held by {min_donors} respondents, so that none may be copied; give a larger survey, fewer steps, or"
            " a lower match.min_donors if the survey's licence allows it"
        )
    donors = people.iloc[kept]
    unknown = _unshared(prepared.agents, donors, keys)
    found = match(prepared.agents, donors, seed, min_matches, keys)
    agents = pd.DataFrame(
        {
            "agent": prepared.agents["agent"],
            "respondent": kept[found.donor],
            "keys": found.keys,
            "agenda": donors["agenda"].to_numpy(np.int64)[found.donor],
        }
    )
    weight = people["weight"].to_numpy("float64")
    activities = np.bincount(prepared.agendas["agenda"], minlength=len(holders))[people["agenda"]]
    figures = {
        "donors": len(kept),
        "agendas": int((holders >= min_donors).sum()),
        "respondents left out": len(people) - len(kept),
        "share of weight left out": float(1 - weight[kept].sum() / weight.sum()),
        "activities of a person": {
            "respondents": float(np.average(activities, weights=weight)),
            "donors": float(np.average(activities[kept], weights=weight[kept])),
        },
        "share of agents by keys": {
            name: float((found.keys >= number).mean()) for number, name in enumerate(keys, start=1)
        },
        "agents with a value that no donor has": unknown,
    }
    return Matching(agents, figures)


def _unshared(agents: pd.DataFrame, donors: pd.DataFrame, keys: Sequence[str]) -> dict[str, int]:
    """How many agents have a value that no donor has, by key; a key of which no value is shared is a mistake."""
    found = {}
    for key in keys:
        ours, theirs = agents[key].astype("str"), set(donors[key].astype("str").unique())
        strange = int((~ours.isin(theirs)).sum())
        if strange == len(agents):
            one, two = (", ".join(sorted(words)[:_LISTED]) for words in (set(ours.unique()), theirs))
            raise OdanonError(
                f"census and survey have no common value of {key} (census: {one}; survey: {two}); say what they mean with"
                f" values: {{{key}: {{...}}}} under inputs, or leave {key} out of match.keys"
            )
        if strange:
            found[key] = strange
    return found
