"""Half steps between an H3 cell and its seven children: groups of children that lie side by side.

Around the centre 0 the children follow each other in the order 1, 3, 2, 6, 4, 5. Two halves of four and three children, and three
pairs of which two make the first half and one, with child 5, the second, are contiguous areas; child 5 is a step by itself.
"""

PAIRS = ("01", "23", "46")
HALVES = ("0123", "456")
_MARK = "/"


def step_name(cell: str, children: str) -> str:
    """The zone id of a group: the parent cell, then the last digits of the children, as in `881fb46625fffff/0123`."""
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


def _digit(cell: str, resolution: int) -> str:
    """Which child of its parent a cell of that resolution is."""
    return str(int(cell, 16) >> 3 * (15 - resolution) & 7)
