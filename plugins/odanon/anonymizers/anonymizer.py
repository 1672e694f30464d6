"""What every anonymiser shares: the promise it makes, the budget it may spend, and the limits it keeps or refuses."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Any, ClassVar

from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Promise
from odanon.model.release import Release
from odanon.plugin import parameter, plugin

# The limits that an anonymiser may be asked for, and the values that ask for nothing.
LIMITS = {
    "k_population": None,
    "k_areas": None,
    "min_tiles": 1,
    "min_visited": 1,
    "max_tiles": None,
    "max_dominance": None,
    "contribution_cap": None,
    "report_small": False,
}
ALL_LIMITS = frozenset(LIMITS)


def unkept(cls: type, parameters: Mapping[str, Any]) -> list[str]:
    """The limits among the parameters that the releases of an anonymiser do not keep."""
    keeps: Collection[str] = getattr(cls, "keeps", ())
    return [name for name, nothing in LIMITS.items() if name not in keeps and parameters.get(name, nothing) != nothing]


@plugin
class Anonymizer(Promise, ABC):
    """Base of anonymisers: its parameters are theirs.

    A subclass implements `anonymize` and names in `keeps` the limits that its releases keep; whoever asks for another
    one is refused. The method may raise OdanonError where no release keeps the
    promise within the budget, and must never return one that does not.
    """

    suppression: float = parameter(0.10, "largest share of the trips that may be left out", ge=0, lt=1)
    report_small: bool = parameter(
        False, "publish what is left out of each area as one flow to the rest of the map, where that reaches k"
    )

    # The limits that releases keep, from LIMITS; all others are refused when they are asked for.
    keeps: ClassVar[frozenset[str]] = frozenset()
    # Why the others are refused, as the first half of a sentence.
    why_not: ClassVar[str] = ""
    # Whether flows may share tile pairs, as clusters in space do; then each pair counts in its assigned flow.
    overlapping: ClassVar[bool] = False
    # Whether releases leave out no more than `suppression`; if not, they say so.
    budgeted: ClassVar[bool] = True
    # Whether pairs between the areas of a flow may be left out of it, as a filter before the search does.
    leaves_out: ClassVar[bool] = False
    # Whether flows are true counts, which the verifier can prove; noisy ones cannot be published.
    verifiable: ClassVar[bool] = True
    # Whether it takes the matrix of a whole window and tells each flow by an interval of its times.
    timed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in unkept(type(self), {name: getattr(self, name) for name in LIMITS}):
            why = self.why_not or f"{type(self).__name__} does not keep {name}"
            raise OdanonError(f"{why}; remove {name} or choose another algorithm")
        if self.k_areas is not None and self.report_small:
            raise OdanonError(
                "k_areas limits areas of the hierarchy and report_small adds rests of it; keep one of them"
            )

    @classmethod
    def limits(cls) -> dict[str, bool]:
        """Every limit, and whether releases keep it."""
        return {name: name in cls.keeps for name in LIMITS}

    @abstractmethod
    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """The release of one matrix, every flow of which keeps the promise."""

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
        if min(od.visited) < self.min_visited:
            raise OdanonError(
                f"trips start, or end, in fewer than min_visited = {self.min_visited} tiles in all; use finer tiles, a longer"
                " window or a smaller min_visited"
            )
        if self.k_population is not None and od.weight is None:
            raise OdanonError("unit population needs a weight on every row and this matrix has none; give one")

    def check_trees(self, origins: Hierarchy, destinations: Hierarchy) -> None:
        """Refuse hierarchies without a single area of `min_tiles`."""
        if self.min_tiles > min(origins.n_tiles[-1], destinations.n_tiles[-1]):
            raise OdanonError(f"min_tiles = {self.min_tiles} exceeds the whole map; lower it or use finer tiles")

    def units_in(self, od: ODMatrix) -> int:
        """What k counts, in the whole matrix."""
        return od.volume if self.unit == "trips" or od.n_people is None else od.n_people

    def budget(self, volume: int) -> int:
        """C: trips of `volume` that may be left out; the share is read as the decimal it was written as."""
        return int(Fraction(str(self.suppression)) * volume)
