"""Detected stays against the true stays of simulated cities, and the plain anchor on real points."""

from pathlib import Path

import pandas as pd
import pytest
from staypoints_rules import ODANON, rule_stays
from staypoints_truth import antenna_city, gps_city, score

from odanon.simulate.mode import Mode
from odanon.simulate.source import Simulated
from odanon.staypoints.dwell import Dwell
from odanon.staypoints.frame import sort_points
from odanon.staypoints.transit import Transit


@pytest.mark.parametrize(("noise_m", "stray"), [(10, 0.0), (10, 0.02), (30, 0.02), (10, 0.05)])
def test_dwell_finds_the_true_stays_of_noisy_points(noise_m: float, stray: float) -> None:
    city = gps_city(Simulated(people=60, noise_m=noise_m, outlier_share=stray))
    dwell = Dwell()
    result = score(dwell.detect(city.points), city.stays, dwell.min_stay)
    assert result.precision > 0.99
    assert result.recall > 0.93
    assert 0.95 < result.ratio < 1.07
    assert result.found > 0.93


def test_stray_fixes_are_what_splits_a_plain_dwell() -> None:
    city = gps_city(Simulated(people=60, outlier_share=0.02))
    plain = Dwell(max_outliers=0, merge_gap="0s")
    assert score(plain.detect(city.points), city.stays, plain.min_stay).ratio > 1.8


@pytest.mark.parametrize("moved", [0.0, 0.05])
def test_transit_finds_the_true_stays_of_signalling(moved: float) -> None:
    city = antenna_city(Simulated(people=60), Mode.nsd, moved)
    transit = Transit()
    result = score(transit.detect(city.points), city.stays, transit.min_stay)
    assert result.precision > 0.99
    assert result.recall > 0.9
    assert 0.75 < result.ratio < 1.1  # stays near each other on one antenna are one
    assert result.found > 0.7


def test_sparse_call_records_show_a_third_of_the_stays_and_no_false_ones() -> None:
    city = antenna_city(Simulated(people=60), Mode.cdr, 0.0)
    transit = Transit(max_gap="12h")
    result = score(transit.detect(city.points), city.stays, transit.min_stay)
    assert result.precision > 0.94
    assert result.recall > 0.6
    assert result.found > 0.3


@pytest.mark.real
def test_the_plain_anchor_equals_its_slow_twin_on_real_points(shared_data: Path) -> None:
    points = pd.read_parquet(shared_data / "geolife" / "points_users_000-009.parquet")
    points["time"] = points["ts"].dt.tz_localize("UTC")
    points = sort_points(points[points["user"] == 0].rename(columns={"user": "person"}))
    plain = Dwell(max_outliers=0, merge_gap="0s")
    stays, twin = plain.detect(points), rule_stays(points, plain, ODANON)
    assert len(stays) > 100
    for name in ("start", "end"):
        assert (stays[name].to_numpy("datetime64[us]") == twin[name].to_numpy()).all()
