"""The risk report: figures that can be worked out by hand, and attacks that find more without protection."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from privacy_city import CITY, people, release
from rested import TREE as TOWN
from rested import dense, rested

from odanon import registry
from odanon.anonymizers.atg.joint import AtgJoint
from odanon.anonymizers.segments import split_by_segment
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.model.window import Times
from odanon.risk.figures import FIGURES, PREFIX
from odanon.risk.membership import auc, expected_trips, membership_auc
from odanon.risk.report import RiskReport, implied_small_share, risk_report

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

PUBLIC = {figure.name.removeprefix(PREFIX) for figure in FIGURES if figure.public}


@pytest.fixture(scope="module")
def report() -> RiskReport:
    od = ODMatrix.from_frame(ROWS, TREE, TREE)
    plugin = registry.create("anonymize", "suppression", {"k": 2, "suppression": 0.0})
    return risk_report(od, plugin.anonymize(od, TREE, TREE), TREE, TREE)


def test_flows_have_their_prosecutor_risk_and_dominance(report: RiskReport) -> None:
    by_pair = report.flows.set_index(["origin", "destination"])
    assert by_pair["persons"].to_dict() == {("a", "b"): 4, ("a", "c"): 2, ("b", "a"): 4}
    assert by_pair.loc[("a", "b"), "prosecutor"] == 0.25
    assert by_pair.loc[("a", "b"), "dominance"] == 5 / 8
    public = report.public(2, "persons")
    assert public["prosecutor_mean"] == 0.3  # three flows, ten people
    assert public["dominated_share"] == 0.67  # a to b and a to c


def test_origins_have_their_most_common_destination_with_its_size(report: RiskReport) -> None:
    origins = report.origins.set_index("origin")
    assert origins["homogeneity"].to_dict() == {"a": 4 / 6, "b": 1.0}
    assert origins["homogeneous_tiles"].to_dict() == {"a": 1, "b": 1}


def test_whoever_always_goes_to_one_place_does_so_at_whatever_hour() -> None:
    """Told by the hour, all 60 people of an origin still go to one destination."""
    starts = [datetime(2026, 3, 2, hour, tzinfo=UTC) for hour in (6, 7, 8)]
    times = Times.of([(start, start + timedelta(hours=1)) for start in starts])
    ends = np.zeros(60, dtype=int), np.ones(60, dtype=int), np.ones(60, dtype=int)
    od = ODMatrix.from_arrays(*ends, np.arange(60), time=np.arange(60) % 3, times=times)
    tree = Hierarchy.from_parents(["a", "b", "all"], [2, 2, -1], kind="pair")
    nodes = np.zeros(3, dtype=int), np.ones(3, dtype=int)
    by_hour = Release.from_nodes(od, tree, tree, *nodes, {"k": 10}, pair_time=times.tree.tiles[od.pairs.time])
    assert len(by_hour.flows) == 3
    assert risk_report(od, by_hour, tree, tree).origins["homogeneity"].tolist() == [1.0]


def test_closeness_compares_an_origin_with_everybody(report: RiskReport) -> None:
    """Of 16 trips 8 end in b, 4 in c and 4 in a; from b all 4 end in a, three quarters of everybody's elsewhere."""
    origins = report.origins.set_index("origin")
    assert origins.loc["b", "total_variation"] == pytest.approx(0.75)
    step = 0.1 * 111.2 * np.cos(np.radians(45))  # km between neighbours
    assert origins.loc["b", "earth_mover_km"] == pytest.approx(0.5 * step + 0.25 * 2 * step)


def test_public_figures_have_two_digits_and_no_smallest_count(report: RiskReport) -> None:
    public = report.public(2, "persons")
    assert all(float(f"{value:.2g}") == value for value in public.values())
    assert public["prosecutor_at_most"] == 0.5
    assert report.public(7, "persons")["prosecutor_at_most"] == 0.143  # a bound is not rounded down
    assert public.keys() <= PUBLIC  # no smallest count, no tiles, no multiplier


