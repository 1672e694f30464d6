"""Membership inference on a fixed simulated city: can a reader tell whether a person's trips were in the input?

k-anonymity does not promise that nobody can. The attacker knows all trips of a target and reads the release as anyone
does, every flow spread evenly over its tile pairs; the more trips it shows where the target travels, the more likely
the target is in it. The area under the curve (AUC) over many releases with and without the target is 0.5 for an
attacker who guesses and 1 for one who knows.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata

from odanon.anonymize.matrix import ODMatrix
from odanon.anonymize.release import Release
from odanon.errors import OdanonError
from odanon.hierarchy.tree import Hierarchy

_SIDE, _PEOPLE, _SAMPLE, _TARGETS, _ROUNDS = 8, 400, 200, 8, 10


def membership_auc(anonymizer: Any) -> dict[str, float]:
    """AUC of the attack on the anonymiser's releases, averaged over targets, and on the tables without protection."""
    tree, rows = fixture()
    rng = np.random.default_rng(11)
    targets = rng.choice(_PEOPLE, _TARGETS, replace=False)
    scores: dict[str, list[float]] = {"released": [], "unprotected": []}
    for target in targets.tolist():
        known = rows[rows["person"] == target]
        pairs = tree.ranks(known["origin"]), tree.ranks(known["destination"])
        shown: dict[str, list[list[float]]] = {name: [[], []] for name in scores}
        for turn in range(2 * _ROUNDS):
            present = turn % 2
            others = rng.choice(np.delete(np.arange(_PEOPLE), target), _SAMPLE - present, replace=False)
            chosen = rows[rows["person"].isin([*others.tolist(), *([target] if present else [])])]
            od = ODMatrix.from_frame(chosen, tree, tree)
            try:
                released = read_flows(anonymizer.anonymize(od, tree, tree), pairs, tree)
            except OdanonError:  # refused, so that there is nothing to read
                released = 0.0
            shown["released"][present].append(released)
            exact = pd.Series(od.pairs.trips, index=_keys(od.pairs.origin, od.pairs.destination, tree))
            shown["unprotected"][present].append(float(exact.reindex(_keys(*pairs, tree)).fillna(0).sum()))
        for name, (absent, present_scores) in shown.items():
            scores[name].append(auc(absent, present_scores))
    return {name: float(np.mean(values)) for name, values in scores.items()}


def fixture() -> tuple[Hierarchy, pd.DataFrame]:
    """Commuters on a square city; the same at every call."""
    rng = np.random.default_rng(5)
    label, parent, above, width = ["city"], [-1], {(0, 0): 0}, _SIDE
    while width > 1:
        width //= 2
        below = {}
        for x in range(0, _SIDE, width):
            for y in range(0, _SIDE, width):
                below[x, y] = len(label)
                label.append(f"{width}x{x}y{y}")
                parent.append(above[x - x % (2 * width), y - y % (2 * width)])
        above = below
    tree = Hierarchy.from_parents(label, parent, kind="square")
    tiles = tree.label[tree.tiles]
    pull = rng.pareto(1.5, len(tiles)) + 0.3
    home, work, shop = (rng.choice(len(tiles), _PEOPLE, p=pull / pull.sum()) for _ in range(3))
    legs = [(home, work), (work, shop), (shop, home)]
    rows = pd.concat(
        [
            pd.DataFrame({"origin": tiles[o], "destination": tiles[d], "person": np.arange(_PEOPLE), "trips": 1})
            for o, d in legs
        ]
    )
    return tree, rows.groupby(["origin", "destination", "person"], as_index=False)["trips"].sum()


def read_flows(release: Release, pairs: tuple[npt.NDArray, npt.NDArray], tree: Hierarchy) -> float:
    """Trips that a reader expects on the given tile pairs (ALGORITHMS, Reconstruction)."""
    flows = release.flows
    inside = []
    for side, areas, ranks in (("origin", release.origins, pairs[0]), ("destination", release.destinations, pairs[1])):
        holds = np.zeros((len(areas.label), tree.n_leaves), dtype=bool)
        holds[np.repeat(np.arange(len(areas.label)), np.diff(areas.start)), areas.members] = True
        number = pd.Index(areas.label.astype(str)).get_indexer(pd.Index(flows[side].astype("str")))
        inside.append(holds[number][:, ranks])
    size = flows["origin_tiles"].to_numpy() * flows["destination_tiles"].to_numpy()
    expected = flows["trips"].to_numpy() / size
    return float(expected @ (inside[0] & inside[1]).sum(axis=1))


def auc(absent: list[float], present: list[float]) -> float:
    """The chance that a release with the target scores above one without; ties count half."""
    ranks = rankdata([*absent, *present])
    n, m = len(absent), len(present)
    return float((ranks[n:].sum() - m * (m + 1) / 2) / (n * m))


def _keys(origin: npt.NDArray, destination: npt.NDArray, tree: Hierarchy) -> npt.NDArray[np.int64]:
    return origin.astype(np.int64) * tree.n_leaves + destination
