"""A release of one matrix as the verifier reads it: the rows as they were before, the flows, and the tiles of every area."""

import numpy as np
import pandas as pd

from odanon.gate.drawn import drawn, is_set, misdrawn, named_intervals, no_zones, unlike
from odanon.gate.shape import misshapen
from odanon.gate.verifier import Finding, added_up, structure, verify
from odanon.model.areas import Areas
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Promise
from odanon.model.release import REST, Release
from odanon.model.window import Times

_ENDS = ("origin", "destination")


def rows_of(od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> pd.DataFrame:
    """The rows of a matrix as a table; it shares their arrays."""
    tiles = {"origin": (od.origin, origins), "destination": (od.destination, destinations)}
    table: dict[str, object] = {
        side: pd.Categorical.from_codes(ranks, pd.Index(tree.label[tree.tiles], dtype="str"))
        for side, (ranks, tree) in tiles.items()
    }
    if od.times is not None:
        bins = od.times.tree.label[od.times.tree.tiles]
        table["time"] = pd.Categorical.from_codes(od.time, pd.Index(bins, dtype="str"))
    table["trips"] = od.trips
    table |= {} if od.person is None else {"person": od.person}
    table |= {} if od.weight is None else {"weight": od.weight}
    return pd.DataFrame(table)


def release_findings(
    rows: pd.DataFrame,
    release: Release,
    origins: Hierarchy,
    destinations: Hierarchy,
    promise: Promise,
    *,
    overlapping: bool,
    leaves_out: bool,
    times: Times | None = None,
) -> list[Finding]:
    """All broken rules of a release whose flows are true counts; an empty list is the proof.

    `times` are those of the matrix, if it has any: flows are then told by intervals.
    """
    if findings := misshapen(release, origins, destinations, weighted="weight" in rows, times=times):
        return findings
    assignment = release.assignment.astype(dict.fromkeys(_ENDS, "category"))
    lost = int(assignment.loc[assignment["flow"] < 0, "trips"].sum())
    tables = area_tables(release, origins, destinations)
    told = {"suppressed_trips": lost, "assignment": assignment, "overlapping": overlapping, "leaves_out": leaves_out}
    if times is not None and release.times is not None:
        told["times"] = area_tiles(release.times, times.tree)
    return added_up(
        [
            *_areas(release, origins, destinations),
            *_intervals(release, times),
            *verify(rows, _plain(release.flows), *tables, promise, **told),
        ]
    )


def _intervals(release: Release, times: Times | None) -> list[Finding]:
    """What is wrong with the intervals themselves: they are those of the tree over the bins, and flows use them all."""
    if times is None or release.times is None:
        return []
    told, tree = release.times, times.tree
    right = named_intervals(told, tree)
    wrong = len(told.label) if right is None else misdrawn(told, tree) + unlike(told, right)
    used = len(set(told.label) - set(release.flows["time"].astype("str")))
    return [
        Finding("known-times", wrong, "intervals that are not those of the tree over the bins"),
        Finding("unused-areas", used, "intervals that no flow uses"),
    ]


def noisy_findings(release: Release, origins: Hierarchy, destinations: Hierarchy, promise: Promise) -> list[Finding]:
    """What can be proven of flows that carry noise: their areas; true numbers of people would undo the noise."""
    if findings := misshapen(release, origins, destinations, weighted=False, times=None):
        return findings
    tables = area_tables(release, origins, destinations)
    true_counts = int(release.flows["persons"].notna().sum())
    return added_up(
        [
            *_areas(release, origins, destinations),
            *structure(_plain(release.flows), *tables, promise),
            Finding("noisy", true_counts, "flows with a true number of people beside noisy trips"),
        ]
    )


def area_tables(release: Release, origins: Hierarchy, destinations: Hierarchy) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(area, tile, n_tiles) of both sides."""
    return area_tiles(release.origins, origins), area_tiles(release.destinations, destinations)


def area_tiles(areas: Areas, tree: Hierarchy) -> pd.DataFrame:
    """(area, tile, n_tiles) of one side; of a set of tiles those count that it lists, whatever it says of its size."""
    lengths = np.diff(areas.start)
    labels = tree.label[tree.tiles]
    table = pd.DataFrame({"area": np.repeat(areas.label, lengths), "tile": labels[areas.members]}, dtype="str")
    size = np.where(is_set(areas, tree), lengths, areas.n_tiles)
    return table.assign(n_tiles=np.repeat(size, lengths))


def _plain(flows: pd.DataFrame) -> pd.DataFrame:
    return flows.astype(dict.fromkeys(_ENDS, "str"))


def _areas(release: Release, origins: Hierarchy, destinations: Hierarchy) -> list[Finding]:
    """What is wrong with the areas themselves, and with what the flows say of them."""
    sides = (release.origins, origins), (release.destinations, destinations)
    right = drawn(release, origins, destinations)
    findings = [
        Finding("zone-tiles", misdrawn(*side), "areas that do not hold the tiles of their zone") for side in sides
    ]
    if (release.flows["kind"] == REST).any():  # readers tell from the hierarchy what lies inside what
        drawn_ones = sum(no_zones(*side) for side in sides)
        findings.append(Finding("rests", drawn_ones, "areas beside rests that are no zones of the hierarchy"))
    for name, (told, _), areas in zip(_ENDS, sides, right, strict=True):
        number = pd.Index(areas.label).get_indexer(pd.Index(release.flows[name].astype("str")))
        known = number >= 0
        wrong = areas.n_tiles[number[known]] != release.flows[f"{name}_tiles"].to_numpy()[known]
        findings += [
            Finding("area-names", unlike(told, areas), f"{name} areas whose name, size or level is not derived"),
            Finding("area-names", int(wrong.sum()), f"flows with a wrong number of {name}_tiles"),
            Finding(
                "unused-areas", len(areas.label) - len(np.unique(number[known])), f"{name} areas that no flow uses"
            ),
        ]
    return findings
