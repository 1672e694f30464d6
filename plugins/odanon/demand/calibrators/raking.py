"""Generalised raking: targets met exactly with coefficients as close to 1 as a distance says (003 section 4.2.1)."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from odanon.demand.calibrators.newton import descended, product, solved
from odanon.demand.calibrators.result import Calibrated
from odanon.demand.calibrators.system import Floats, System
from odanon.errors import OdanonError
from odanon.plugin import parameter, plugin

_MOST = 500.0  # beyond this an exponential is none any more


@plugin
class Raking:
    """Minimises the sum of n phi(c) with A x = b: quadratic, exponential (c ln c - c + 1) or logit between two bounds."""

    distance: Literal["quadratic", "exponential", "logit"] = parameter("exponential", "what is small for c near 1")
    lower: float = parameter(0.1, "the least coefficient of logit", ge=0, lt=1)
    upper: float = parameter(5.0, "the largest coefficient of logit", gt=1)
    rounds: int = parameter(200, "the most Newton steps", ge=1)
    tolerance: float = parameter(1e-9, "the largest gap that counts as met, as a share of the largest target", gt=0)

    def calibrate(self, asked: System) -> Calibrated:
        """Newton's method on the multipliers y: c = F(A'y), and the dual function is convex."""
        from scipy import sparse

        rows, n, target = asked.rows, asked.persons, asked.target
        y, scale = np.zeros(len(target)), max(1.0, float(np.abs(target).max()))
        for step in range(1, self.rounds + 1):
            c, rise, _ = self._functions(rows.T @ y)
            slope = rows @ (n * c) - target
            if np.abs(slope).max() <= self.tolerance * scale:
                return Calibrated.of(asked, n * c, step - 1)
            curved = (rows @ sparse.diags_array(n * rise) @ rows.T).toarray()
            # Targets may depend on each other, and a row that nothing contributes to has no curve at all.
            ridge = 1e-12 * max(1.0, float(np.trace(curved)) / len(y)) * np.eye(len(y))
            y = descended(self._value(asked), y, -solved(curved + ridge, slope), slope)
        raise OdanonError(
            f"raking with the distance {self.distance} did not meet all targets within {self.rounds} steps: they may contradict"
            " each other or the bounds; widen lower and upper, or use least-squares, which may miss them"
        )

    def _functions(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        """F, its slope, and the function whose slope it is."""
        from scipy.special import expit

        if self.distance == "quadratic":
            c = np.maximum(0.0, 1.0 + s)  # nobody is there less than not at all
            return c, (c > 0).astype(np.float64), np.where(c > 0, s + 0.5 * s * s, -0.5)
        if self.distance == "exponential":
            c = np.exp(np.minimum(s, _MOST))
            return c, c, c
        low, high = self.lower, self.upper
        q = (high - low) / ((1 - low) * (high - 1))
        shifted = q * s + np.log((1 - low) / (high - 1))
        part = expit(shifted)
        return (
            low + (high - low) * part,
            (high - low) * q * part * (1 - part),
            low * s + (high - low) / q * np.logaddexp(0.0, shifted),
        )

    def _value(self, asked: System) -> Callable[[Floats], float]:
        n, target = asked.persons, asked.target
        return lambda y: product(n, self._functions(asked.rows.T @ y)[2]) - product(target, y)
