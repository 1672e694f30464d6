"""What a release promises: how many, of what, and within which limits. One value, passed everywhere."""

from collections.abc import Mapping
from dataclasses import fields
from math import inf
from typing import Any, Literal, TypeVar

from odanon.errors import OdanonError
from odanon.plugin import parameter, plugin

Unit = Literal["persons", "trips", "vehicles", "population"]
P = TypeVar("P", bound="Promise")

# What asks for more when it is larger, or smaller.
_AT_LEAST = ("k", "k_population", "k_areas", "min_tiles", "min_visited")
_AT_MOST = ("max_dominance", "contribution_cap", "max_tiles")


@plugin
class Promise:
    """k units behind every flow, and limits on top (ALGORITHMS, The unit that k counts and Extra constraints)."""

    k: int = parameter(10, "a flow is published only with at least k units behind it", ge=2)
    unit: Unit = parameter("persons", "what k counts: distinct persons, trips, distinct vehicles or population")
    k_population: float | None = parameter(
        None, "unit population: least weight behind a flow, on top of k persons", gt=0
    )
    k_areas: int | None = parameter(
        None, "least units that leave, or enter, a published area in all (k^m-anonymity, m = 1); none: k", ge=2
    )
    min_tiles: int = parameter(1, "fewest tiles of a published area (l-diversity)", ge=1)
    min_visited: int = parameter(
        1, "fewest tiles of each area in which somebody's trip of this flow starts, or ends (l-diversity)", ge=1
    )
    max_tiles: int | None = parameter(None, "most tiles of a published area; none: no limit", ge=1)
    max_dominance: float | None = parameter(
        None,
        "largest share that one person may have of a flow's trips and, with unit population, weight; none: no limit",
        gt=0,
        lt=1,
    )
    contribution_cap: int | None = parameter(
        None, "trips of one person that count in a published flow; none: all", ge=1
    )

    def __post_init__(self) -> None:
        if (self.unit == "population") != (self.k_population is not None):
            raise OdanonError(
                "unit population needs k_population (on the command line: --set k_population=300 and --weight COLUMN), and only that unit takes it"
            )
        if self.unit == "trips" and (self.max_dominance is not None or self.contribution_cap is not None):
            raise OdanonError("max_dominance and contribution_cap limit persons; unit trips does not know them")
        for name in ("min_tiles", "min_visited"):
            if self.max_tiles is not None and self.max_tiles < getattr(self, name):
                raise OdanonError(f"max_tiles is smaller than {name}; no area can have both")

    @classmethod
    def of(cls: type[P], parameters: Mapping[str, Any]) -> P:
        """The promise among the parameters of an anonymiser or of a manifest."""
        return cls(**{field.name: parameters[field.name] for field in fields(cls) if field.name in parameters})

    def weaker_than(self, other: "Promise") -> list[str]:
        """The names of what the other one promises more strictly, or of another unit."""
        weaker = ["unit"] if self.unit != other.unit else []
        weaker += [name for name in _AT_LEAST if (getattr(self, name) or 0) < (getattr(other, name) or 0)]
        weaker += [name for name in _AT_MOST if (getattr(self, name) or inf) > (getattr(other, name) or inf)]
        return weaker

    def told(self, *, budgeted: bool) -> str:
        """The promise in words, and whether trips may be left out without limit."""
        return self.sentence if budgeted else f"{self.sentence}; how many trips are left out is not limited"

    @property
    def who(self) -> str:
        """What k counts, in a word that people use."""
        return {"persons": "people", "population": "people"}.get(self.unit, self.unit)

    @property
    def sentence(self) -> str:
        """The promise in words for the readers of a release."""
        if self.unit == "trips":
            return f"not person-anonymous: every flow holds at least {self.k} trips, perhaps of fewer people"
        if self.unit == "population":
            return (
                f"every flow holds at least {self.k} distinct persons"
                f" who stand for at least {self.k_population:g} inhabitants"
            )
        return f"every flow holds at least {self.k} distinct {self.unit}"
