"""The fourth stage: trips per time bin and pair of tiles, with their people; and how later stages read them."""

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd

from odanon.errors import OdanonError
from odanon.model.figure import Figure
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.window import Times
from odanon.plugin import parameters_of
from odanon.product import Product
from odanon.protocols import ChoosesExtent, KnowsEveryTile, Zoning
from odanon.reading.files import shown
from odanon.trips.bins import bin_instants
from odanon.trips.od import MATRIX_FIGURES, OD_COLUMNS, UNKNOWN, merge_rows, od_rows, pair_table
from odanon.trips.people import segment_labels
from odanon_assets.chain.people import describe_people
from odanon_assets.gate.evidence import ROWS, window_times
from odanon_assets.lake.files import read_frame, write_parquet
from odanon_assets.lake.lake import Lake, write_figures
from odanon_assets.lake.origin import carry, rules_of
from odanon_assets.lake.places import rows_stage

_NAMED = 25  # missing zones that a sentence lists
FIGURES = (
    *MATRIX_FIGURES,
    Figure(
        "unknown_zone_share",
        "of the trips lie outside",
        "trips with an end outside the zoning",
        unit="share",
        tells_suppressed="yes",
    ),
    Figure(
        "unknown_zone_people",
        "people outside",
        "behind trips with an end outside the zoning",
        kind="count",
        tells_suppressed="yes",
    ),
    Figure(
        "intrazonal_dropped",
        "trips within a tile",
        "dropped, as the product's file says",
        kind="count",
        tells_suppressed="yes",
    ),
    Figure(
        "missing_zone_dropped",
        "trips to missing zones",
        "dropped because their zone has no polygon, as the zoning says",
        kind="count",
        tells_suppressed="yes",
    ),
    Figure(
        "dropped_people",
        "people behind trips outside the matrix",
        "people with trips that the matrix does not have: outside the zoning or within a tile",
        kind="count",
        tells_suppressed="yes",
    ),
)


def od(product: Product, lake: Lake, day: date, *, zoning: Zoning) -> dict[str, Any]:
    """Trips per person, time bin and tile pair, and the same without persons."""
    if product.od.days == "working" and not product.calendar.is_working(day):
        raise OdanonError(f"{product.product} {day}: od.days is working and the calendar says that this day is not")
    rows, remote, outside, counts = told_rows(product, lake, day, zoning)
    counts["beyond"] = int(remote["trips"].sum())
    if not remote.empty:
        counts["unknown"] += counts["beyond"]
        for name in ("people", "dropped"):
            counts[name] = max(counts[name], _people(remote))  # some may be the same
        outside = pd.concat([outside, remote]) if product.od.unknown == "keep" else outside
    left_out = _left_out(product, day, **counts)
    pairs = pair_table(rows)
    with lake.new(product.product, "od", day) as folder:
        write_parquet(rows, folder / ROWS)
        write_parquet(pairs if outside.empty else pd.concat([pairs, pair_table(outside)]), folder / "pairs.parquet")
        figures = {
            "od_pairs": len(pairs),
            "od_trips": int(rows["trips"].sum()),
            "time_bins": int(rows["time_bin"].nunique()),
            "segments": int(rows["segment"].nunique()),
            "tiles": len(tile_labels(rows)),
            **left_out,
        }
        made_with = {
            "timezone": product.timezone,
            "zoning": {"plugin": product.zoning.plugin, **parameters_of(zoning)},
            **rules_of(product, "od", "people", "population"),
        }
        carry(lake, product, "trips", day, folder, **made_with)
        return write_figures(folder, figures)


