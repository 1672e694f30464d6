"""The conformance suite: honest plugins pass, and each planted fault is caught."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

from odanon import registry
from odanon.anonymizers.anonymizer import Anonymizer
from odanon.checking import CheckedDay, Verdict
from odanon.errors import OdanonError
from odanon.hierarchies.h3 import H3Hierarchy
from odanon.hierarchies.ward import WardHierarchy
from odanon.model.figure import Figure
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.model.tiles import Tiles
from odanon.plugin import parameter, parameters_of, plugin
from odanon.simulate.source import Simulated
from odanon.staypoints.dwell import Dwell
from odanon.testing import (
    check_anonymizer,
    check_check,
    check_hierarchy,
    check_metric,
    check_source,
    check_staypoints,
    check_zoning,
)
from odanon.zoning.grid import GridZoning
from odanon.zoning.h3 import H3Zoning
from odanon.zoning.polygons import PolygonZoning
from odanon.zoning.voronoi import VoronoiZoning

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


def some_points() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return 45.7 + rng.normal(0, 0.05, 300), 4.8 + rng.normal(0, 0.05, 300)


@pytest.mark.parametrize("zoning", [H3Zoning(resolution=8), GridZoning(cell_m=500, crs="EPSG:2154")])
def test_zonings_conform(zoning: Any) -> None:
    check_zoning(zoning, *some_points())


@plugin
class EveryPointIsHere:
    """Puts every point into one tile, whether it is on Earth or not."""

    def assign(self, lat: Any, lon: Any) -> np.ndarray:
        return np.full(len(lat), "here", dtype=object)

    def tiles(self, labels: Any) -> Tiles:
        return ZONING.tiles(cells()[:1])


@plugin
class OnePolygon(GridZoning):
    """Draws the whole country for every tile."""

    def tiles(self, labels: Any) -> Tiles:
        made = super().tiles(labels)
        return replace(made, draw=lambda: np.full(len(made), shapely.box(4, 45, 6, 47), dtype=object))


@plugin
class OneCentre(GridZoning):
    """Has every centre in one place."""

    def tiles(self, labels: Any) -> Tiles:
        made = super().tiles(labels)
        return replace(made, lat=np.ones(len(made)), lon=np.ones(len(made)))


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (EveryPointIsHere(), "not on Earth"),
        (OnePolygon(crs="EPSG:2154"), "have the same polygon as another one"),
        (OneCentre(crs="EPSG:2154"), "lie outside their polygons"),
    ],
)
def test_a_bad_zoning_is_caught(bad: Any, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_zoning(bad, *some_points())


def test_zones_that_are_given_conform_though_some_overlap(tmp_path: Path) -> None:
    boxes = [shapely.box(*box) for box in ((4, 45, 4.8, 46), (4.7, 45, 5, 46), (5, 45, 6, 46))]
    geopandas.GeoDataFrame({"id": ["a", "b", "c"]}, geometry=boxes, crs=4326).to_file(tmp_path / "zones.gpkg")
    check_zoning(PolygonZoning(path=tmp_path / "zones.gpkg", id="id"), *some_points())
    lat, lon = some_points()
    antennas = pd.DataFrame({"id": [f"s{n}" for n in range(40)], "lat": lat[:40], "lon": lon[:40]})
    antennas.to_csv(tmp_path / "antennas.csv", index=False)
    check_zoning(VoronoiZoning(antennas=tmp_path / "antennas.csv"), lat, lon)


def test_cells_behind_the_180th_meridian_conform() -> None:
    rng = np.random.default_rng(3)
    east = rng.normal(180, 0.02, 100)
    check_zoning(ZONING, -17 + rng.normal(0, 0.02, 100), np.where(east > 180, east - 360, east))


@pytest.mark.parametrize("name", [name for name in registry.names("metrics") if name not in ("distance", "surface")])
def test_metrics_conform(name: str) -> None:
    cls = registry.find("metrics", name).cls
    for metric in cls.every() if hasattr(cls, "every") else [cls()]:
        check_metric(metric)


@plugin
class Undeclared:
    """Tells something else than it says."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (Figure("promised", "promised", "a figure that never comes"),)

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        return {"other": 1.0}

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        return {"other": 1.0}


def test_a_bad_metric_is_caught() -> None:
    with pytest.raises(AssertionError, match="declares promised and does not tell it"):
        check_metric(Undeclared())


