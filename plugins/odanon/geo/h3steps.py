"""Half steps between an H3 cell and its seven children: groups of children that lie side by side.

Around the centre 0 the children follow each other in the order 1, 3, 2, 6, 4, 5. Two halves of four and three children, and three
pairs of which two make the first half and one, with child 5, the second, are contiguous areas; child 5 is a step by itself.
"""

from collections.abc import Iterable

PAIRS = ("01", "23", "46")
HALVES = ("0123", "456")
_MARK = "/"


def step_name(cell: str, children: str) -> str:
    """The zone id of a group: the parent, then the last digits of its children, as in `881fb46625fffff/0123`."""
    return f"{cell}{_MARK}{children}"


def is_h3_zone(label: str) -> bool:
    """Whether a zone id names an H3 cell, or a group of children of one."""
    import h3

    cell, mark, children = label.partition(_MARK)
    return h3.is_valid_cell(cell) and (not mark or children in (*PAIRS, *HALVES))


def cells_of(label: str) -> list[str]:
    """The H3 cells that make up a zone: itself, or the children that its name lists (a pentagon has no child 1)."""
    import h3

    cell, mark, children = label.partition(_MARK)
    if not mark:
        return [cell]
    resolution = h3.get_resolution(cell) + 1
    return [child for child in h3.cell_to_children(cell, resolution) if _digit(child, resolution) in children]


def cells_within(labels: Iterable[str], tile: str, limit: int) -> list[str]:
    """The H3 cells that make up zones, at the finest resolution with up to `limit` of them, never finer than a tile's."""
    import h3

    tops = [cell for label in labels for cell in cells_of(label)]
    resolution, top = h3.get_resolution(tile), h3.get_resolution(tops[0])
    while resolution > top and sum(h3.cell_to_children_size(cell, resolution) for cell in tops) > limit:
        resolution -= 1
    return [child for cell in tops for child in h3.cell_to_children(cell, resolution)]


def _digit(cell: str, resolution: int) -> str:
    """Which child of its parent a cell of that resolution is."""
    return str(int(cell, 16) >> 3 * (15 - resolution) & 7)
