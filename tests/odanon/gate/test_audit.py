"""The auditor: planted pairs of releases are refused by name, honest sequences pass."""

from datetime import timedelta
from functools import cache

import numpy as np
import pandas as pd
import privacy_city as city
import pytest
from privacy_city import DAY, MONDAY, people, published
from scipy import sparse

from odanon.gate.audit.auditor import audit
from odanon.gate.audit.bounds import Attacker, isolates
from odanon.gate.audit.published import Content, PublishedMatrix

ROWS = people(1000)


@cache
def first() -> PublishedMatrix:
    """Made by the first test that asks, not at collection: there every worker would compile the kernels for itself."""
    return published(ROWS, "first")


def rules(candidate: list[PublishedMatrix], others: list[PublishedMatrix]) -> set[str]:
    return {finding.rule for finding in audit(candidate, others)}


def days(rows: pd.DataFrame = ROWS) -> list[PublishedMatrix]:
    return [published(rows, f"day{number}", start=MONDAY + number * DAY) for number in range(7)]


def sexes(name: str = "by-sex", k: int = 10, **called: str) -> list[PublishedMatrix]:
    """The parts of one release by sex, each under the value that it is called by."""
    return [published(ROWS[ROWS["sex"] == sex], name, k=k, segment=f"sex={called.get(sex, sex)}") for sex in ("F", "M")]


def test_a_second_k_for_the_same_data_is_refused() -> None:
    assert rules([published(ROWS, "again", product="coarse", k=15)], [first()]) == {"nested-difference"}


@pytest.mark.parametrize("algorithm", ["atg-dual", "atg-homogeneous", "atg-soft"])
def test_a_second_algorithm_for_the_same_data_is_refused(algorithm: str) -> None:
    assert rules([published(ROWS, "again", product="other", algorithm=algorithm)], [first()]) == {"nested-difference"}


def test_sexes_next_to_the_total_are_refused_in_either_order() -> None:
    assert rules(sexes(), [first()]) == {"nested-difference"}
    assert rules([first()], sexes()) == {"nested-difference"}
    assert rules(sexes()[:1], sexes()[1:]) == set()


def test_the_same_people_under_other_names_of_their_segments_are_refused() -> None:
    """A second table of people may say woman where the first said F, in a re-issue too."""
    assert rules(sexes("again", 15, F="woman", M="man"), sexes()) == {"nested-difference"}
    assert rules(sexes("again", F="woman", M="man"), sexes()) == set()


def test_a_week_next_to_its_days_is_refused_whichever_comes_last() -> None:
    week = published(ROWS, "week", product="weekly", days=7)
    assert rules([week], days()) == {"nested-difference"}
    assert rules(days()[-1:], [week, *days()[:-1]]) == {"nested-difference"}


def test_per_origin_totals_are_refused() -> None:
    rows = ROWS[ROWS["time"] < MONDAY + DAY]
    made = city.release(rows)
    flows = made.flows.astype({"origin": "str"})
    totals = flows[["origin"]].drop_duplicates().assign(destination="city")
    whole = pd.DataFrame({"area": "city", "tile": city.CITY.label[city.CITY.tiles]})
    tables = Content(totals, city.content(rows, made).origin_tiles, whole, rows)
    margin = PublishedMatrix("margins", "totals", "phones", MONDAY, MONDAY + DAY, 10, "persons", lambda: tables)
    assert "nested-difference" in rules([margin], [first()])


def test_a_reissue_without_one_person_is_refused() -> None:
    gone = ROWS[ROWS["person"] != ROWS["person"].iloc[0]]
    assert "changed-input" in rules([published(gone, "again")], [first()])


def test_a_corrected_reissue_is_refused_and_the_same_again_is_not() -> None:
    rng = np.random.default_rng(0)
    moved = rng.choice(len(ROWS), 400, replace=False)
    fixed = ROWS.copy()
    fixed.loc[moved, "destination"] = rng.permutation(fixed.loc[moved, "destination"].to_numpy())
    assert rules([published(fixed, "again")], [first()]) & {"nested-difference", "combination"}
    assert rules([published(ROWS, "again")], [first()]) == set()


