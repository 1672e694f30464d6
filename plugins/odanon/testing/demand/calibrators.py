"""Conformance of calibrators."""

from dataclasses import replace

import numpy as np

from odanon.demand.calibrators.system import System, system
from odanon.errors import OdanonError
from odanon.protocols import Calibrator
from odanon.testing.parameters import check_parameters

_CASES = 4


def check_calibrator(plugin: Calibrator) -> None:
    """All rules for a calibrator, on generated systems."""
    check_parameters(plugin)
    name = type(plugin).__name__
    for seed in range(_CASES):
        asked = _some_system(seed)
        before = asked.persons.copy(), asked.target.copy()
        found = plugin.calibrate(asked)
        assert all(np.array_equal(*both) for both in zip(before, (asked.persons, asked.target), strict=True)), (
            f"{name} changes the system that it is given"
        )
        x = np.asarray(found.persons)
        assert x.shape == asked.persons.shape, f"{name}: there is not one number a group"
        assert np.isfinite(x).all(), f"{name}: a number of people is not finite"
        assert x.min() >= 0, f"{name}: a group has fewer people than nobody"
        assert np.allclose(found.gaps, asked.gaps(x), atol=1e-9), f"{name}: the gaps are not those of its numbers"
        started, reached = (np.abs(asked.gaps(each)).max() for each in (asked.persons, x))
        assert reached <= started + 1e-9, f"{name}: the largest gap is larger than before"
        assert np.array_equal(x, plugin.calibrate(asked).persons), f"{name}: the same system has two answers"
        met = replace(asked, target=asked.rows @ asked.persons)
        assert np.allclose(plugin.calibrate(met).persons, asked.persons, rtol=1e-6), (
            f"{name}: groups that meet all targets are changed"
        )
    _check_unreachable(plugin, name)


def _check_unreachable(plugin: Calibrator, name: str) -> None:
    """A target to which nobody contributes is told, or refused in a sentence."""
    asked = _some_system(0, empty=True)
    try:
        found = plugin.calibrate(asked)
    except OdanonError:
        return
    assert np.array_equal(found.unreachable, asked.unreachable), f"{name}: does not tell which target nobody can meet"
    assert np.isfinite(found.persons).all(), f"{name}: a target that nobody can meet spoils the others"


def _some_system(seed: int, empty: bool = False) -> System:
    """Three profiles, four steps, and shares that some groups of people would have."""
    rng = np.random.default_rng(seed)
    trips, profile = rng.integers(0, 3, (60, 4)), np.arange(60) % 3
    trips[: 3 * 4] = np.repeat(np.eye(4, dtype=np.int64), 3, axis=0)  # each profile can travel in each step
    wanted = rng.uniform(0.7, 1.3, 60) @ trips
    if empty:
        trips[:, 3] = 0
    return system(trips, profile, rng.uniform(5, 15, 60), wanted / wanted.sum())
