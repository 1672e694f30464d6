"""The maps of the comparison page in a given number of bytes: every release is drawn, with as many areas and flows as find room.

Outlines stand on the page once for all releases. Room is shared out from the smallest release to the largest: what a small one does not
need, larger ones get.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from odanon.report.compare_squares import POINTS, Areas, as_they_are, in_squares
from odanon.report.encode import rings_of, zones_in_use
from odanon.report.page import script_json

_FOR_OUTLINES = 0.5  # of the room; flows have the rest
_ACROSS = (96, 64, 48, 32, 24, 16, 12, 8)  # squares side by side, where the areas themselves find no room
_PER_AREA = 100  # bytes of a map for each of its areas: its number, its trips and a few flows
_LONGEST_NAME = 80
_ANY = 1 << 40


@dataclass(frozen=True)
class CaseTables:
    """The release of one case: flows (origin, destination, trips, spread) summed over time, and its zones."""

    algorithm: str
    flows: pd.DataFrame
    zones: pd.DataFrame


def encode_maps(releases: Sequence[CaseTables], extent: list[float], room: int) -> dict[str, Any]:
    """`areas`, the outlines of all maps, and `maps`, one a release in the given order.

    `areas` of a map are numbers of outlines; `o` and `d` of its flows, and `from`, are places in that list. `from` has the
    trips of every origin, whether its flows are drawn or not; `share` says how much of all trips drawn flows have.
    """
    outlines = _Outlines()
    drawn = _outlined(releases, extent, outlines, room)
    room -= outlines.size + sum(_size(each.start) for each in drawn)
    flows = {}
    for left, each in _smallest_first(drawn, [len(one.flows) for one in drawn]):
        shown = each.largest_flows(room // left)
        flows[each.start["algorithm"]] = shown
        room -= _size(shown)
    return {"areas": outlines.columns, "maps": [each.start | flows[each.start["algorithm"]] for each in drawn]}


@dataclass(frozen=True)
class _Drawn:
    """A release with its areas in place: what its map begins with, and its flows between areas, the best worth drawing first."""

    start: dict[str, Any]
    flows: pd.DataFrame

    def largest_flows(self, room: int) -> dict[str, Any]:
        """As many as find room, the largest of each origin before the second largest of any; by origin and destination."""
        flows = self.flows.head(max(room, 0) // len("1,1,1,"))
        names = ["o", "d", "trips"] if (flows["spread"] == flows["trips"]).all() else ["o", "d", "trips", "spread"]
        bytes_of = sum(flows[name].astype(str).str.len() + len(",") for name in names)
        kept = flows[np.cumsum(bytes_of) <= room].sort_values(["o", "d"])
        whole = self.flows["trips"].sum()
        return {
            "flows": {name: kept[name].tolist() for name in names},
            "share": float(kept["trips"].sum() / whole) if whole and len(kept) < len(self.flows) else 1.0,
        }


class _Outlines:
    """Outlines by number, each once, and how many bytes they take."""

    def __init__(self) -> None:
        self.columns: dict[str, list[Any]] = {"id": [], "tiles": [], "km2": [], "rings": []}
        self.size = 0
        self._number: dict[str, int] = {}

    def added(self, areas: pd.DataFrame, room: int) -> list[int] | None:
        """The numbers of some areas, if those that are not here yet find room."""
        *known, shapes = (areas[column] for column in areas)
        rows = [
            (name[:_LONGEST_NAME], int(tiles), float(f"{km2:.4g}"), rings)
            for name, tiles, km2, rings in zip(*known, rings_of(shapes.to_numpy(object)), strict=True)
        ]
        texts = [script_json(row[:3]) + _text(row[3]) for row in rows]
        new = {text: row for text, row in zip(texts, rows, strict=True) if text not in self._number}
        size = sum(map(len, new))
        if size > room:
            return None
        self.size += size
        for text, row in new.items():
            self._number[text] = len(self._number)
            for column, value in zip(self.columns.values(), row, strict=True):
                column.append(value)
        return [self._number[text] for text in texts]


def _outlined(releases: Sequence[CaseTables], extent: list[float], outlines: _Outlines, room: int) -> list[_Drawn]:
    found, most = {}, room // max(len(releases), 1) // _PER_AREA
    for left, release in _smallest_first(releases, [len(release.zones) for release in releases]):
        flows = release.flows.rename(columns={"origin": "origin_zone", "destination": "destination_zone"})
        used = zones_in_use(flows, release.zones)
        share = (int(_FOR_OUTLINES * room) - outlines.size) // left
        areas, numbers = _fitting(used, extent, outlines, most, share)
        found[release.algorithm] = _drawn(release.algorithm, flows, used, areas, numbers)
    return [found[release.algorithm] for release in releases]


def _fitting(
    zones: pd.DataFrame, extent: list[float], outlines: _Outlines, most: int, room: int
) -> tuple[Areas, list[int]]:
    """The finest drawing of the zones that has at most so many areas, and whose new outlines find room."""
    for points in POINTS if len(zones) <= most else ():
        areas = as_they_are(zones, points)
        if (numbers := outlines.added(areas.table, room)) is not None:
            return areas, numbers
    for across in _ACROSS[:-1]:
        areas = in_squares(zones, extent, across)
        if len(areas.table) <= most and (numbers := outlines.added(areas.table, room)) is not None:
            return areas, numbers
    areas = in_squares(zones, extent, _ACROSS[-1])  # a few dozen, drawn in any case
    return areas, outlines.added(areas.table, _ANY) or []


def _drawn(algorithm: str, flows: pd.DataFrame, zones: pd.DataFrame, areas: Areas, numbers: list[int]) -> _Drawn:
    zone = pd.Index(zones["zone_id"].astype(str))
    o, d = (areas.of_zone[zone.get_indexer(flows[side].astype(str))] for side in ("origin_zone", "destination_zone"))
    pairs = pd.DataFrame({"o": o, "d": d, "trips": flows["trips"].to_numpy(), "spread": flows["spread"].to_numpy()})
    merged = pairs.groupby(["o", "d"], as_index=False).sum()
    merged["spread"] = merged["spread"].round(2).where(merged["spread"] != merged["trips"], merged["trips"])
    ranked = merged.sort_values(["trips", "o", "d"], ascending=[False, True, True])
    rank = ranked.groupby("o").cumcount()
    ranked = ranked.iloc[np.lexsort((np.arange(len(ranked)), rank))]
    leaving = merged.groupby("o", as_index=False)[["trips", "spread"]].sum()
    start = {
        "algorithm": algorithm,
        "published": {"flows": len(flows), "areas": len(zones)},
        "areas": numbers,
        "from": {
            "area": leaving["o"].tolist(),
            "trips": leaving["trips"].tolist(),
            "spread": leaving["spread"].round(2).tolist(),
        },
    }
    return _Drawn(start, ranked.reset_index(drop=True))


def _smallest_first(items: Sequence[Any], sizes: Sequence[int]) -> Any:
    """Each item with how many are left, itself included."""
    order = sorted(range(len(items)), key=lambda i: (sizes[i], i))
    return [(len(items) - at, items[i]) for at, i in enumerate(order)]


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _size(value: Any) -> int:
    return len(_text(value))
