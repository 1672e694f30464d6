"""Membership inference on a fixed simulated city: can a reader tell whether a person's trips were in the input?

k-anonymity does not promise that nobody can. The attacker knows all trips of a target and reads the release as anyone
does, every flow spread evenly over its tile pairs and every rest over those that no finer row holds; the more trips it shows where the target travels, the more likely
the target is in it. The area under the curve (AUC) over many releases with and without the target is 0.5 for an
attacker who guesses and 1 for one who knows.
"""

from functools import cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.errors import OdanonError
from odanon.model.hierarchy import FloatArray as Floats
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.protocols import Anonymizes
from odanon.reconstruct.rests import Regions

_SIDE, _PEOPLE, _RELEASES = 8, 400, 60


def membership_auc(anonymizer: Anonymizes) -> dict[str, float]:
    """Mean AUC over all people of the city, of tables that are `unprotected` and of those that are `released`.

    Every release is made from a random half of the people, so that each person is in about half of them. There is no
    figure of releases if the anonymiser refuses to make any in this city.
    """
    tree, rows = fixture()
    rng = np.random.default_rng(11)
    present = np.array([rng.permutation(_PEOPLE) < _PEOPLE // 2 for _ in range(_RELEASES)])
    shown: dict[str, list[Floats]] = {"released": [], "unprotected": []}
    refused = 0
    for chosen in present:
        od = ODMatrix.from_frame(rows[chosen[rows["person"].to_numpy()]], tree, tree)
        exact = np.zeros((tree.n_leaves, tree.n_leaves))
        exact[od.pairs.origin, od.pairs.destination] = od.pairs.trips
        try:
            read = expected_trips(anonymizer.anonymize(od, tree, tree), tree)
        except OdanonError:  # refused, so that there is nothing to read
            read = np.zeros_like(exact)
            refused += 1
        shown["released"].append(read)
        shown["unprotected"].append(exact)
    pairs = tree.ranks(rows["origin"]), tree.ranks(rows["destination"])
    person = rows["person"].to_numpy()
    found = {}
    if refused == len(present):
        del shown["released"]
    for name, tables in shown.items():
        scores = np.array([np.bincount(person, table[pairs], _PEOPLE) for table in tables])
        found[name] = float(np.mean(auc(scores, present)))
    return found


@cache
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
    corner = {f"1x{x}y{y}": (45 + y / 100, 5 + x / 100) for x in range(_SIDE) for y in range(_SIDE)}
    tree = tree.placed(np.array(list(corner), object), *np.array(list(corner.values())).T)
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


def expected_trips(release: Release, tree: Hierarchy) -> Floats:
    """(origin tile, destination tile): the trips that a reader expects there (ALGORITHMS, Reconstruction)."""
    flows = release.flows
    inside = []
    for side, areas in (("origin", release.origins), ("destination", release.destinations)):
        holds = np.zeros((len(areas.label), tree.n_leaves))
        holds[np.repeat(np.arange(len(areas.label)), np.diff(areas.start)), areas.members] = 1
        inside.append(holds[pd.Index(areas.label.astype(str)).get_indexer(pd.Index(flows[side].astype("str")))])
    density = Regions.of(release).layered(flows["trips"].to_numpy(np.float64))
    return inside[0].T @ (inside[1] * density[:, None])


def auc(scores: Floats, present: npt.NDArray[np.bool_]) -> Floats:
    """Of each target (column): the chance that a release with it scores above one without; ties count half."""
    from scipy.stats import rankdata

    n_with = present.sum(axis=0)
    above = np.where(present, rankdata(scores, axis=0), 0).sum(axis=0) - n_with * (n_with + 1) / 2
    return above / (n_with * (len(present) - n_with))