def test_what_few_flows_or_origins_would_tell_is_not_public(report: RiskReport) -> None:
    """Three flows and two origins: their means would nearly tell the people of one."""
    few = {"prosecutor_mean", "dominated_share"}, {"homogeneity_mean", "homogeneous_tiles_mean"}
    assert not (few[0] | few[1]) & report.public(4, "persons").keys()
    assert few[0] <= report.public(3, "persons").keys()
    assert not few[1] & report.public(3, "persons").keys()
    assert few[0] | few[1] <= report.public(2, "persons").keys()


def test_reports_of_time_bins_are_joined(report: RiskReport) -> None:
    both = RiskReport.joined({8: report, 9: report}, "time_bin")
    assert both.flows["time_bin"].tolist() == [8, 8, 8, 9, 9, 9]
    assert both.public(2, "persons") == report.public(2, "persons")


def test_a_report_by_segment_is_of_the_flows_as_shown() -> None:
    """a to b is split into two pairs of people, the others stay whole; the first pair holds the frequent traveller."""
    od = ODMatrix.from_frame(ROWS, TREE, TREE)
    plugin = registry.create("anonymize", "suppression", {"k": 2, "suppression": 0.0})
    whole = plugin.anonymize(od, TREE, TREE)
    segments = ROWS.assign(segment=["F", "F", "M", "M", "F", "M", "F", "M", "M", "M"])
    matrices = {str(name): ODMatrix.from_frame(part, TREE, TREE) for name, part in segments.groupby("segment")}
    parts = split_by_segment(whole, matrices, plugin, TREE, TREE)
    report = risk_report(od, whole, TREE, TREE)
    shown = report.by_segment({name: (matrices.get(name, od), part) for name, part in parts.items()})
    by_flow = shown.flows.set_index(["segment", "origin", "destination"])
    assert by_flow["persons"].to_dict() == {
        ("F", "a", "b"): 2,
        ("M", "a", "b"): 2,
        ("all", "a", "c"): 2,
        ("all", "b", "a"): 4,
    }
    assert by_flow["dominance"].to_dict()[("F", "a", "b")] == 5 / 6
    assert shown.origins.equals(report.origins)


def test_a_small_multiplier_tells_more() -> None:
    """Trips blurred to four tiles and not to one at a price of 10 each: at least 3 of 8 are below k."""
    tree = Hierarchy.from_parents(["all", "a", "b", "c", "d"], [-1, 0, 0, 0, 0], kind="four")
    flows = pd.DataFrame({"origin": ["a"], "destination": ["all"], "origin_tiles": [1], "destination_tiles": [4]})
    mirrored = pd.DataFrame({"origin": ["all"], "destination": ["a"], "origin_tiles": [4], "destination_tiles": [1]})

    def share(multiplier: float, direction: str = "origin-first", shown: pd.DataFrame = flows) -> float:
        said = {"lambda": multiplier, "direction": direction}
        made = Release(shown, pd.DataFrame(), None, None, {}, said)  # type: ignore[arg-type]
        implied = implied_small_share(made, tree, tree)
        assert implied is not None
        return float(implied[0])

    assert share(10) == pytest.approx(3 / 8)
    assert share(1000) == pytest.approx(3 / 998)
    assert share(4) == 1.0
    assert share(10, "destination-first", mirrored) == share(10)
    assert share(10, "destination-first") == 0.0  # the origin is a tile and cannot be split


def test_the_lattice_could_have_split_either_side() -> None:
    tree = Hierarchy.from_parents(["all", "ab", "c", "a", "b"], [-1, 0, 0, 1, 1], kind="three")
    ends = {"origin": ["ab", "ab"], "destination": ["all", "all"], "origin_tiles": [2, 2], "destination_tiles": [3, 3]}

    def shares(objective: str, **said: float) -> list[float]:
        shown = pd.DataFrame({**ends, "kind": ["flow", "rest"]})
        made = Release(shown, pd.DataFrame(), None, None, {"objective": objective}, said)  # type: ignore[arg-type]
        implied = implied_small_share(made, tree, tree)
        assert implied is not None
        return implied.tolist()

    both = {"origin": (5 - 4) / (10 - 4), "destination": (5 - 4) / (10 - 4)}  # m = 1 + 3 and 2 + 2
    assert shares("tiles", **{"lambda": 10}) == [max(both.values()), 0.0]
    assert shares("loss", **{"lambda": 1, "tile_price": 0.2}) == shares("tiles", **{"lambda": 10})
    assert shares("loss", **{"lambda": 1, "tile_price": 0}) == [0.0, 0.0]