@plugin
class Counted:
    """How many trips, rows and people a matrix holds; honest, as it stands."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("all_trips", "trips", "trips of the matrix", kind="count", tells_suppressed="yes"),
            Figure("half", "in the larger half", "trips of rows with two", "share", tells_suppressed="yes"),
            Figure("fewest_people", "people", "behind the smallest flow", kind="fewest"),
        )

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        many, least = float(od.trips[od.trips > 1].sum()), min(release.flows["persons"], default=np.nan)
        return {"all_trips": od.volume, "many": many, "half": many / od.volume, "fewest_people": float(least)}

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        trips, many = float(figures["all_trips"].sum()), float(figures["many"].sum())
        return {"all_trips": trips, "half": many / trips, "fewest_people": float(figures["fewest_people"].min())}


@plugin
class MeanOfVolumes(Counted):
    """Means of what should add up."""

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        return {**super().combine(figures), "all_trips": float(figures["all_trips"].mean())}


@plugin
class MeanOfShares(Counted):
    """Means of shares, however many trips each is of."""

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        return {**super().combine(figures), "half": float(figures["half"].mean())}


@plugin
class NotTheFewest(Counted):
    """The most people where the fewest are asked for."""

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        return {**super().combine(figures), "fewest_people": float(figures["fewest_people"].max())}


@plugin
class Fickle(Counted):
    """Declares something else at every read."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        told = super().figures
        _READS.append(1)
        return (Figure("all_trips", "trips", f"read {len(_READS)} times", kind="count"), *told[1:])


_READS: list[int] = []


@plugin
class OverwritesFlows(Counted):
    """Puts every pair into the first flow."""

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        release.assignment["flow"] = 0
        return super().evaluate(od, release)


@plugin
class OverwritesTrips(Counted):
    """Counts every trip twice from then on."""

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        told = super().evaluate(od, release)
        np.multiply(od.trips, 2, out=od.trips)
        return told


