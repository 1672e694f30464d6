"""The suite of anonymisers: whoever ignores a rule is caught."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from odanon.anonymizers.anonymizer import ALL_LIMITS, LIMITS, Anonymizer
from odanon.anonymizers.levels.uniform import UniformLevel
from odanon.anonymizers.noise.laplace import Laplace
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import parameters_of, plugin
from odanon.testing import check_anonymizer


def one_flow(maker: Anonymizer, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
    roots = [np.full(len(od.pairs.trips), tree.root) for tree in (origins, destinations)]
    return Release.from_nodes(od, origins, destinations, *roots, parameters_of(maker))


def ignoring(limit: str) -> type[Anonymizer]:
    """A good method that claims every limit and forgets one."""

    class Forgets(UniformLevel):
        """Forgets a limit."""

        def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
            asked = {**parameters_of(self), limit: LIMITS[limit]}
            if limit == "k_population" and asked["unit"] == "population":
                asked["unit"] = "persons"
            return UniformLevel(**asked).anonymize(od, origins, destinations)

    return plugin(Forgets)


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_that_is_forgotten_is_caught(limit: str, request: pytest.FixtureRequest) -> None:
    if limit == "max_tiles":
        request.getfixturevalue("all_cities")
    with pytest.raises(AssertionError, match="Forgets"):
        check_anonymizer(ignoring(limit))


@plugin
class OneFlow(Anonymizer):
    """Joins everything."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        self.check(od)
        return one_flow(self, od, origins, destinations)


def test_one_flow_is_an_honest_method() -> None:
    check_anonymizer(OneFlow)


@plugin
class Misspelt(OneFlow):
    """Claims a limit that does not exist."""

    keeps: ClassVar[frozenset[str]] = frozenset({"most_tiles"})


@plugin
class OneTree(OneFlow):
    """Takes the tree of the origins for both sides."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        self.check(od)
        return one_flow(self, od, origins, origins)


def windowed(order: Callable[[list[Release]], Any]) -> type[Anonymizer]:
    class Windowed(OneFlow):
        """Gives the releases of a window back in some way."""

        def anonymize_window(self, ods: list[ODMatrix], origins: Hierarchy, destinations: Hierarchy) -> Any:
            made = [self.anonymize(od, origins, destinations) for od in ods]
            return made if len(made) == 1 else order(made)

    return plugin(Windowed)


@plugin
class RawCalledNoise(Anonymizer):
    """Publishes every pair as it is, hides the people and says that it adds noise."""

    verifiable: ClassVar[bool] = False

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        self.check(od)
        nodes = origins.tiles[od.pairs.origin], destinations.tiles[od.pairs.destination]
        made = Release.from_nodes(od, origins, destinations, *nodes, parameters_of(self))
        return replace(made, flows=made.flows.assign(persons=pd.array([pd.NA] * len(made.flows), dtype="Int64")))


@plugin
class OneMore(RawCalledNoise):
    """The same, with one trip more in every flow."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        made = RawCalledNoise.anonymize(self, od, origins, destinations)
        return replace(made, flows=made.flows.assign(trips=made.flows["trips"] + 1))


@plugin
class ClaimsEverything(RawCalledNoise):
    """The same, with limits that nobody can see."""

    keeps: ClassVar[frozenset[str]] = ALL_LIMITS


@plugin
class ClaimsTiles(Laplace):
    """Adds noise to tiles and claims larger areas."""

    keeps: ClassVar[frozenset[str]] = frozenset({"min_tiles"})


@plugin
class NoisyBackwards(Laplace):
    """Gives the time bins back in another order."""

    def anonymize_window(self, ods: list[ODMatrix], origins: Hierarchy, destinations: Hierarchy) -> list[Release]:
        return [self.anonymize(od, origins, destinations) for od in reversed(ods)]


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (Misspelt, "names most_tiles in `keeps`; the limits are"),
        (OneTree, "OneTree fails with ValueError where destinations have a tree of their own"),
        (windowed(lambda made: made[:-1]), "makes 2 releases of 3 matrices"),
        (windowed(lambda made: [*made, made[0]]), "makes 4 releases of 3 matrices"),
        (windowed(lambda made: None), "makes no list of releases"),
        (windowed(lambda made: made[::-1]), "volumes"),
        (windowed(lambda made: [made[0]] * len(made)), "volumes"),
        (RawCalledNoise, "says that it adds noise and 100% of its trips are true or off by one number"),
        (OneMore, "says that it adds noise and 100% of its trips are true or off by one number"),
        (ClaimsEverything, "names k_areas, k_population, max_dominance, min_visited, report_small in `keeps`"),
        (ClaimsTiles, "ClaimsTiles: min-tiles: origin areas of fewer than 2 tiles"),
        (NoisyBackwards, "the tile pairs that are listed are not those of the matrix"),
    ],
)
def test_a_bad_anonymiser_is_caught(bad: type[Anonymizer], sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_anonymizer(bad)


def test_a_window_of_too_few_releases_is_caught_though_the_method_may_refuse() -> None:
    with pytest.raises(AssertionError, match="makes 2 releases"):
        check_anonymizer(windowed(lambda made: made[:-1]), may_refuse=True)
