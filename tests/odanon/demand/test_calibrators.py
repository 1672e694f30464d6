"""Calibration: the published table, and solvers against independent ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import lsq_linear, minimize
from threadpoolctl import threadpool_limits

from odanon.demand.calibrators.ipu import Ipu, one_pass
from odanon.demand.calibrators.least_squares import LeastSquares
from odanon.demand.calibrators.newton import solved
from odanon.demand.calibrators.raking import Raking
from odanon.demand.calibrators.system import System, system
from odanon.errors import OdanonError
from odanon.protocols import Calibrator

# Ye et al.: two types of households, three of persons; eight households.
YE = np.array(
    [
        [1, 1, 1, 0, 0, 0, 0, 0],
        [0, 0, 0, 1, 1, 1, 1, 1],
        [1, 1, 2, 1, 0, 1, 2, 1],
        [1, 0, 1, 0, 2, 1, 1, 1],
        [1, 1, 0, 2, 1, 0, 2, 0],
    ],
    dtype=float,
)
YE_TARGET = np.array([35.0, 65, 91, 65, 104])


def households() -> System:
    return System(sparse.csr_array(YE), np.ones(8), YE_TARGET, 0, np.arange(8))


def town(seed: int, agents: int = 60, steps: int = 4, profiles: int = 3) -> System:
    """People with trips in some steps, and shares of the steps that lie near those they have."""
    rng = np.random.default_rng(seed)
    trips = rng.poisson(0.7, (agents, steps))
    trips[:steps] += np.eye(steps, dtype=trips.dtype)
    share = trips.sum(axis=0) * rng.uniform(0.85, 1.15, steps)
    profile = np.concatenate([np.arange(profiles), rng.integers(0, profiles, agents - profiles)])
    return system(trips, profile, rng.uniform(1, 4, agents), share / share.sum())


def test_one_pass_over_five_targets_is_that_of_the_published_table() -> None:
    x = one_pass(households(), np.ones(8))
    assert x == pytest.approx([12.37, 14.61, 8.05, 16.28, 16.91, 8.97, 13.78, 8.97], abs=0.006)
    assert YE @ x == pytest.approx([35.02, 64.90, 104.84, 85.94, 104.00], abs=0.006)


def test_ipu_meets_the_targets_of_the_published_table() -> None:
    found = Ipu().calibrate(households())
    assert np.abs(found.gaps).max() < 0.01


@given(st.integers(0, 10_000))
def test_groups_have_the_trips_and_people_of_their_agents(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trips, profile, weight = rng.integers(0, 3, (40, 3)), rng.integers(0, 4, 40), rng.uniform(1, 3, 40)
    trips[0] = 1
    made = system(trips, profile, weight, np.full(3, 1 / 3))
    by_agent = np.concatenate([weight @ trips, np.bincount(profile, weights=weight)])
    assert (made.rows @ made.persons)[:3] == pytest.approx(by_agent[:3])
    assert made.target[3:] == pytest.approx(by_agent[3:])
    assert made.target[:3] == pytest.approx(np.full(3, by_agent[:3].sum() / 3))
    assert len(made.persons) == len({(*row, kind) for row, kind in zip(trips.tolist(), profile, strict=True)})


@given(st.integers(0, 10_000), st.sampled_from([5e3, 5e5, 5e7]))
def test_least_squares_are_those_of_an_independent_solver(seed: int, beta: float) -> None:
    asked, plugin = town(seed), LeastSquares(beta=beta)
    found = plugin.calibrate(asked)
    root = np.sqrt(beta / plugin.alpha)
    stacked = np.vstack([asked.rows.toarray(), root * np.eye(len(asked.persons))])
    wanted = np.concatenate([asked.target, root * asked.persons])
    other = lsq_linear(stacked, wanted, bounds=(0, np.inf), method="bvls", tol=1e-14).x
    assert found.persons == pytest.approx(other, abs=1e-5)
    assert found.persons.min() >= 0


@pytest.mark.parametrize("distance", ["quadratic", "exponential", "logit"])
def test_raking_is_that_of_an_independent_convex_solver(distance: str) -> None:
    asked, plugin = town(3), Raking(distance=distance)
    found = plugin.calibrate(asked)
    assert np.abs(found.gaps).max() < 1e-6
    n, rows = asked.persons, asked.rows.toarray()
    low, high = (0.1, 5.0) if distance == "logit" else (1e-9, np.inf)

    def phi(c: np.ndarray) -> np.ndarray:
        if distance == "quadratic":
            return 0.5 * (c - 1) ** 2
        if distance == "exponential":
            return c * np.log(c) - c + 1
        q = (high - low) / ((1 - low) * (high - 1))
        return ((c - low) * np.log((c - low) / (1 - low)) + (high - c) * np.log((high - c) / (high - 1))) / q

    def cost(c: np.ndarray) -> float:
        return float(n @ phi(np.clip(c, low + 1e-9, high - 1e-9)))

    other = minimize(
        cost,
        np.ones(len(n)),
        method="SLSQP",
        bounds=[(low, None if np.isinf(high) else high)] * len(n),
        constraints={"type": "eq", "fun": lambda c: rows @ (n * c) - asked.target, "jac": lambda c: rows * n},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert cost(found.persons / n) <= other.fun + 1e-5
    assert found.persons / n == pytest.approx(other.x, abs=0.01)


def test_logit_stays_within_its_bounds_and_contradictions_are_told() -> None:
    asked = town(5)
    c = Raking(distance="logit", lower=0.5, upper=2.0).calibrate(asked).persons / asked.persons
    assert 0.5 <= c.min() <= c.max() <= 2.0
    wild = System(asked.rows, asked.persons, asked.target * np.linspace(0.2, 5, len(asked.target)), 4, asked.group)
    with pytest.raises(OdanonError, match="contradict"):
        Raking(distance="logit", lower=0.9, upper=1.1, rounds=30).calibrate(wild)


def test_a_step_in_which_nobody_travels_is_reported_and_not_fitted() -> None:
    made = system(np.array([[1, 0], [2, 0]]), np.array([0, 0]), np.ones(2), np.array([0.5, 0.5]))
    found = Ipu().calibrate(made)
    assert found.unreachable.tolist() == [1]
    assert found.gaps[1] == -1  # all of its trips are missing
    assert np.abs(found.gaps[[0, 2]]).max() <= np.abs(made.gaps(made.persons)[[0, 2]]).max()


def test_coefficients_are_those_of_groups() -> None:
    asked = town(1)
    found = Ipu().calibrate(asked)
    c = found.coefficients(asked)
    assert c == pytest.approx((found.persons / asked.persons)[asked.group])


@pytest.mark.parametrize("plugin", [Ipu(rounds=3), LeastSquares(), Raking(), Raking(distance="logit", upper=9.0)])
def test_the_number_of_cores_changes_no_bit(plugin: Calibrator) -> None:
    """Libraries of linear algebra add in another order for another number of threads."""
    asked = town(2, agents=20_000, steps=10, profiles=110)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(plugin.calibrate(asked).persons.tobytes())
    assert found[0] == found[1]


@given(st.integers(0, 1000))
def test_elimination_solves_what_a_library_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    half, right = rng.normal(size=(12, 9)), rng.normal(size=12)
    curved = half @ half.T + 1e-3 * np.eye(12)
    assert solved(curved, right) == pytest.approx(np.linalg.solve(curved, right), rel=1e-8)
