"""The conformance suite: honest plugins pass, and each planted fault is caught."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from odanon import registry
from odanon.anonymizers.anonymizer import Anonymizer
from odanon.hierarchies.h3 import H3Hierarchy
from odanon.hierarchies.ward import WardHierarchy
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.model.tiles import Tiles
from odanon.plugin import parameter, parameters_of, plugin
from odanon.staypoints.dwell import Dwell
from odanon.testing import check_anonymizer, check_hierarchy, check_staypoints
from odanon.zoning.h3 import H3Zoning

ZONING = H3Zoning(resolution=8)


def cells() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.unique(ZONING.assign(45.7 + rng.normal(0, 0.05, 200), 4.8 + rng.normal(0, 0.05, 200)))


@pytest.mark.parametrize("name", registry.names("staypoints"))
def test_every_installed_detector_conforms(name: str) -> None:
    check_staypoints(registry.create("staypoints", name, {}))


@pytest.mark.parametrize("builder", [H3Hierarchy(), H3Hierarchy(coverage="observed"), WardHierarchy()])
def test_hierarchies_conform(builder: Any) -> None:
    check_hierarchy(builder, ZONING, cells())


@plugin
class TilesAsTheyAre(Anonymizer):
    """Publishes every pair, however few people made it."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        self.check(od)
        nodes = origins.tiles[od.pairs.origin], destinations.tiles[od.pairs.destination]
        return Release.from_nodes(od, origins, destinations, *nodes, parameters_of(self))


@plugin
class NothingAtAll(Anonymizer):
    """Suppresses everything."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        self.check(od)
        nowhere = np.full(len(od.pairs.trips), -1)
        return Release.from_nodes(od, origins, destinations, nowhere, nowhere, parameters_of(self))


@plugin
class LosesTrips(Anonymizer):
    """Publishes one flow and forgets a trip."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        self.check(od)
        roots = [np.full(len(od.pairs.trips), tree.root) for tree in (origins, destinations)]
        release = Release.from_nodes(od, origins, destinations, *roots, parameters_of(self))
        release.flows["trips"] -= 1
        return release


@plugin
class NoQuestions(Anonymizer):
    """Accepts an empty matrix."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        roots = [np.full(len(od.pairs.trips), tree.root) for tree in (origins, destinations)]
        return Release.from_nodes(od, origins, destinations, *roots, parameters_of(self))


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (TilesAsTheyAre, "at-least-k"),
        (NothingAtAll, "more than the budget"),
        (LosesTrips, "volumes"),
        (NoQuestions, "accepts fewer than k people"),
    ],
)
def test_a_bad_anonymiser_is_caught(bad: type, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_anonymizer(bad)


@plugin
class MixesPeople:
    """Looks wider the more people there are."""

    radius_m: float = parameter(100.0, "metres")

    def detect(self, points: pd.DataFrame) -> pd.DataFrame:
        return Dwell(radius_m=self.radius_m * max(1, points["person"].nunique())).detect(points)


@plugin
class Undocumented:
    """Has a parameter that nobody explains."""

    radius_m: float = 3.0

    def detect(self, points: pd.DataFrame) -> pd.DataFrame:
        return Dwell().detect(points)


@pytest.mark.parametrize(
    ("bad", "sentence"), [(MixesPeople(), "depend on other people"), (Undocumented(), "no description")]
)
def test_a_bad_detector_is_caught(bad: Any, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_staypoints(bad)


@plugin
class LosesTiles:
    """Leaves the first tile out."""

    def build(self, tiles: Tiles) -> Hierarchy:
        kept = tiles.label[1:].tolist() or tiles.label.tolist()
        return Hierarchy.from_parents(["all", *kept], [-1, *[0] * len(kept)], kind="bad")


def test_a_bad_hierarchy_is_caught() -> None:
    with pytest.raises(AssertionError, match="the leaves are not the tiles"):
        check_hierarchy(LosesTiles(), ZONING, cells())
