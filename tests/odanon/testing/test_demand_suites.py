"""The suites of calibrators and placers: installed plugins pass, and each planted fault is caught."""

from typing import Any

import numpy as np
import pytest

from odanon import registry
from odanon.api import Calibrated, Matrices, System, Travellers, plugin
from odanon.demand.calibrators.raking import Raking
from odanon.demand.placers.forward import LinkedForward
from odanon.testing import check_calibrator, check_placer


@pytest.mark.parametrize("name", registry.names("calibrate"))
def test_every_installed_calibrator_conforms(name: str) -> None:
    check_calibrator(registry.create("calibrate", name, {}))


@pytest.mark.parametrize("distance", ["quadratic", "logit"])
def test_every_distance_of_raking_conforms(distance: Any) -> None:
    check_calibrator(Raking(distance=distance))


@pytest.mark.parametrize("name", registry.names("place"))
def test_every_installed_placer_conforms(name: str) -> None:
    check_placer(registry.create("place", name, {}))


@plugin
class Halves:
    """Leaves half of everybody, which is no nearer to any target."""

    def calibrate(self, asked: System) -> Calibrated:
        return Calibrated.of(asked, asked.persons / 2, 1)


@plugin
class Boasts:
    """Says that it met all targets."""

    def calibrate(self, asked: System) -> Calibrated:
        return Calibrated(asked.persons, np.zeros_like(asked.target), asked.unreachable, 1)


@plugin
class Negative:
    """Takes away more people than there are."""

    def calibrate(self, asked: System) -> Calibrated:
        return Calibrated.of(asked, asked.persons - 20, 1)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [(Halves, "larger than before"), (Boasts, "gaps are not those"), (Negative, "fewer people than nobody")],
)
def test_a_faulty_calibrator_is_caught(fault: type, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_calibrator(fault())


@plugin
class Shuffled:
    """Draws for all together, so that people depend on each other."""

    def place(self, travellers: Travellers, matrices: Matrices) -> list[np.ndarray]:
        rng = np.random.default_rng(1)
        made = LinkedForward().place(travellers, matrices)
        for at in made:
            at[:, 1:] = rng.integers(0, matrices.trips.shape[1], at[:, 1:].shape)
        return made


@plugin
class Homeless:
    """Begins the day somewhere else."""

    def place(self, travellers: Travellers, matrices: Matrices) -> list[np.ndarray]:
        made = LinkedForward().place(travellers, matrices)
        return [(at + 1) % matrices.trips.shape[1] for at in made]


@plugin
class Lazy:
    """Places the first agenda alone."""

    def place(self, travellers: Travellers, matrices: Matrices) -> list[np.ndarray]:
        return LinkedForward().place(travellers, matrices)[:1]


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [(Shuffled, "depends on who else"), (Homeless, "does not begin at home"), (Lazy, "not one array an agenda")],
)
def test_a_faulty_placer_is_caught(fault: type, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_placer(fault())
