"""A plain anonymiser that leaves nothing out but what its root cannot hold: splits in turn, and rests of what is too few."""

from collections.abc import Iterator

import numpy as np

from odanon.anonymizers.anonymizer import ALL_LIMITS, Anonymizer
from odanon.anonymizers.trees.groups import publishable
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import parameters_of, plugin


@plugin
class Pooled(Anonymizer):
    """Split the larger side while some part keeps the promise; what keeps it nowhere is pooled upwards as rests."""

    keeps = ALL_LIMITS - {"report_small", "k_areas"}

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        self.check(od)
        n = len(od.pairs.trips)
        origin, destination, rest = np.full(n, -1), np.full(n, -1), np.zeros(n, dtype=bool)

        def keeps_promise(a: int, b: int, pairs: np.ndarray) -> bool:
            sizes = origins.n_tiles[a], destinations.n_tiles[b]
            if min(sizes) < self.min_tiles or max(sizes) > (self.max_tiles or np.inf) or not len(pairs):
                return False
            group = np.full(n, -1)
            group[pairs] = 0
            return bool(publishable(od, group, 1, self)[0])

        def parts(a: int, b: int, pairs: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
            by_origin = len(children(origins, a)) and (
                origins.n_tiles[a] >= destinations.n_tiles[b] or not len(children(destinations, b))
            )
            for child in children(origins, a) if by_origin else children(destinations, b):
                tree, ranks = (origins, od.pairs.origin) if by_origin else (destinations, od.pairs.destination)
                inside = (ranks[pairs] >= tree.tile_start[child]) & (ranks[pairs] < tree.tile_end[child])
                yield (child, b, pairs[inside]) if by_origin else (a, child, pairs[inside])

        def settled(a: int, b: int, pairs: np.ndarray) -> np.ndarray:
            """Publish what is inside; the pairs that are left to whoever is above."""
            split = list(parts(a, b, pairs))
            whole = keeps_promise(a, b, pairs)
            if whole and not any(keeps_promise(*part) for part in split):
                pooled, kind = pairs, False
            else:
                pooled, kind = np.concatenate([settled(*part) for part in split] or [pairs]), True
                if not keeps_promise(a, b, pooled):
                    return pooled
            origin[pooled], destination[pooled], rest[pooled] = a, b, kind
            return pairs[:0]

        settled(origins.root, destinations.root, np.arange(n))
        return Release.from_nodes(
            od,
            origins,
            destinations,
            origin,
            destination,
            parameters_of(self),
            pair_rest=rest,
            contribution_cap=self.contribution_cap,
        )


def children(tree: Hierarchy, node: int) -> np.ndarray:
    return np.flatnonzero(tree.parent == node)
