"""Flows as points in four dimensions, for methods that look at places and not at a hierarchy (000 appendix B)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.anonymizers.places import kernels
from odanon.anonymizers.places.boxes import BoxSide
from odanon.anonymizers.places.evidence import Evidence
from odanon.anonymizers.trees.arrays import Entries, Marks, Test, fixed_weights, number_of_people
from odanon.errors import OdanonError
from odanon.geo.arrays import ObjectArray
from odanon.geo.crs import local_crs, to_metres
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import parameters_of

_IRREGULAR = ("polygons", "voronoi")  # tiles that a centroid does not tell the outline of
_CENTIMETRES = 100  # whole ones, so that distances are exact and equal everywhere

# What boxes around flows can keep besides k; min_tiles by the tiles in use on each side, as min_visited.
BOX_LIMITS = frozenset({"k_population", "min_tiles", "min_visited", "max_dominance", "contribution_cap"})

Points = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PointProblem:
    """The tile pairs of a matrix with the centroids of their tiles; pairs are numbered as in `od.pairs`."""

    od: ODMatrix
    origins: Hierarchy
    destinations: Hierarchy
    anonymizer: Anonymizer

    @classmethod
    def checked(
        cls, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy, anonymizer: Anonymizer
    ) -> "PointProblem":
        """A problem whose coarsest release, one flow, keeps the promise, or an error that says why not."""

        anonymizer.check(od)
        anonymizer.check_trees(origins, destinations)
        problem = cls(od, origins, destinations, anonymizer)
        if not kernels.pairs_keep(np.arange(len(od.pairs.trips)), problem.evidence, problem.room()):
            raise OdanonError(
                "even all trips in one flow do not keep the promise; lower k_population, min_tiles or min_visited,"
                " raise max_dominance, or use a longer window"
            )
        return problem

    @cached_property
    def sides(self) -> tuple[BoxSide, BoxSide]:
        """Both hierarchies with their centroids on one plane."""
        trees = self.origins, self.destinations
        lat, lon = (np.concatenate([_centroids(tree)[axis] for tree in trees]) for axis in (0, 1))
        crs = local_crs(lat, lon)
        x, y = (np.rint(_CENTIMETRES * metres).astype(np.int64) for metres in to_metres(lat, lon, crs))
        n = self.origins.n_leaves
        return (
            BoxSide(self.origins, x[:n], y[:n], self._outlines(self.origins, crs)),
            BoxSide(self.destinations, x[n:], y[n:], self._outlines(self.destinations, crs)),
        )

    def _outlines(self, tree: Hierarchy, crs: str) -> ObjectArray | None:
        """The polygons of irregular tiles in centimetres; None where nobody knows them, or centroids tell enough."""
        tiles = None if self.od.ground is None else self.od.ground.tiles
        if tiles is None or tiles.kind not in _IRREGULAR:
            return None
        import shapely

        shapes = tiles.geometry[np.searchsorted(tiles.label, tree.label[tree.tiles])]
        return shapely.transform(shapes, lambda xy: np.column_stack(to_metres(xy[:, 1], xy[:, 0], crs)) * _CENTIMETRES)

    @cached_property
    def points(self) -> Points:
        """(4, pairs): x and y of the origin, x and y of the destination, in centimetres."""
        origin, destination = self.sides
        pairs = self.od.pairs
        return np.stack(
            [
                *(axis[pairs.origin] for axis in (origin.x, origin.y)),
                *(axis[pairs.destination] for axis in (destination.x, destination.y)),
            ]
        )

    @cached_property
    def evidence(self) -> Evidence:
        """People behind the pairs, or the pairs alone where k counts trips."""
        od, pairs = self.od, self.od.pairs
        by_person = self.anonymizer.unit != "trips"
        rows, start = (od, od.pair_start) if by_person else (pairs, np.arange(len(pairs.trips)))
        person = rows.person if by_person and rows.person is not None else np.zeros(len(rows.trips), dtype=np.int64)
        return Evidence(
            start=np.append(start, len(rows.trips)).astype(np.int64),
            rows=Entries(person, rows.trips, fixed_weights(rows, self.anonymizer), np.empty(0, dtype=np.int32)),
            by_person=by_person,
            origin=pairs.origin,
            destination=pairs.destination,
            test=Test.of(self.anonymizer),
            visited=max(self.anonymizer.min_tiles, self.anonymizer.min_visited),
        )

    def room(self) -> Marks:
        """Room to count one set of pairs after the other."""
        n_people = number_of_people(self.od) if self.evidence.by_person else 0
        return Marks.of(n_people, self.origins.n_leaves, self.destinations.n_leaves)

    def release(self, cluster: npt.NDArray[np.int64], algorithm: str, figures: dict[str, Any]) -> Release:
        """Publish every cluster of pairs as one flow between two boxes; cluster -1 is left out."""
        kept = np.flatnonzero(cluster >= 0)
        nodes = np.full((2, len(cluster)), -1, dtype=np.int64)
        areas = []
        for side, points, of_pair in zip(self.sides, (self.points[:2], self.points[2:]), nodes, strict=True):
            of_pair[kept], extra = side.areas(points[:, kept], cluster[kept])
            areas.append(extra)
        return Release.from_nodes(
            self.od,
            self.origins,
            self.destinations,
            nodes[0],
            nodes[1],
            {"algorithm": algorithm, **parameters_of(self.anonymizer)},
            figures,
            contribution_cap=self.anonymizer.contribution_cap,
            extra_origins=areas[0],
            extra_destinations=areas[1],
        )


def _centroids(tree: Hierarchy) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    if tree.lat is None or tree.lon is None:
        raise OdanonError(
            "this algorithm compares places and nobody knows where the tiles lie;"
            " give their zones, or choose an algorithm that needs the hierarchy alone"
        )
    return tree.lat, tree.lon
