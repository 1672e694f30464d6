"""The promise every anonymiser makes: how many, of what, and how much may be left out."""

from typing import Literal

from odanon.anonymize.matrix import ODMatrix
from odanon.errors import OdanonError
from odanon.plugin import parameter, plugin

Unit = Literal["persons", "trips", "vehicles", "population"]


@plugin
class Protection:
    """Parameters shared by all anonymisers (ALGORITHMS, The unit that k counts)."""

    k: int = parameter(10, "a flow is published only with at least k units behind it", ge=2)
    unit: Unit = parameter("persons", "what k counts: distinct persons, trips, distinct vehicles or population")
    suppression: float = parameter(0.10, "largest share of the trips that may be left out", ge=0, lt=1)

    def check(self, od: ODMatrix) -> None:
        """Refuse a matrix that can never satisfy the promise, before any work."""
        if len(od.trips) == 0:
            raise OdanonError("the matrix is empty; there is nothing to anonymise")
        if self.unit == "trips":
            available = od.volume
        elif od.n_people is None:
            raise OdanonError(
                f"unit {self.unit} needs a person id on every row and this matrix has none;"
                " give person-level rows, or ask for unit trips knowing that it does not protect persons"
            )
        else:
            available = od.n_people
        if available < self.k:
            raise OdanonError(
                f"the whole matrix holds fewer than k = {self.k} {self.unit}; use a longer window or a smaller k"
            )
