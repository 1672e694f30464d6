"""The risk report: figures that can be worked out by hand, and attacks that find more without protection."""

import numpy as np
import pandas as pd
import pytest
from privacy_city import CITY, people, release

from odanon import registry
from odanon.anonymizers.atg_joint import AtgJoint
from odanon.anonymizers.matrix import ODMatrix
from odanon.anonymizers.release import Release
from odanon.errors import OdanonError
from odanon.hierarchy.tree import Hierarchy
from odanon.privacy.membership import auc, membership_auc
from odanon.privacy.risk import RiskReport, implied_small_share, risk_report

TREE = Hierarchy.from_parents(["all", "a", "b", "c"], [-1, 0, 0, 0], kind="trio").placed(
    np.array(["a", "b", "c"], dtype=object), np.array([45.0, 45.0, 45.0]), np.array([5.0, 5.1, 5.2])
)
# a to b: people 0-3, the first with five trips; a to c: people 4 and 5; b to a: people 6-9.
ROWS = pd.DataFrame(
    {
        "origin": list("aaaaaabbbb"),
        "destination": list("bbbbccaaaa"),
        "person": range(10),
        "trips": [5, 1, 1, 1, 2, 2, 1, 1, 1, 1],
    }
)


@pytest.fixture(scope="module")
def report() -> RiskReport:
    od = ODMatrix.from_frame(ROWS, TREE, TREE)
    plugin = registry.create("anonymize", "suppression", {"k": 2, "suppression": 0.0})
    return risk_report(od, plugin.anonymize(od, TREE, TREE), TREE, membership=0.6789)


def test_flows_have_their_prosecutor_risk_and_dominance(report: RiskReport) -> None:
    by_pair = report.flows.set_index(["origin", "destination"])
    assert by_pair["persons"].to_dict() == {("a", "b"): 4, ("a", "c"): 2, ("b", "a"): 4}
    assert by_pair.loc[("a", "b"), "prosecutor"] == 0.25
    assert by_pair.loc[("a", "b"), "dominance"] == 5 / 8
    assert report.public["prosecutor_mean"] == 0.3  # three flows, ten people
    assert report.public["dominated_share"] == 0.67  # a to b and a to c


def test_origins_have_their_most_common_destination_with_its_size(report: RiskReport) -> None:
    origins = report.origins.set_index("origin")
    assert origins["homogeneity"].to_dict() == {"a": 4 / 6, "b": 1.0}
    assert origins["homogeneous_tiles"].to_dict() == {"a": 1, "b": 1}


def test_closeness_compares_an_origin_with_everybody(report: RiskReport) -> None:
    """Of 16 trips 8 end in b, 4 in c and 4 in a; from b all 4 end in a, three quarters of everybody's elsewhere."""
    origins = report.origins.set_index("origin")
    assert origins.loc["b", "total_variation"] == pytest.approx(0.75)
    step = 0.1 * 111.2 * np.cos(np.radians(45))  # km between neighbours
    assert origins.loc["b", "earth_mover_km"] == pytest.approx(0.5 * step + 0.25 * 2 * step)


def test_public_figures_have_two_digits_and_no_smallest_count(report: RiskReport) -> None:
    assert all(float(f"{value:.2g}") == value for value in report.public.values())
    assert report.public["prosecutor_at_most"] == 0.5
    assert report.public["membership_auc"] == 0.68
    assert not any("min" in name.split("_") for name in report.public)


def test_a_small_multiplier_tells_more() -> None:
    """Trips blurred to four tiles and not to one at a price of 10 each: at least 3 of 8 are below k."""
    tree = Hierarchy.from_parents(["all", "a", "b", "c", "d"], [-1, 0, 0, 0, 0], kind="four")
    flows = pd.DataFrame({"origin": ["a"], "destination": ["all"], "origin_tiles": [1], "destination_tiles": [4]})

    def share(multiplier: float) -> float:
        made = Release(flows, pd.DataFrame(), None, None, {}, {"lambda": multiplier})  # type: ignore[arg-type]
        implied = implied_small_share(made, tree)
        assert implied is not None
        return float(implied[0])

    assert share(10) == pytest.approx(3 / 8)
    assert share(1000) == pytest.approx(3 / 998)
    assert share(4) == 1.0


def test_without_a_multiplier_or_centroids_those_figures_are_absent(report: RiskReport) -> None:
    assert "minimality_mean" not in report.public
    rows = people(400, days=1)
    made = release(rows)
    figures = risk_report(ODMatrix.from_frame(rows, CITY, CITY), made, CITY).public
    assert "minimality_mean" in figures
    assert "earth_mover_km_mean" not in figures


def test_a_report_needs_people_and_flows() -> None:
    od = ODMatrix.from_frame(ROWS, TREE, TREE, person=None)
    made = registry.create("anonymize", "suppression", {"k": 2, "unit": "trips"}).anonymize(od, TREE, TREE)
    with pytest.raises(OdanonError, match="no person ids"):
        risk_report(od, made, TREE)


def test_the_area_under_the_curve_is_a_chance() -> None:
    assert auc([0, 1], [2, 3]) == 1
    assert auc([1, 1], [1, 1]) == 0.5
    assert auc([3], [1]) == 0


def test_membership_is_harder_to_tell_from_a_release() -> None:
    found = membership_auc(AtgJoint(k=10))
    assert found["unprotected"] > 0.8
    assert 0.4 < found["released"] < found["unprotected"] - 0.1


def test_the_attack_repeats() -> None:
    uniform = registry.create("anonymize", "uniform", {"k": 5, "suppression": 0.5})
    assert membership_auc(uniform) == membership_auc(uniform)
