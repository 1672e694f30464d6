"""Uniform cuts one step at a time and what a pair of them publishes, counted flow by flow."""

from enumeration import Instance

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.model.hierarchy import Hierarchy

Cut = set[int]


def levels(tree: Hierarchy) -> list[Cut]:
    """All tiles, then one step up at a time to the root (000 appendix B).

    Where all tiles lie equally deep a step is a level of the tree; else it merges, of the nodes whose children are all
    there, those with the fewest tiles.
    """
    children = {
        node: {int(child) for child in range(len(tree)) if tree.parent[child] == node} for node in range(len(tree))
    }
    found = [{int(tile) for tile in tree.tiles}]
    even = len({len(path(tree, tile)) for tile in found[0]}) == 1
    while found[-1] != {tree.root}:
        cut = found[-1]
        available = [node for node, below in children.items() if below and below <= cut]
        fewest = min(tree.n_tiles[node] for node in available)
        merged = {node for node in available if even or tree.n_tiles[node] == fewest}
        found.append(cut - set().union(*(children[node] for node in merged)) | merged)
    return found


def path(tree: Hierarchy, node: int) -> list[int]:
    """The node and everything above it."""
    return [node] if tree.parent[node] < 0 else [node, *path(tree, int(tree.parent[node]))]


def published(instance: Instance, promise: Anonymizer, origins: Cut, destinations: Cut) -> tuple[int, int]:
    """(trips published, their cost G) of all cells of two cuts."""
    flows = [instance.flow(o, d, promise) for o in origins for d in destinations]
    return sum(K for K, _ in flows), sum(A for _, A in flows)


def within(instance: Instance, promise: Anonymizer, origins: Cut, destinations: Cut) -> bool:
    """Whether what is left out stays within the budget."""
    volume = instance.od.volume
    return volume - published(instance, promise, origins, destinations)[0] <= promise.budget(volume)
