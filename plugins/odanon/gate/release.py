"""A release of one matrix as the verifier reads it: the rows as they were before, the flows, and the tiles of every area."""

import numpy as np
import pandas as pd

from odanon.gate.verifier import Finding, added_up, structure, verify
from odanon.model.areas import Areas
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Promise
from odanon.model.release import Release

_ENDS = ("origin", "destination")


def rows_of(od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> pd.DataFrame:
    """A copy of the rows of a matrix, taken before an anonymiser sees it and perhaps writes into it."""
    tiles = {"origin": (od.origin, origins), "destination": (od.destination, destinations)}
    table: dict[str, object] = {
        side: pd.Categorical.from_codes(ranks.copy(), pd.Index(tree.label[tree.tiles], dtype="str"))
        for side, (ranks, tree) in tiles.items()
    }
    table["trips"] = od.trips.copy()
    table |= {} if od.person is None else {"person": od.person.copy()}
    table |= {} if od.weight is None else {"weight": od.weight.copy()}
    return pd.DataFrame(table)


def release_findings(
    rows: pd.DataFrame,
    release: Release,
    origins: Hierarchy,
    destinations: Hierarchy,
    promise: Promise,
    *,
    overlapping: bool,
) -> list[Finding]:
    """All broken rules of a release whose flows are true counts; an empty list is the proof."""
    tables = _area_tables(release, origins, destinations)
    lost = release.assignment.loc[release.assignment["flow"] < 0, "trips"].sum()
    told = release.assignment[[*_ENDS, "flow"]].astype(dict.fromkeys(_ENDS, "str")) if overlapping else None
    return added_up(
        [
            *_redrawn(release, origins, destinations),
            *verify(rows, _plain(release.flows), *tables, promise, suppressed_trips=int(lost), assignment=told),
        ]
    )


def noisy_findings(release: Release, origins: Hierarchy, destinations: Hierarchy) -> list[Finding]:
    """What can be proven of flows that carry noise: their areas; true numbers of people would undo the noise."""
    tables = _area_tables(release, origins, destinations)
    true_counts = int(release.flows["persons"].notna().sum())
    return added_up(
        [
            *_redrawn(release, origins, destinations),
            *structure(_plain(release.flows), *tables),
            Finding("noisy", true_counts, "flows with a true number of people beside noisy trips"),
        ]
    )


def area_tiles(areas: Areas, tree: Hierarchy) -> pd.DataFrame:
    """(area, tile, n_tiles) of one side; an area named as a zone of the hierarchy is as large as the zone."""
    lengths = np.diff(areas.start)
    labels = tree.label[tree.tiles]
    table = pd.DataFrame({"area": np.repeat(areas.label, lengths), "tile": labels[areas.members]}, dtype="str")
    zone = pd.Series(tree.n_tiles, index=pd.Index(tree.label, dtype="str"))
    size = pd.Series(areas.label, dtype="str").map(zone).fillna(pd.Series(areas.n_tiles)).to_numpy(np.int64)
    return table.assign(n_tiles=np.repeat(size, lengths))


def _area_tables(release: Release, origins: Hierarchy, destinations: Hierarchy) -> tuple[pd.DataFrame, pd.DataFrame]:
    return area_tiles(release.origins, origins), area_tiles(release.destinations, destinations)


def _plain(flows: pd.DataFrame) -> pd.DataFrame:
    return flows.astype(dict.fromkeys(_ENDS, "str"))


def _redrawn(release: Release, origins: Hierarchy, destinations: Hierarchy) -> list[Finding]:
    """Areas that carry the name of a zone and hold other tiles than the zone."""
    wrong = sum(_other_tiles(*side) for side in ((release.origins, origins), (release.destinations, destinations)))
    return [Finding("zone-tiles", wrong, "areas that do not hold the tiles of their zone")]


def _other_tiles(areas: Areas, tree: Hierarchy) -> int:
    """Zones are runs of ranks, so the tiles of one are known by their number, the first and the last."""
    node = pd.Index(tree.label, dtype="str").get_indexer(pd.Index(areas.label, dtype="str"))
    wrong = 0
    for number in np.flatnonzero(node >= 0).tolist():
        members = np.sort(areas.members[areas.start[number] : areas.start[number + 1]])
        zone = np.arange(tree.tile_start[node[number]], tree.tile_end[node[number]])
        wrong += not np.array_equal(members, zone)
    return wrong