def test_an_honest_metric_conforms() -> None:
    check_metric(Counted())


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (MeanOfVolumes, "combine.. takes a mean of all_trips"),
        (MeanOfShares, "combine.. takes a mean of half"),
        (NotTheFewest, "does not tell the least fewest_people"),
        (Fickle, "tells otherwise when it is read again"),
        (OverwritesFlows, "changes the release"),
        (OverwritesTrips, "changes the matrix"),
    ],
)
def test_a_metric_that_breaks_its_page_is_caught(bad: type, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_metric(bad())


def test_sources_conform() -> None:
    check_source(Simulated(people=30, seed=1), date(2026, 3, 2))


@plugin
class Forgetful:
    """Gives other rows every time."""

    enters: ClassVar[str] = "traces"

    def available(self, day: date) -> bool:
        return True

    def batches(self, start: datetime, end: datetime, context: timedelta = timedelta(0)) -> Iterator[pd.DataFrame]:
        lat = np.random.default_rng().normal(45, 1, 3)
        yield pd.DataFrame({"person": ["a", "b", "c"], "time": pd.Timestamp(start), "lat": lat, "lon": 4.8})


def giving(enters: str, **columns: Any) -> Any:
    """A source that gives the same three rows every time it is asked."""

    @plugin
    class Giving:
        """Gives three rows."""

        def available(self, day: date) -> bool:
            return True

        def _read(self, start: datetime, end: datetime, context: timedelta = timedelta(0)) -> Iterator[pd.DataFrame]:
            noon = pd.Timestamp(date(2026, 3, 2), tz="UTC") + pd.Timedelta("12h")
            times = {name: noon for name in columns if name in ("time", "start", "end", "time_bin")}
            yield pd.DataFrame({**columns, **times}, index=range(3))

        batches = trips = od = _read

    Giving.enters = enters  # type: ignore[attr-defined]
    return Giving()


POINT = {"person": "a", "time": 0, "lat": 45.7, "lon": 4.8}
TRIP = {
    "person": "a",
    "start": 0,
    "end": 0,
    "o_lat": 45.7,
    "o_lon": 4.8,
    "d_lat": 45.8,
    "d_lon": 4.8,
    "distance_m": 9.0,
}
BY_TILE = {"person": "a", "start": 0, "end": 0, "origin": "a", "destination": "b"}
FLOW = {"time_bin": 0, "origin": "a", "destination": "b", "trips": 3}


@pytest.mark.parametrize(("enters", "row"), [("traces", POINT), ("trips", TRIP), ("trips", BY_TILE), ("od", FLOW)])
def test_sources_of_every_stage_conform_with_some_bad_rows(enters: str, row: dict[str, Any]) -> None:
    check_source(giving(enters, **row), date(2026, 3, 2))
    if "person" in row:
        check_source(giving(enters, **{**row, "person": ["a", None, "c"]}), date(2026, 3, 2))


@pytest.mark.parametrize(
    ("enters", "row", "sentence"),
    [
        ("traces", {**POINT, "person": None}, r"no row of 2026-03-02 is usable \(no_person\)"),
        ("traces", {**POINT, "lat": "x"}, "are no numbers"),
        ("traces", {**POINT, "lat": 95.0}, r"usable \(out_of_range\)"),
        ("trips", {**TRIP, "person": None}, r"usable \(no_person\)"),
        ("trips", {**TRIP, "d_lon": "x"}, "are no numbers"),
        ("trips", {**BY_TILE, "origin": None}, r"usable \(not_finite\)"),
        ("trips", {name: TRIP[name] for name in ("person", "start", "end")}, "no column 'o_lat'"),
        ("od", {**FLOW, "trips": -1}, r"usable \(out_of_range\)"),
    ],
)
def test_a_source_without_a_usable_row_is_caught(enters: str, row: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_source(giving(enters, **row), date(2026, 3, 2))


def test_a_bad_source_is_caught() -> None:
    with pytest.raises(AssertionError, match="reading a day twice gives other rows"):
        check_source(Forgetful(), date(2026, 3, 2))


@dataclass(frozen=True)
class Day:
    flows: int
    product: str = "town"
    day: date = date(2026, 3, 2)

    def figures(self, stage: str) -> dict[str, Any]:
        return {"flows": self.flows}

    def folder(self, stage: str) -> Path:
        return Path("nowhere")


@plugin
class EnoughFlows:
    """Warns of days with few flows."""

    stage: ClassVar[str] = "published"
    blocking: ClassVar[bool] = False

    least: int = parameter(10, "fewest flows", ge=1)

    def run(self, day: CheckedDay) -> Verdict:
        flows = day.figures("published")["flows"]
        return Verdict(flows >= self.least, f"{flows} flows; at least {self.least} are expected", {"flows": flows})


def test_checks_conform() -> None:
    check_check(EnoughFlows(), Day(12), Day(3))
    with pytest.raises(AssertionError, match="passes the bad day"):
        check_check(EnoughFlows(), Day(12), Day(11))


@plugin
class Careless(Anonymizer):
    """Says that it keeps a limit and does not."""

    keeps: ClassVar[frozenset[str]] = frozenset({"max_tiles"})

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        self.check(od)
        roots = [np.full(len(od.pairs.trips), tree.root) for tree in (origins, destinations)]
        return Release.from_nodes(od, origins, destinations, *roots, parameters_of(self))


def test_a_limit_that_is_only_claimed_is_caught() -> None:
    with pytest.raises(AssertionError, match="max-tiles"):
        check_anonymizer(Careless)


@plugin
class Silent(Anonymizer):
    """Says that it reports small volumes and only leaves them out."""

    keeps: ClassVar[frozenset[str]] = frozenset({"report_small"})

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        self.check(od)
        nodes = origins.tiles[od.pairs.origin], destinations.tiles[od.pairs.destination]
        flows = Release.from_nodes(od, origins, destinations, *nodes, {})
        units = flows.flows["trips" if self.unit == "trips" else "persons"].to_numpy()
        kept = (units >= self.k)[flows.assignment["flow"]]
        if od.pairs.trips[~kept].sum() > self.budget(od.volume):
            raise OdanonError("too much is left out")
        published = [np.where(kept, node, -1) for node in nodes]
        return Release.from_nodes(od, origins, destinations, *published, parameters_of(self))


def test_small_volumes_that_are_never_reported_are_caught() -> None:
    with pytest.raises(AssertionError, match="never leaves out less"):
        check_anonymizer(Silent, may_refuse=True)


@pytest.mark.parametrize("limit", [{"max_tiles": 3}, {"contribution_cap": 1}, {"report_small": True}, {"k_areas": 20}])
def test_a_limit_that_nobody_claims_is_refused(limit: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="TilesAsTheyAre does not keep"):
        TilesAsTheyAre(**limit)