def test_the_message_names_the_release_and_the_rule() -> None:
    (finding,) = audit([published(ROWS, "again", product="coarse", k=15)], [*days()[1:], first()])
    assert str(finding).startswith("nested-difference: regions of fewer than 10 people")
    assert "together with first (" in str(finding)


def test_a_week_that_adds_up_published_cells_of_its_days_passes() -> None:
    """Coarser windows are sums of published cells of one base window (PRIVACY rule 6)."""
    flow = pd.DataFrame({"origin": ["A"], "destination": ["B"]})
    tiles = [pd.DataFrame({"area": [area], "tile": [area.lower()]}) for area in "AB"]
    rows = ROWS[["time", "person"]].drop_duplicates().assign(origin="a", destination="b", trips=1)

    def matrix(name: str, start: int, length: int) -> PublishedMatrix:
        begin, end = MONDAY + start * DAY, MONDAY + (start + length) * DAY
        inside = rows[(rows["time"] >= begin) & (rows["time"] < end)]
        content = Content(flow, tiles[0], tiles[1], inside)
        return PublishedMatrix(name, f"{length} days", "phones", begin, end, 10, "persons", lambda: content)

    assert rules([matrix("week", 0, 7)], [matrix(f"day{number}", number, 1) for number in range(7)]) == set()


def test_releases_that_share_nothing_are_not_even_read() -> None:
    def unreadable() -> Content:
        raise AssertionError("read without need")

    def elsewhere(start: int, source: str, segment: str) -> PublishedMatrix:
        begin = MONDAY + start * DAY
        return PublishedMatrix("x", "flows", source, begin, begin + DAY, 10, "persons", unreadable, segment)

    women = published(ROWS[ROWS["sex"] == "F"], "women", segment="sex=F")
    others = [elsewhere(0, "bikes", "all"), elsewhere(1, "phones", "all")]
    assert rules([women], others) == set()


def test_a_year_of_daily_releases_passes_hour_by_hour() -> None:
    def hourly(day: int) -> list[PublishedMatrix]:
        hours = [MONDAY + day * DAY + timedelta(hours=hour) for hour in range(24)]
        hour = timedelta(hours=1)
        return [
            PublishedMatrix(f"d{day}", "flows", "phones", at, at + hour, 10, "persons", first().load) for at in hours
        ]

    year = [matrix for day in range(365) for matrix in hourly(day)]
    assert rules(hourly(365), year) == set()


def test_overlap_is_refused_when_it_cannot_be_judged() -> None:
    made = city.release(ROWS[ROWS["time"] < MONDAY + DAY])
    purged = PublishedMatrix(
        "old", "flows", "phones", MONDAY, MONDAY + DAY, 10, "persons", lambda: city.content(None, made)
    )
    assert rules([first()], [purged]) == {"input-kept"}
    renamed = ROWS.assign(person=ROWS["person"] + 10**6)
    assert rules([published(renamed, "again")], [first()]) == {"comparable"}
    nameless = ROWS.drop(columns="person").groupby(["time", "origin", "destination"], as_index=False)["trips"].sum()
    without = PublishedMatrix(
        "trips", "flows", "phones", MONDAY, MONDAY + DAY, 10, "trips", lambda: city.content(nameless, made)
    )
    assert rules([without], [first()]) == {"comparable"}


def test_bounds_are_those_of_every_table_that_fits_the_published_values() -> None:
    """Row totals 3 and 4, column totals 2 and 5 of a table of two rows and columns."""
    incidence = sparse.csr_array(np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]], dtype=float))
    attacker = Attacker(incidence, np.array([1, 2, 1, 3]))
    fitting = [(a, 3 - a, 2 - a, 2 + a) for a in range(3)]
    for cell in range(4):
        low, high = attacker.bounds(np.array([cell]))
        assert (round(low), round(high)) == (min(t[cell] for t in fitting), max(t[cell] for t in fitting))
    assert attacker.bounds(np.array([0, 1])) == (3, 3)


@pytest.mark.parametrize(
    ("low", "high", "given_away"),
    [(0, 3, False), (1, 4, True), (1, 5, False), (7, 7, True), (7, 9, False), (0, 0, False)],
)
def test_bounds_give_away_what_is_exact_or_surely_small(low: float, high: float, given_away: bool) -> None:
    assert isolates(low, high, 5) is given_away