def told_rows(
    product: Product, lake: Lake, day: date, zoning: Zoning
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """OD rows of people of a day, those beyond the root of the tree, those with an unknown end if so asked, and counts of the others."""
    make = _ready_rows if product.source.instance.enters == "od" else _counted_rows
    rows, outside, counts = make(lake, product, day, zoning)
    return *_near_others(rows, product), outside, counts


def _counted_rows(
    lake: Lake, product: Product, day: date, zoning: Zoning
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """OD rows of the trips of a day, those of trips with an unknown end if so asked, and how many the first leave out.

    That is trips with an end outside the zoning and, if so asked, within a tile. No tree has a place for an unknown
    zone, so its rows never go on to anonymisation.
    """
    instants = bin_instants(day, product.zone, product.od.bin)
    people = describe_people(product, lake, day, zoning)
    parts, outside, total, unknown, intrazonal, strangers, dropped = [], [], 0, 0, 0, 0, 0
    named = pd.Series(dtype="int64")
    for path in lake.buckets(product.product, "trips", day):
        trips = read_frame(path)
        origin, destination = _ends(trips, zoning)
        known = pd.notna(origin) & pd.notna(destination)
        inside = known if product.od.intrazonal == "keep" else known & (origin != destination)
        parts.append(od_rows(trips[inside], origin[inside], destination[inside], instants, people))
        if product.od.unknown == "keep":
            start, end = (np.where(pd.isna(side), UNKNOWN, side)[~known] for side in (origin, destination))
            outside.append(od_rows(trips[~known], start, end, instants, people))
        total, unknown, intrazonal = total + len(trips), unknown + (~known).sum(), intrazonal + (known & ~inside).sum()
        strangers += trips["person"][~known].nunique()  # a bucket holds whole people
        dropped += trips["person"][~inside].nunique()
        named = named.add(_people_by_missing_zone(trips, origin, destination), fill_value=0)
    counts = {"total": total, "unknown": int(unknown), "intrazonal": int(intrazonal)}
    counts |= {"people": strangers, "dropped": dropped}
    counts = _with_missing(counts, named, zoning, product.anonymize.promise.k)
    return merge_rows(parts), merge_rows(outside) if outside else pd.DataFrame(), counts


def _people_by_missing_zone(rows: pd.DataFrame, origin: np.ndarray, destination: np.ndarray) -> pd.Series:
    """How many people, or trips where nobody has an id, are behind each zone that ready rows name and the zoning lacks."""
    if "origin" not in rows:
        return pd.Series(dtype="int64")
    who = "person" if "person" in rows else "trips"
    ends = [
        pd.DataFrame({"zone": rows[name][pd.isna(side)].astype("str"), who: rows[who][pd.isna(side)]})
        for name, side in (("origin", origin), ("destination", destination))
    ]
    zones = pd.concat(ends).groupby("zone")[who]
    return zones.nunique() if who == "person" else zones.sum()


def _with_missing(counts: dict[str, Any], named: pd.Series, zoning: Zoning, k: int) -> dict[str, Any]:
    """The counts with the missing zones that many people use, by name; trips to them are told apart if they are dropped."""
    told = {"named": sorted(named.index[named >= k]), "missing": 0}
    if getattr(zoning, "drop_missing", False) and len(named):
        told |= {"missing": counts["unknown"], "unknown": 0, "people": 0}
    return {**counts, **told}


def _near_others(rows: pd.DataFrame, product: Product) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows inside the part of the map that the tree may stand on, and the others with unknown ends.

    One trip to another continent would have the root of the tree reach there (PRIVACY rule 24).
    """
    chooser = product.hierarchy.instance
    if rows.empty or not isinstance(chooser, ChoosesExtent):
        return rows, rows[:0]
    k = product.anonymize.promise.k
    code, label = pd.factorize(np.concatenate([rows["origin"].to_numpy(object), rows["destination"].to_numpy(object)]))
    if "person" in rows:
        tile, visitor = code, np.tile(pd.factorize(rows["person"])[0], 2)
    else:  # every trip is somebody, and more than k on one row change nothing
        times = np.minimum(rows["trips"].to_numpy(np.int64), k)
        tile, visitor = np.repeat(code, np.tile(times, 2)), np.tile(np.arange(times.sum()), 2)
    near = chooser.extent(label, tile, visitor, k)
    ends = dict(zip(("origin", "destination"), np.split(near[code], 2), strict=True))
    inside = ends["origin"] & ends["destination"]
    remote = rows.assign(**{side: rows[side].where(known, UNKNOWN) for side, known in ends.items()})
    return rows[inside], remote[~inside]


def _people(rows: pd.DataFrame) -> int:
    """Who is behind some rows; without ids every trip is somebody."""
    return int(rows["person"].nunique() if "person" in rows else rows["trips"].sum())


def _left_out(
    product: Product,
    day: date,
    *,
    total: int,
    unknown: int,
    beyond: int,
    intrazonal: int,
    missing: int,
    people: int,
    dropped: int,
    named: list[str],
) -> dict[str, float]:
    """The figures of trips that are not counted; too many outside the zoning stop the day.

    `people` are behind those outside the zoning, `dropped` behind all that are not counted; `missing` are trips to zones
    without a polygon that are left out as the zoning asks, and `named` those zones that many people use. `beyond` are
    those of the unknown ones that lie on the zoning, where too few people are for a root to reach.
    """
    share, limit = float(unknown / total) if total else 0.0, product.checks.max_unknown_zone
    if share > limit:
        raise OdanonError(
            f"{product.product} {day}: more of the trips lie {_where(product, unknown, beyond)} than"
            f" checks.max_unknown_zone = {limit:.1%} allows{_list(named)}; widen {_remedy(unknown, beyond)}"
        )
    return {
        "unknown_zone_share": share,
        "unknown_zone_people": people,
        "intrazonal_dropped": intrazonal,
        "missing_zone_dropped": missing,
        "dropped_people": dropped,
    }


def _where(product: Product, unknown: int, beyond: int) -> str:
    """Outside the zoning, where the root does not reach, or both."""
    promise = product.anonymize.promise
    far = f"beyond the root of the hierarchy (which is not chosen by where fewer than {promise.k} {promise.who} go)"
    return " or ".join(["outside the zoning"] * (unknown > beyond) + [far] * (beyond > 0))


def _remedy(unknown: int, beyond: int) -> str:
    root = "hierarchy.root (by a coarser resolution or the id of a cell)"
    return ", ".join(["the zoning"] * (unknown > beyond) + [root] * (beyond > 0)) + " or the limit"


def _list(zones: list[str]) -> str:
    """Zones that rows name and the zoning lacks, as part of a sentence; no more than a few."""
    if not zones:
        return ""
    more = f" and {len(zones) - _NAMED} more" if len(zones) > _NAMED else ""
    names = ", ".join(shown(zone) for zone in zones[:_NAMED])
    return f" (the zoning has no zone {names}{more}; a zoning of polygons leaves them out with drop_missing: true)"


def _ends(trips: pd.DataFrame, zoning: Zoning) -> tuple[np.ndarray, np.ndarray]:
    """Tiles in which trips start and end; ready rows may name them. None outside the zoning."""
    if "origin" in trips:
        origin, destination = (trips[side].to_numpy(object, copy=True) for side in ("origin", "destination"))
        known = pd.Index(_inside(pd.unique(np.concatenate([origin, destination])), zoning))
        for side in (origin, destination):
            side[known.get_indexer(side) < 0] = None
        return origin, destination
    # Most places end one trip and start the next: each is looked up once.
    ends = np.empty(2 * len(trips), np.complex128)
    ends.real = np.concatenate([trips["o_lat"], trips["d_lat"]])
    ends.imag = np.concatenate([trips["o_lon"], trips["d_lon"]])
    code, place = pd.factorize(ends, use_na_sentinel=False)
    tile = zoning.assign(place.real, place.imag)[code]
    return tile[: len(trips)], tile[len(trips) :]


def _inside(labels: np.ndarray, zoning: Zoning) -> np.ndarray:
    """The labels that are of the zoning; where it has no list of tiles, those whose centre lies inside."""
    if isinstance(zoning, KnowsEveryTile):
        return zoning.every_label
    named = labels[pd.notna(labels)]
    if not len(named):
        return named
    tiles = zoning.tiles(named)
    return tiles.label[pd.notna(zoning.assign(tiles.lat, tiles.lon))]


def _ready_rows(
    lake: Lake, product: Product, day: date, zoning: Zoning
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """OD rows as the source gave them, told apart as `_counted_rows` does."""
    buckets = [read_frame(path) for path in lake.buckets(product.product, "traces", day)]
    rows = pd.concat(buckets, ignore_index=True)
    if "segment" in rows:
        rows["segment"] = segment_labels(rows[["segment"]])  # who has none is in a segment of their own, not lost
    keys = [name for name in OD_COLUMNS[:-1] if name in rows]
    origin, destination = _ends(rows, zoning)
    known = pd.notna(origin) & pd.notna(destination)
    inside = known if product.od.intrazonal == "keep" else known & (origin != destination)
    trips = rows["trips"]
    unknown = rows[~known]
    counts = {
        "total": int(trips.sum()),
        "unknown": int(unknown["trips"].sum()),
        "people": _people(unknown),
        "dropped": _people(rows[~inside]),
        "intrazonal": int(trips[known & ~inside].sum()),
    }
    named = _people_by_missing_zone(rows, origin, destination)
    counts = _with_missing(counts, named, zoning, product.anonymize.promise.k)
    outside = pd.DataFrame()
    if product.od.unknown == "keep":
        ends = {"origin": origin, "destination": destination}
        outside = rows.assign(**{name: pd.Series(side).fillna(UNKNOWN) for name, side in ends.items()})[~known]
    return rows[inside].groupby(keys, sort=True).sum().reset_index(), outside, counts


def read_rows(lake: Lake, product: Product, day: date) -> pd.DataFrame:
    """The person-level OD rows of a day or longer window, before anonymisation."""
    return pd.read_parquet(lake.read(product.product, rows_stage(product), day) / ROWS)


def day_matrices(lake: Lake, product: Product, day: date, tree: Hierarchy) -> Iterator[tuple[datetime, ODMatrix]]:
    """The matrix of each time bin that has trips, or of the whole window where time is adaptive."""
    times = window_times(product, lake, day)
    for at, rows in rows_by_matrix(read_rows(lake, product, day), times).items():
        yield at, bin_matrix(rows, tree) if times is None else window_matrix(rows, tree, times)


def rows_by_matrix(rows: pd.DataFrame, times: Times | None) -> dict[datetime, pd.DataFrame]:
    """The rows of every matrix of a window, by the start of its time."""
    if times is not None:
        return {times.start[0]: rows} if len(rows) else {}
    return {moment(at): part for at, part in rows.groupby("time_bin", sort=True)}


def window_matrix(rows: pd.DataFrame, tree: Hierarchy, times: Times) -> ODMatrix:
    """The matrix of a whole window, each row with its bin."""
    bins = pd.DatetimeIndex(times.start).get_indexer(pd.DatetimeIndex(rows["time_bin"]))
    if (bins < 0).any():
        raise OdanonError(f"{int((bins < 0).sum())} OD rows are of no time bin of their window; run it again")
    person, weight = (name if name in rows else None for name in ("person", "weight"))
    told = rows.assign(bin=bins)
    return ODMatrix.from_frame(told, tree, tree, person=person, weight=weight, time="bin", times=times)


def bin_matrix(rows: pd.DataFrame, tree: Hierarchy) -> ODMatrix:
    """The matrix of a time bin or of a segment of it, with weights where there are some.

    Its rows are of people or, from a table without ids, of pairs.
    """
    person, weight = (name if name in rows else None for name in ("person", "weight"))
    return ODMatrix.from_frame(rows, tree, tree, person=person, weight=weight)


def moment(time_bin: Any) -> datetime:
    """The start of a time bin as releases name it."""
    return pd.Timestamp(time_bin).to_pydatetime()


def tile_labels(rows: pd.DataFrame) -> np.ndarray:
    """The tiles in which a day's trips start or end."""
    return np.union1d(rows["origin"].to_numpy(object), rows["destination"].to_numpy(object))
