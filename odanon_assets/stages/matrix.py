"""From trips to an anonymised matrix and its metrics: the stages that see areas."""

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd

from odanon.anonymizers.files import read_releases, write_releases
from odanon.anonymizers.matrix import ODMatrix
from odanon.anonymizers.window import release_window
from odanon.errors import OdanonError
from odanon.hierarchy.parquet import from_parquet, to_parquet
from odanon.hierarchy.tree import Hierarchy
from odanon.plugin import parameters_of
from odanon.product import Product
from odanon.trips.bins import bin_instants
from odanon.trips.od import OD_COLUMNS, merge_rows, od_rows, pair_table
from odanon_assets.files import write_parquet
from odanon_assets.lake import Lake, read_frame, write_figures
from odanon_assets.stages.people import describe_people


def od(product: Product, lake: Lake, day: date, *, zoning: Any) -> dict[str, Any]:
    """Trips per person, time bin and tile pair, and the same without persons."""
    if product.od.days == "working" and not product.calendar.is_working(day):
        raise OdanonError(f"{product.product} {day}: od.days is working and the calendar says that this day is not")
    left_out: dict[str, float] = {}
    if product.source.instance.enters == "od":
        rows = _ready_rows(lake, product, day)
    else:
        rows, left_out = _counted_rows(lake, product, day, zoning)
    pairs = pair_table(rows)
    with lake.new(product.product, "od", day) as folder:
        write_parquet(rows, folder / "person_rows.parquet")
        write_parquet(pairs, folder / "pairs.parquet")
        figures = {
            "od_pairs": len(pairs),
            "od_trips": int(rows["trips"].sum()),
            "time_bins": int(rows["time_bin"].nunique()),
            "segments": int(rows["segment"].nunique()),
            "tiles": len(_tile_labels(rows)),
            **left_out,
        }
        return write_figures(folder, figures)


def _counted_rows(lake: Lake, product: Product, day: date, zoning: Any) -> tuple[pd.DataFrame, dict[str, float]]:
    """OD rows of the trips of a day, and what was left out: trips outside the zoning and, if so asked, within a tile."""
    instants = bin_instants(day, product.zone, product.od.bin)
    people = describe_people(product, lake, day, zoning)
    parts, total, unknown, intrazonal = [], 0, 0, 0
    for path in sorted(lake.read(product.product, "trips", day).glob("bucket-*.parquet")):
        trips = read_frame(path)
        origin, destination = _ends(trips, zoning)
        known = pd.notna(origin) & pd.notna(destination)
        inside = known if product.od.intrazonal == "keep" else known & (origin != destination)
        parts.append(od_rows(trips[inside], origin[inside], destination[inside], instants, people))
        total, unknown, intrazonal = total + len(trips), unknown + (~known).sum(), intrazonal + (known & ~inside).sum()
    unknown_share = float(unknown / total) if total else 0.0
    if unknown_share > product.checks.max_unknown_zone:
        raise OdanonError(
            f"{product.product} {day}: {unknown_share:.1%} of the trips lie outside the zoning, above"
            f" checks.max_unknown_zone = {product.checks.max_unknown_zone:.1%}; widen the zoning or the limit"
        )
    return merge_rows(parts), {"unknown_zone_share": unknown_share, "intrazonal_dropped": int(intrazonal)}


def _ends(trips: pd.DataFrame, zoning: Any) -> tuple[np.ndarray, np.ndarray]:
    """Tiles in which trips start and end; ready trips may name them."""
    if "origin" in trips:
        return trips["origin"].to_numpy(object), trips["destination"].to_numpy(object)
    # Most places end one trip and start the next: each is looked up once.
    ends = np.empty(2 * len(trips), np.complex128)
    ends.real = np.concatenate([trips["o_lat"], trips["d_lat"]])
    ends.imag = np.concatenate([trips["o_lon"], trips["d_lon"]])
    code, place = pd.factorize(ends, use_na_sentinel=False)
    tile = zoning.assign(place.real, place.imag)[code]
    return tile[: len(trips)], tile[len(trips) :]


