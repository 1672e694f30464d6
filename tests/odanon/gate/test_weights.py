"""Weights that are published (PRIVACY rule 20): rounded, counted again, limited, and part of what the auditor compares."""

from dataclasses import replace
from functools import cache
from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from privacy_city import people, published, release

from odanon.gate.audit.auditor import audit
from odanon.gate.audit.published import PublishedMatrix
from odanon.gate.verifier import verify
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Promise
from odanon.model.release import Release

TREE = Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0], kind="pair")
TILES = pd.DataFrame({"area": ["all", "all", "a", "b"], "tile": ["a", "b", "a", "b"]})
ROWS = people(600, days=1)


def crowd(weights: list[float], origin: str = "a") -> pd.DataFrame:
    """One trip to b by each of some people."""
    table = {"origin": origin, "destination": "b", "person": range(len(weights)), "trips": 1, "weight": weights}
    return pd.DataFrame(table)


def released(rows: pd.DataFrame) -> pd.DataFrame:
    """The flows of a release that joins everything."""
    od = ODMatrix.from_frame(rows, TREE, TREE, weight="weight")
    root = np.zeros(len(od.pairs.trips), dtype=np.int64) + TREE.label.tolist().index("all")
    return Release.from_nodes(od, TREE, TREE, root, root, {"k": 2}).flows


def told(*weights: float) -> float:
    return float(released(crowd(list(weights)))["weight"].iloc[0])


def rules(rows: pd.DataFrame, flows: pd.DataFrame, **promise: float) -> set[str]:
    asked = Promise(k=2, unit="population", **{"k_population": 0.5, **promise})
    plain = flows.astype({"origin": "str", "destination": "str"})
    return {finding.rule for finding in verify(rows, plain, TILES, TILES, asked, suppressed_trips=0)}


def test_one_persons_new_weight_does_not_show() -> None:
    others = [float(weight) for weight in range(20, 60)]
    assert sum(others) == 1580
    assert told(*others, 1) == told(*others, 2) == 1600


def test_weights_of_powers_of_two_name_nobody() -> None:
    """Whoever of ten people of 1, 2, 4, ... 512 is in a flow: its exact weight would be a list of names."""
    weights = [2.0**n for n in range(10)]
    groups = list(chain.from_iterable(combinations(weights, size) for size in range(5, 11)))
    assert len({sum(group) for group in groups}) == len(groups) == 638
    assert len({told(*group) for group in groups}) <= 10


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 10**9).map(lambda n: n / 1024)), min_size=1, max_size=30),
    st.randoms(use_true_random=False),
)
def test_an_estimate_is_a_multiple_of_a_step_that_hides_everybody(pairs: list[tuple[int, float]], rng) -> None:
    rows = crowd([weight for _, weight in pairs]).assign(person=[person for person, _ in pairs])
    estimate = float(released(rows)["weight"].iloc[0])
    heaviest, total = rows.groupby("person")["weight"].sum().max(), rows["weight"].sum()
    # Slowly, in decimals: the smallest of 1, 2, 5, 10, ... that the heaviest person does not exceed.
    step = next(d * 10**n for n in range(9) for d in (1, 2, 5) if d * 10**n >= heaviest)
    assert estimate % step == 0
    assert estimate >= step
    assert abs(estimate - total) <= max(step / 2, estimate == step and step)
    mixed = rows.sample(frac=1, random_state=rng.randrange(2**32))
    assert released(mixed)["weight"].iloc[0] == estimate
    merged = rows.groupby(["origin", "destination", "person"], as_index=False).sum()
    assert "weights" not in rules(merged, released(rows))


@pytest.mark.parametrize("change", [lambda w: w + 1, lambda w: w * 2, lambda w: 1353.0])
def test_the_verifier_refuses_a_weight_that_is_not_rounded_as_the_rows_ask(change) -> None:
    rows = crowd([33.0] * 41)  # 1353 in all
    flows = released(rows)
    assert flows["weight"].tolist() == [1350.0]
    assert rules(rows, flows) == set()
    assert rules(rows, flows.assign(weight=change(flows["weight"]))) == {"weights"}


def test_a_person_may_have_only_so_large_a_share_of_the_weight() -> None:
    even, heavy = crowd([10.0] * 5), crowd([10.0] * 4 + [90.0])
    assert rules(even, released(even), max_dominance=0.5) == set()
    assert rules(heavy, released(heavy)) == set()
    assert rules(heavy, released(heavy), max_dominance=0.5) == {"max-dominance"}
    assert rules(crowd([10.0, 10.0]), released(crowd([10.0, 10.0])), max_dominance=0.5) == set()


def test_weights_that_are_too_large_to_add_up_are_refused() -> None:
    with pytest.raises(ValueError, match="give weights in larger units"):
        released(crowd([2.0**41, 2.0**41]))


def estimated(rows: pd.DataFrame, name: str, product: str = "estimates", unit: str = "population") -> PublishedMatrix:
    return replace(published(rows, name, product=product, made=published_areas()), unit=unit)


@cache
def published_areas() -> Release:
    """The same areas for all, so that nothing but the rows differs."""
    return release(ROWS)


def reweighted(n: int) -> pd.DataFrame:
    """The rows with other weights for some people."""
    changed = ROWS["person"].isin(ROWS["person"].unique()[:n])
    return ROWS.assign(weight=ROWS["weight"] + changed)


def found(candidate: PublishedMatrix, *others: PublishedMatrix) -> set[str]:
    return {finding.rule for finding in audit([candidate], others)}


@pytest.mark.parametrize("product", ["estimates", "another"])
def test_whoever_weighs_otherwise_is_a_changed_person(product: str) -> None:
    """In the place of the first release, and as a second product."""
    first = estimated(ROWS, "first")
    assert found(estimated(ROWS, "again", product), first) == set()
    for n in (1, 9):
        assert "changed-input" in found(estimated(reweighted(n), "again", product), first)
    everybody = ROWS["person"].nunique()
    assert found(estimated(reweighted(everybody), "again", product), first) == {"comparable"}


def test_weights_count_only_where_they_are_published() -> None:
    trips = estimated(ROWS, "trips", "trips", unit="persons")
    assert found(estimated(reweighted(1), "again", "others", unit="persons"), trips) == set()
    assert found(estimated(reweighted(1), "again"), trips) == set()
    assert "changed-input" in found(estimated(reweighted(1), "again"), trips, estimated(ROWS, "first", "first"))


def test_weights_that_may_be_divided_out_hide_no_subtraction() -> None:
    """Two settings of one day isolate people, whatever was done to the weights in between."""
    coarse = replace(published(reweighted(300), "coarse", product="coarse", k=15), unit="population")
    assert "nested-difference" in found(coarse, estimated(ROWS, "first"))
