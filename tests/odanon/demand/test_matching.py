"""Whose day an agent gets: the published example, and a plain twin."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odanon.demand.matching import KEYS, _prefixes, agreement, match
from odanon.errors import OdanonError

SURVEY = pd.DataFrame(
    [
        ("30-59", "female", "executive", "yes", "owner"),
        ("18-29", "male", "student", "no", "tenant"),
        ("30-59", "male", "executive", "yes", "tenant"),
        ("18-29", "female", "employee", "no", "tenant"),
        ("60+", "male", "retired", "no", "owner"),
        ("30-59", "female", "executive", "yes", "owner"),
        ("30-59", "female", "inactive", "yes", "owner"),
        ("60+", "male", "independent", "yes", "tenant"),
    ],
    columns=list(KEYS[:5]),
).assign(weight=1.0)
AGENT = pd.DataFrame([("30-59", "female", "executive", "yes", "tenant")], columns=list(KEYS[:5]))


def test_the_published_agent_has_4_3_2_2_and_0_matches() -> None:
    theirs, ours = _prefixes(AGENT, SURVEY, KEYS[:5])
    assert [int((survey == agent[0]).sum()) for agent, survey in zip(theirs, ours, strict=True)] == [8, 4, 3, 2, 2, 0]


@pytest.mark.parametrize(("enough", "keys"), [(1, 4), (2, 4), (3, 2), (4, 1), (5, 0)])
def test_keys_are_dropped_until_enough_respondents_match(enough: int, keys: int) -> None:
    theirs, ours = _prefixes(AGENT, SURVEY, KEYS[:5])
    assert agreement(theirs, ours, enough).tolist() == [keys]
    found = match(AGENT, SURVEY, 1, enough, KEYS[:5])
    assert (SURVEY.loc[found.donor[0], list(KEYS[:keys])] == AGENT.loc[0, list(KEYS[:keys])]).all()


@given(st.integers(0, 1000), st.integers(1, 6))
def test_donors_agree_on_the_keys_and_on_no_more_that_leave_enough(seed: int, enough: int) -> None:
    rng = np.random.default_rng(seed)
    draw = lambda rows: pd.DataFrame({key: rng.choice(list("ab"), rows) for key in KEYS[:3]})  # noqa: E731
    agents, survey = draw(30), draw(20).assign(weight=rng.uniform(0.5, 2, 20))
    found = match(agents, survey, seed, enough, KEYS[:3])
    for row, (donor, depth) in enumerate(zip(found.donor, found.keys, strict=True)):
        alike = [(survey[list(KEYS[:n])] == agents.loc[row, list(KEYS[:n])]).all(axis=1) for n in range(4)]
        assert depth == max(n for n in range(4) if alike[n].sum() >= enough)
        assert alike[depth][donor]


def test_donors_are_drawn_by_weight() -> None:
    survey = pd.DataFrame({"age": ["a", "a", "b"], "weight": [3.0, 1.0, 100.0]})
    agents = pd.DataFrame({"age": ["a"] * 20_000})
    found = match(agents, survey, 7, 2, ("age",))
    assert np.bincount(found.donor, minlength=3)[2] == 0
    assert (found.donor == 0).mean() == pytest.approx(0.75, abs=0.01)


def test_a_survey_that_is_too_small_is_refused() -> None:
    with pytest.raises(OdanonError, match="8 usable respondents"):
        match(AGENT, SURVEY, 1, 20, KEYS[:5])
