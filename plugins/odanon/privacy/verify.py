"""The verifier: proves on the pre-anonymisation rows what a release promises (PRIVACY rules 1-3).

It shares no code with any anonymiser: it takes plain tables, finds by itself which flow covers which row from
the tiles that each area lists, and counts people again.
"""

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class Finding:
    """A broken rule and how many flows or rows break it; never who."""

    rule: str
    count: int
    explanation: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.explanation} ({self.count})"


def verify(
    rows: pd.DataFrame,
    flows: pd.DataFrame,
    origin_tiles: pd.DataFrame,
    destination_tiles: pd.DataFrame,
    *,
    suppressed_trips: int,
    k: int,
    unit: str,
    contribution_cap: int | None = None,
    assignment: pd.DataFrame | None = None,
) -> list[Finding]:
    """All broken rules of one matrix's release; an empty list is the proof.

    `rows`: origin, destination (tiles), person, trips. `flows`: origin, destination (areas), trips, persons.
    `origin_tiles`, `destination_tiles`: area, tile. With unit trips, `rows` needs no person. With a
    `contribution_cap`, a flow's trips must be those of each person up to the cap. Areas of one flow must not
    overlap those of another, unless an `assignment` (origin, destination, flow; -1 = suppressed) says which flow
    each tile pair counts in: then every pair must lie inside its flow.
    """
    known = [
        Finding("known-zones", int((~flows[side].isin(tiles["area"])).sum()), f"{side} areas without tiles")
        for side, tiles in (("origin", origin_tiles), ("destination", destination_tiles))
    ]
    pairs = rows[["origin", "destination"]].drop_duplicates().reset_index(drop=True)
    covered = _covering_flows(pairs, flows.reset_index(drop=True), origin_tiles, destination_tiles)
    outside = 0
    if assignment is not None:
        covered, outside = _assigned(pairs, assignment, covered)
    located = rows.merge(pairs.assign(pair=range(len(pairs))), on=["origin", "destination"])
    located = located.merge(covered, on="pair")
    if contribution_cap is not None:
        mine = located.groupby(["flow", "person"], as_index=False)["trips"].sum()
        counted = mine.assign(trips=mine["trips"].clip(upper=contribution_cap))
    else:
        counted = located
    trips = counted.groupby("flow")["trips"].sum().reindex(range(len(flows)), fill_value=0)
    capped = int(located["trips"].sum() - counted["trips"].sum())
    if unit == "trips":
        units = trips
    else:
        people = located[["flow", "person"]].drop_duplicates()
        units = people.groupby("flow").size().reindex(range(len(flows)), fill_value=0)
    published = int(flows["trips"].sum())
    findings = [
        *known,
        Finding("duplicate-flows", int(flows.duplicated(["origin", "destination"]).sum()), "flows listed twice"),
        Finding("at-least-k", int((units < k).sum()), f"flows with fewer than {k} {unit}"),
        Finding("disjoint", int(covered["pair"].duplicated().sum()), "tile pairs covered by several flows"),
        Finding("inside", outside, "tile pairs assigned to a flow whose areas do not hold them"),
        Finding("volumes", int((trips.to_numpy() != flows["trips"].to_numpy()).sum()), "flows with a wrong volume"),
        Finding(
            "conservation",
            int(published + capped + suppressed_trips != int(rows["trips"].sum())),
            "published and suppressed trips do not add up to the input",
        ),
    ]
    if unit != "trips":
        wrong = int((units.to_numpy() != flows["persons"].to_numpy()).sum())
        findings.append(Finding("people", wrong, "flows with a wrong number of people"))
    return [finding for finding in findings if finding.count]


def _covering_flows(
    pairs: pd.DataFrame, flows: pd.DataFrame, origin_tiles: pd.DataFrame, destination_tiles: pd.DataFrame
) -> pd.DataFrame:
    """(pair, flow) for every flow whose areas contain a pair's tiles."""
    numbered = pairs.assign(pair=range(len(pairs)))
    from_areas = numbered.merge(origin_tiles.rename(columns={"tile": "origin", "area": "o"}), on="origin")
    candidates = from_areas.merge(
        destination_tiles.rename(columns={"tile": "destination", "area": "d"}), on="destination"
    )
    named = flows[["origin", "destination"]].rename(columns={"origin": "o", "destination": "d"})
    named["flow"] = range(len(named))
    return candidates.merge(named, on=["o", "d"])[["pair", "flow"]]


def _assigned(pairs: pd.DataFrame, assignment: pd.DataFrame, candidates: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """(pair, flow) as the assignment says, and how many of them lie outside their flow's areas."""
    told = pairs.assign(pair=range(len(pairs))).merge(assignment, on=["origin", "destination"])
    told = told.loc[told["flow"] >= 0, ["pair", "flow"]]
    return told, len(told) - len(told.merge(candidates, on=["pair", "flow"]))