def test_without_a_multiplier_or_centroids_those_figures_are_absent(report: RiskReport) -> None:
    assert "minimality_mean" not in report.restricted()
    assert report.restricted()["earth_mover_km_mean"] > 0
    rows = people(400, days=1)
    made = release(rows)
    measured = risk_report(ODMatrix.from_frame(rows, CITY, CITY), made, CITY, CITY)
    assert 0 <= measured.restricted()["minimality_mean"] < 1
    assert "earth_mover_km_mean" not in measured.restricted()
    made.metrics["direction"] = "homogeneous"
    assert implied_small_share(made, CITY, CITY) is None


def test_without_person_ids_what_counts_people_is_absent() -> None:
    od = ODMatrix.from_frame(ROWS, TREE, TREE, person=None)
    made = registry.create("anonymize", "suppression", {"k": 2, "unit": "trips"}).anonymize(od, TREE, TREE)
    report = risk_report(od, made, TREE, TREE)
    assert report.restricted()["total_variation_mean"] > 0


def test_where_k_counts_trips_nothing_is_said_about_people(report: RiskReport) -> None:
    """One person may be behind every flow, which the mean of their number would tell."""
    assert report.public(2, "trips") == {"prosecutor_at_most": 1.0}


def test_the_area_under_the_curve_is_a_chance() -> None:
    present = np.array([False, False, True, True])
    scores = np.array([[0, 1, 3, 3], [1, 1, 2, 1], [2, 1, 1, 1], [3, 1, 0, 2]])
    assert auc(scores, np.tile(present, (4, 1)).T).tolist() == [1, 0.5, 0, 0.375]


def test_membership_is_harder_to_tell_from_a_release() -> None:
    found = membership_auc(AtgJoint(k=10))
    assert found["unprotected"] > 0.8
    assert 0.4 < found["released"] < found["unprotected"] - 0.1


def test_the_attack_repeats() -> None:
    uniform = registry.create("anonymize", "uniform", {"k": 5, "suppression": 0.5})
    assert membership_auc(uniform) == membership_auc(uniform)


@pytest.mark.parametrize(
    "algorithm",
    [
        "mondrian",
        pytest.param("glove", marks=pytest.mark.thorough),
        pytest.param("odkanon", marks=pytest.mark.thorough),
    ],
)
def test_algorithms_of_every_kind_can_be_attacked(algorithm: str) -> None:
    assert membership_auc(registry.create("anonymize", algorithm, {"k": 10}))["released"] > 0.5


def test_an_anonymiser_that_refuses_the_city_has_no_figure() -> None:
    assert membership_auc(registry.create("anonymize", "suppression", {"k": 10})).keys() == {"unprotected"}


def test_people_leave_every_origin_area_that_holds_them() -> None:
    """Ten stay in a; three go from a to b and three back, which only a rest of the whole map tells."""
    tree = Hierarchy.from_parents(["a", "b", "all"], [2, 2, -1], kind="test")
    tiles = tree.ranks(np.array(list("a" * 13 + "b" * 3))), tree.ranks(np.array(list("a" * 10 + "b" * 3 + "a" * 3)))
    od = ODMatrix.from_arrays(*tiles, np.ones(16, dtype=np.int64), np.arange(16))
    thin = od.pairs.trips < 10
    nodes = [np.where(thin, tree.root, tree.tiles[ends]) for ends in (od.pairs.origin, od.pairs.destination)]
    made = Release.from_nodes(od, tree, tree, *nodes, {"k": 6}, pair_rest=thin)
    origins = risk_report(od, made, tree, tree).origins.set_index("origin")
    assert origins["people"].to_dict() == {"a": 13, "all": 16}
    assert origins["row_people"].to_dict() == {"a": 10, "all": 6}
    assert origins["homogeneity"].to_dict() == {"a": 10 / 13, "all": 6 / 16}


def test_an_attacker_spreads_rests_over_what_no_finer_row_holds() -> None:
    for made in rested(1):
        np.testing.assert_allclose(expected_trips(made, TOWN), dense(made), atol=1e-9)