def _ready_rows(lake: Lake, product: Product, day: date) -> pd.DataFrame:
    """OD rows as the source gave them."""
    buckets = sorted(lake.read(product.product, "traces", day).glob("bucket-*.parquet"))
    rows = pd.concat([read_frame(path) for path in buckets])
    if product.od.intrazonal == "drop":
        rows = rows[rows["origin"] != rows["destination"]]
    keys = [name for name in OD_COLUMNS[:-1] if name in rows]
    return rows.groupby(keys, sort=True).sum().reset_index()


def hierarchy(product: Product, lake: Lake, day: date, *, zoning: Any, hierarchy: Any) -> dict[str, Any]:
    """The value hierarchy over the tiles of the day."""
    rows = read_rows(lake, product, day)
    if rows.empty:
        raise OdanonError(f"{product.product} {day}: there are no trips, so there is nothing to publish")
    tree = hierarchy.build(zoning.tiles(_tile_labels(rows)))
    with lake.new(product.product, "hierarchy", day) as folder:
        to_parquet(tree, folder / "tree.parquet")
        return write_figures(
            folder, {"nodes": len(tree), "tiles": tree.n_leaves, "levels": int(np.ptp(tree.level)) + 1}
        )


def anonymized(product: Product, lake: Lake, day: date, *, anonymize: Any) -> dict[str, Any]:
    """One release per time bin; a bin with fewer than k people in all is suppressed whole."""
    tree = read_tree(lake, product, day)
    with lake.new(product.product, "anonymized", day) as folder:
        matrices = dict(day_matrices(lake, product, day, tree))
        write_releases(folder, release_window(anonymize, matrices, tree, tree), tree, tree)
        figures: dict[str, Any] = {"parameters": {"algorithm": product.anonymize.plugin, **parameters_of(anonymize)}}
        return write_figures(folder, figures)


def metrics(product: Product, lake: Lake, day: date) -> dict[str, Any]:
    """Every metric of the product for each time bin, and combined for the day."""
    tree = read_tree(lake, product, day)
    source = lake.read(product.product, "anonymized", day)
    releases = read_releases(source, tree, tree, lake.figures(product.product, "anonymized", day)["parameters"])
    matrices = dict(day_matrices(lake, product, day, tree))
    combined: dict[str, float] = {}
    with lake.new(product.product, "metrics", day) as folder:
        for metric in product.metrics:
            figures = pd.DataFrame(
                [metric.instance.evaluate(matrices[time_bin], release) for time_bin, release in releases.items()]
            )
            combined |= metric.instance.combine(figures)
            figures.insert(0, "time_bin", list(releases))
            write_parquet(figures, folder / f"{metric.plugin}.parquet")
        return write_figures(folder, combined)


def read_rows(lake: Lake, product: Product, day: date) -> pd.DataFrame:
    """The person-level OD rows of a day, before anonymisation."""
    return pd.read_parquet(lake.read(product.product, "od", day) / "person_rows.parquet")


def read_tree(lake: Lake, product: Product, day: date) -> Hierarchy:
    return from_parquet(lake.read(product.product, "hierarchy", day) / "tree.parquet")


def day_matrices(lake: Lake, product: Product, day: date, tree: Hierarchy) -> Iterator[tuple[datetime, ODMatrix]]:
    """The matrix of each time bin that has trips."""
    for time_bin, rows in read_rows(lake, product, day).groupby("time_bin", sort=True):
        yield pd.Timestamp(str(time_bin)).to_pydatetime(), ODMatrix.from_frame(rows, tree, tree)


def _tile_labels(rows: pd.DataFrame) -> np.ndarray:
    return np.union1d(rows["origin"].to_numpy(object), rows["destination"].to_numpy(object))
