"""k^m-anonymity for m = 1: whoever knows only an origin, or only a destination, faces k people (002 section 2.5.2).

A trip is read as two items, its origin area and its destination area. For m = 1 every area that a table names on a side
must hold at least k distinct people in all its flows together; m = 2, both items, is what the verifier proves flow by
flow. A release whose flows hold k people each keeps m = 1 by itself, since the people of an area are the union of those
of its flows. It is broken by raw tables and can be by releases whose k counts trips or that publish noise, so it is
measured here from the rows, sharing no code with any anonymiser. A larger k than that of the flows asks more
of areas than of flows.
"""

import pandas as pd

from odanon.errors import OdanonError
from odanon.privacy.verify import Finding

_SIDES = ("origin", "destination")


def areas_below_k(
    rows: pd.DataFrame,
    flows: pd.DataFrame,
    origin_tiles: pd.DataFrame,
    destination_tiles: pd.DataFrame,
    *,
    k: int,
    assignment: pd.DataFrame | None = None,
) -> list[Finding]:
    """The sides of a release with areas of fewer than k people, and how many areas; an empty list is the proof.

    Tables are those of the verifier: `rows` (origin, destination, person), `flows` (origin, destination), the tiles of
    each area (area, tile) and, where flows overlap, the flow of each tile pair (origin, destination, flow).
    """
    _need_people(rows)
    flows = flows.reset_index(drop=True)[list(_SIDES)]
    if assignment is None:
        pairs = rows[list(_SIDES)].drop_duplicates()
        for side, tiles in zip(_SIDES, (origin_tiles, destination_tiles), strict=True):
            pairs = pairs.merge(tiles[["area", "tile"]].set_axis([f"{side}_area", side], axis=1), on=side)
        areas = pairs.merge(flows.add_suffix("_area"))
    else:
        told = assignment.loc[assignment["flow"] >= 0, [*_SIDES, "flow"]]
        areas = told.merge(flows.add_suffix("_area"), left_on="flow", right_index=True)
    located = rows.merge(areas, on=list(_SIDES))
    seen = {side: located[[f"{side}_area", "person"]].set_axis([side, "person"], axis=1) for side in _SIDES}
    return _findings(seen, flows, k, "areas")


def tiles_below_k(rows: pd.DataFrame, *, k: int) -> list[Finding]:
    """The same of a table before anonymisation (origin, destination, person): its tiles of fewer than k people."""
    _need_people(rows)
    return _findings({side: rows[[side, "person"]] for side in _SIDES}, rows, k, "tiles")


def _findings(seen: dict[str, pd.DataFrame], named: pd.DataFrame, k: int, what: str) -> list[Finding]:
    findings = []
    for side, visits in seen.items():
        people = visits.drop_duplicates().groupby(side).size()
        below = int((people.reindex(named[side].unique(), fill_value=0) < k).sum())
        if below:
            findings.append(
                Finding(f"k1-{side}s", below, f"{side} {what} with fewer than {k} people in all their flows")
            )
    return findings


def _need_people(rows: pd.DataFrame) -> None:
    if "person" not in rows:
        raise OdanonError("k^m-anonymity counts people and these rows have no person id; give person-level rows")
