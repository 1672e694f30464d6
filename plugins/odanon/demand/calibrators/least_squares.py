"""Regularised least squares, solved exactly (003 equation 4.14)."""

from collections.abc import Callable

import numpy as np

from odanon.demand.calibrators.newton import descended, product, solved
from odanon.demand.calibrators.result import Calibrated
from odanon.demand.calibrators.system import Floats, System
from odanon.errors import OdanonError
from odanon.plugin import parameter, plugin


@plugin
class LeastSquares:
    """Weighs the squared gaps to the targets against the squared changes of groups: alpha |Ax - b|^2 + beta |x - n|^2, x >= 0."""

    alpha: float = parameter(5e5, "price of a gap", gt=0)
    beta: float = parameter(5e3, "price of a change; only beta by alpha matters", gt=0)
    rounds: int = parameter(200, "the most Newton steps", ge=1)

    def calibrate(self, asked: System) -> Calibrated:
        """x = max(0, n + A'y) where y r + A x = b, r = beta / alpha: as many unknowns as there are targets.

        That is the gradient of a convex function which is quadratic wherever the same groups are empty, so that Newton's
        method ends at its minimum after finitely many steps.
        """
        from scipy import sparse

        ratio, rows, n = self.beta / self.alpha, asked.rows, asked.persons
        y = np.zeros(len(asked.target))
        for step in range(1, self.rounds + 1):
            x = np.maximum(0.0, n + rows.T @ y)
            slope = ratio * y + rows @ x - asked.target
            if np.abs(slope).max() <= 1e-10 * max(1.0, np.abs(asked.target).max()):
                return Calibrated.of(asked, x, step - 1)
            active = rows @ sparse.diags_array((x > 0).astype(np.float64))
            curved = (active @ rows.T).toarray() + ratio * np.eye(len(y))
            y = descended(self._value(asked), y, -solved(curved, slope), slope)
        raise OdanonError(f"least squares did not end within {self.rounds} steps; raise rounds, or beta")

    def _value(self, asked: System) -> Callable[[Floats], float]:
        def value(y: Floats) -> float:
            x = np.maximum(0.0, asked.persons + asked.rows.T @ y)
            return 0.5 * self.beta / self.alpha * product(y, y) + 0.5 * product(x, x) - product(asked.target, y)

        return value
