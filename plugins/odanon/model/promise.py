"""The promise every anonymiser makes: how many, of what, and how much may be left out."""

from fractions import Fraction
from typing import ClassVar, Literal

from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.plugin import parameter, plugin

Unit = Literal["persons", "trips", "vehicles", "population"]

_UNLIMITED = {"min_tiles": 1, "report_small": False}  # values that ask for nothing; None for the others


@plugin
class Protection:
    """Parameters shared by all anonymisers (ALGORITHMS, The unit that k counts and Extra constraints)."""

    k: int = parameter(10, "a flow is published only with at least k units behind it", ge=2)
    unit: Unit = parameter("persons", "what k counts: distinct persons, trips, distinct vehicles or population")
    suppression: float = parameter(0.10, "largest share of the trips that may be left out", ge=0, lt=1)
    k_population: float | None = parameter(
        None, "unit population: least weight behind a flow, on top of k persons", gt=0
    )
    min_tiles: int = parameter(1, "fewest tiles of a published area (l-diversity)", ge=1)
    k_areas: int | None = parameter(
        None, "least units that leave, or enter, a published area in all (k^m-anonymity, m = 1); none: k", ge=2
    )
    max_tiles: int | None = parameter(None, "most tiles of a published area; none: no limit", ge=1)
    max_dominance: float | None = parameter(
        None, "largest share that one person may have of a flow's trips; none: no limit", gt=0, lt=1
    )
    contribution_cap: int | None = parameter(
        None, "trips of one person that count in a published flow; none: all", ge=1
    )
    report_small: bool = parameter(
        False, "publish what is left out of each area as one flow to the rest of the map, where that reaches k"
    )

    # Whether flows may share tile pairs, as clusters in space do; then each pair counts in its assigned flow.
    overlapping: ClassVar[bool] = False
    # Whether flows are true counts, which the verifier can prove; noisy ones cannot be published.
    verifiable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if (self.unit == "population") != (self.k_population is not None):
            raise OdanonError("k_population and unit population belong together; give both or neither")
        if self.unit == "trips" and (self.max_dominance is not None or self.contribution_cap is not None):
            raise OdanonError("max_dominance and contribution_cap limit persons; unit trips does not know them")
        if self.k_areas is not None and self.report_small:
            raise OdanonError(
                "k_areas limits areas of the hierarchy and report_small adds rests of it; keep one of them"
            )
        if self.max_tiles is not None and self.max_tiles < self.min_tiles:
            raise OdanonError("max_tiles is smaller than min_tiles; no area can have both")

    def check(self, od: ODMatrix) -> None:
        """Refuse a matrix that can never satisfy the promise, before any work."""
        if len(od.trips) == 0:
            raise OdanonError("the matrix is empty; there is nothing to anonymise")
        if self.unit != "trips" and od.person is None:
            raise OdanonError(
                f"unit {self.unit} needs a person id on every row and this matrix has none;"
                " give person-level rows, or ask for unit trips knowing that it does not protect persons"
            )
        for name in ("k", "k_areas"):
            if self.units_in(od) < (getattr(self, name) or 0):
                raise OdanonError(
                    f"the whole matrix holds fewer than {name} = {getattr(self, name)} {self.unit};"
                    f" use a longer window or a smaller {name}"
                )
        if self.k_population is not None and od.weight is None:
            raise OdanonError("unit population needs a weight on every row and this matrix has none; give one")

    def refuse(self, *limits: str, why: str) -> None:
        """Refuse limits that an algorithm cannot keep, when they are asked for."""
        for name in limits:
            if getattr(self, name) != _UNLIMITED.get(name):
                raise OdanonError(f"{why}; remove {name} or choose another algorithm")

    def units_in(self, od: ODMatrix) -> int:
        """What k counts, in the whole matrix."""
        return od.volume if self.unit == "trips" or od.n_people is None else od.n_people

    def check_trees(self, origins: Hierarchy, destinations: Hierarchy) -> None:
        """Refuse hierarchies without a single area of `min_tiles`."""
        if self.min_tiles > min(origins.n_tiles[-1], destinations.n_tiles[-1]):
            raise OdanonError(f"min_tiles = {self.min_tiles} exceeds the whole map; lower it or use finer tiles")

    def budget(self, volume: int) -> int:
        """C: trips of `volume` that may be left out; the share is read as the decimal it was written as."""
        return int(Fraction(str(self.suppression)) * volume)
