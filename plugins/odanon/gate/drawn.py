"""What the areas of a release are, derived from the trees and the flows: names, sizes, levels (PRIVACY rule 24).

An area is a zone of its hierarchy, the rest of the map as seen from a zone of the other side, or a set of tiles. Nothing
that a release says of itself is believed: a zone is as large as the hierarchy says, a rest as what the flows beside it leave
of the map, and a set is named after its tiles. Only how many tiles without traffic lie in a set, where the tree counts tiles that
it does not hold, is the algorithm's estimate; limits do not count them, and a pipeline publishes no such set (`telling`).
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.model.areas import UNLEVELLED, Areas, SetNames, is_rest, rest_name
from odanon.model.hierarchy import Hierarchy
from odanon.model.release import Release

Ints = npt.NDArray[np.int64]


def drawn(release: Release, origins: Hierarchy, destinations: Hierarchy) -> tuple[Areas, Areas]:
    """The areas of both sides with the names, sizes and levels that they should have."""
    flows = release.flows
    return (
        _side(release.origins, origins, destinations, flows["origin"], flows["destination"]),
        _side(release.destinations, destinations, origins, flows["destination"], flows["origin"]),
    )


def named_intervals(told: Areas, times: Hierarchy) -> Areas | None:
    """The intervals as the tree over the bins has them; None where one of them is a stranger."""
    node = _nodes_of(told, times)
    return None if (node < 0).any() else Areas.from_nodes(times, node)


def redrawn(release: Release, origins: Hierarchy, destinations: Hierarchy, times: Hierarchy | None = None) -> Release:
    """The release under the names, sizes and levels that its areas should have, without the areas that no flow uses.

    Areas that turn out to have one name are one area: they are named after their tiles. Intervals are those of the tree over the bins.
    """
    if times is not None and release.times is not None:
        right = named_intervals(release.times, times)
        if right is not None:
            used = np.isin(right.label, release.flows["time"].astype("str").unique())
            release = replace(release, times=right.take(np.flatnonzero(used)))
    flows, drawn_as = release.flows, {}
    sides = zip(("origin", "destination"), (release.origins, release.destinations), strict=True)
    for (side, told), areas in zip(sides, drawn(release, origins, destinations), strict=True):
        number = pd.Index(told.label).get_indexer(pd.Index(flows[side].astype("str")))
        if (number < 0).any():
            drawn_as[side] = told  # the verifier names what is wrong with it
            continue
        names, code = np.unique(_first_of_name(areas)[number], return_inverse=True)
        drawn_as[side] = areas.take(names)
        label = pd.Categorical.from_codes(code, pd.Index(drawn_as[side].label, dtype="str"))
        flows = flows.assign(**{side: label, f"{side}_tiles": drawn_as[side].n_tiles[code]})
    return replace(release, flows=flows, origins=drawn_as["origin"], destinations=drawn_as["destination"])


def _first_of_name(areas: Areas) -> Ints:
    """For every area the first one of its name."""
    code = pd.factorize(areas.label)[0]
    return np.unique(code, return_index=True)[1][code]


def unlike(told: Areas, areas: Areas) -> int:
    """How many areas say another name, size or level of themselves."""
    same = (told.label == areas.label) & (told.n_tiles == areas.n_tiles) & (told.level == areas.level)
    return int((~same).sum())


def misdrawn(areas: Areas, tree: Hierarchy) -> int:
    """How many areas carry the name of a zone and hold other tiles; a zone is a run of ranks."""
    node = _nodes_of(areas, tree)
    return sum(
        not np.array_equal(np.sort(_members(areas, number)), np.arange(tree.tile_start[zone], tree.tile_end[zone]))
        for number, zone in enumerate(node.tolist())
        if zone >= 0
    )


def is_set(areas: Areas, tree: Hierarchy) -> npt.NDArray[np.bool_]:
    """Which areas are sets of tiles, and neither zones nor rests."""
    rest = np.array([is_rest(label) for label in areas.label.tolist()], dtype=np.bool_)
    return (_nodes_of(areas, tree) < 0) & ~rest


def no_zones(areas: Areas, tree: Hierarchy) -> int:
    """How many areas are no zones of the hierarchy."""
    return int((_nodes_of(areas, tree) < 0).sum())


def telling(areas: Areas, tree: Hierarchy) -> int:
    """How many areas depend on which tiles were visited.

    Zones and rests of a tree that covers the ground fully do not; a set of tiles only where the tree holds every tile.
    """
    if tree.coverage != "full":
        return len(areas.label)
    return 0 if tree.n_tiles[-1] == tree.n_leaves else int(is_set(areas, tree).sum())


def _nodes_of(areas: Areas, tree: Hierarchy) -> Ints:
    """The node that each area is named after, -1 for areas that are no zones."""
    return pd.Index(tree.label, dtype="str").get_indexer(pd.Index(areas.label, dtype="str")).astype(np.int64)


def _members(areas: Areas, number: int) -> npt.NDArray[np.int32]:
    return areas.members[areas.start[number] : areas.start[number + 1]]


def _side(told: Areas, tree: Hierarchy, other: Hierarchy, here: pd.Series, there: pd.Series) -> Areas:
    node = _nodes_of(told, tree)
    zone = node >= 0
    listed = np.diff(told.start)
    # Tiles without traffic count in a set too where the tree counts them: how many is the algorithm's own estimate.
    most = tree.n_tiles[-1] if tree.coverage == "full" else 0
    size = np.where(zone, tree.n_tiles[node], np.clip(told.n_tiles, listed, np.maximum(listed, most)))
    level = np.where(zone, tree.level[node], UNLEVELLED).astype(told.level.dtype)
    names = SetNames(tree)
    label = np.where(zone, told.label, names.labels(names.numbers(told.start, told.members, size)))
    rests = np.flatnonzero(~zone & ~is_set(told, tree))
    if len(rests):
        flows = _Flows.of(told, tree, other, here, there)
        for number in rests.tolist():
            if rest := flows.rest(told, number):
                label[number], size[number] = rest
    return Areas(label, size, level, told.start, told.members)


@dataclass(frozen=True, eq=False)
class _Flows:
    """The flows of one side, by area and by the area of the other side."""

    tree: Hierarchy
    other: Hierarchy
    area: Ints  # by flow, on this side
    beyond: Ints  # by flow, the node on the other side, -1 where that is no zone
    by_area: dict[int, Ints]
    by_beyond: dict[int, Ints]
    node: Ints  # by area

    @classmethod
    def of(cls, told: Areas, tree: Hierarchy, other: Hierarchy, here: pd.Series, there: pd.Series) -> "_Flows":
        area = pd.Index(told.label).get_indexer(pd.Index(here.astype("str"))).astype(np.int64)
        beyond = pd.Index(other.label, dtype="str").get_indexer(pd.Index(there.astype("str"))).astype(np.int64)
        groups = [pd.Series(np.arange(len(key))).groupby(key).indices for key in (area, beyond)]
        return cls(tree, other, area, beyond, groups[0], groups[1], _nodes_of(told, tree))

    def rest(self, told: Areas, number: int) -> tuple[str, int] | None:
        """Name and size of the rest of the map as seen from a zone, when the area is what the zone's flows leave of it."""
        seen_from = np.unique(self.beyond[self.by_area.get(number, [])])
        if len(seen_from) != 1 or seen_from[0] < 0:
            return None
        beside = self.area[self.by_beyond[int(seen_from[0])]]
        covered = np.sort(self.node[beside[beside != number]])
        if (covered < 0).any() or (np.bincount(_ranks(self.tree, covered), minlength=1) > 1).any():
            return None
        if not np.array_equal(np.sort(_members(told, number)), np.flatnonzero(self.tree.owners(covered) < 0)):
            return None
        left = int(self.tree.n_tiles[-1] - self.tree.n_tiles[covered].sum())
        return rest_name(self.other.label[seen_from[0]], self.tree.label[covered]), left


def _ranks(tree: Hierarchy, nodes: Ints) -> Ints:
    """The tiles of the nodes, one after the other."""
    return np.concatenate(
        [np.arange(tree.tile_start[node], tree.tile_end[node]) for node in nodes] or [np.empty(0, int)]
    )
