"""Measures of fit, against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy, ks_2samp
from sklearn.metrics import r2_score

from odanon.demand.calibrators.system import system
from odanon.demand.evaluation import calibration_fit, fit, fit_by_step, gini, length_distance, length_quantiles


@given(st.integers(0, 1000))
def test_fits_are_those_of_other_libraries(seed: int) -> None:
    made, wanted = np.random.default_rng(seed).uniform(0.1, 5, (2, 3, 4, 4))
    found = fit(made[0], wanted[0])
    p, q = made[0].ravel() / made[0].sum(), wanted[0].ravel() / wanted[0].sum()
    assert found.r2 == pytest.approx(r2_score(q, p))
    assert [found.kl, found.kl_common] == pytest.approx([entropy(p, q)] * 2)
    steps = fit_by_step(made, wanted)
    assert steps.kl == pytest.approx(np.mean([entropy(made[t].ravel(), wanted[t].ravel()) for t in range(3)]))


def test_what_the_target_lacks_counts_by_epsilon_and_not_on_the_common_cells() -> None:
    found = fit(np.array([1.0, 1.0]), np.array([1.0, 0.0]))
    assert found.kl == pytest.approx(0.5 * np.log(0.5) + 0.5 * np.log(0.5e30))
    assert found.kl_common == 0
    one, none = np.ones((2, 2)), np.zeros((2, 2))
    assert fit_by_step(np.ones((2, 2, 2)), np.stack([one, none])).kl == 0
    assert np.isnan(fit_by_step(np.stack([none, one]), np.stack([one, none])).r2), "no step is common to both"


def test_the_error_of_steps_sees_trips_that_are_missing_from_all_of_them() -> None:
    """Shares are of the trips that there were (003 equation 4.15)."""
    asked = system(np.array([[1, 0], [0, 1]]), np.array([0, 1]), np.full(2, 10.0), np.array([0.5, 0.5]))
    found = calibration_fit(asked, asked.persons / 2, np.full(2, 0.5))
    assert found.error_steps == pytest.approx(0.25**2)
    assert found.error_profiles == pytest.approx(5**2)
    assert [found.lost, found.sd, found.gini] == pytest.approx([0.5, 0, 0])


@given(st.integers(0, 1000))
def test_gini_is_the_mean_difference_by_twice_the_mean(seed: int) -> None:
    values = np.random.default_rng(seed).uniform(0, 3, 20)
    apart = np.abs(values[:, None] - values[None, :]).mean()
    assert gini(values) == pytest.approx(apart / (2 * values.mean()))
    assert gini(np.ones(5)) == pytest.approx(0)


def test_lengths_are_compared_as_distributions() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 30, 200).astype(float), rng.integers(3, 40, 300).astype(float)
    assert length_distance((a, np.ones(200)), (b, np.ones(300))) == pytest.approx(ks_2samp(a, b).statistic)
    assert length_quantiles(np.array([0.0, 10.0, 20.0]), np.array([2.0, 1.0, 1.0]), (0.5, 0.6, 1.0)).tolist() == [
        0,
        10,
        20,
    ]
