"""What readers will get of a day: the public tables, the report and the manifest, from the files of the day."""

from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from odanon.anonymizers.noise.cellkey import perturbed
from odanon.errors import OdanonError
from odanon.metrics.declared import OF_TABLES, every_figure
from odanon.model.figure import Figure, figures_from_json
from odanon.model.files.releases import read_releases
from odanon.model.files.tiles import read_tiles
from odanon.model.files.trees import from_parquet
from odanon.model.hierarchy import Hierarchy
from odanon.model.perturbation import TABLE
from odanon.model.promise import Promise
from odanon.model.release import REST, TOTAL
from odanon.model.tiles import Tiles
from odanon.model.zones import release_zones
from odanon.product import Product
from odanon.product.choices import Stranger
from odanon.reconstruct.areas import ground
from odanon.reconstruct.even import over_ground
from odanon.reconstruct.prior import no_tiles, read_weights
from odanon.reconstruct.readings import EVEN, FITTED, WEIGHTED, better, spread_column, zone_weights
from odanon.reconstruct.weights import weigh
from odanon.report.release import render_release
from odanon.risk.bands import persons_band, rounded
from odanon.risk.figures import FIGURES as RISKS
from odanon.risk.public import declarations, public_metrics
from odanon_assets.gate.evidence import SEGMENTS, Tables, method_of, time_bins
from odanon_assets.gate.facts import release_facts
from odanon_assets.lake.files import read_frame
from odanon_assets.lake.lake import Lake
from odanon_assets.stores.bundle import FLOW_COLUMNS, Bundle

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

# What plugins of other packages have told earlier stages, since none of them runs here.
DECLARED = "declared.json"  # beside the metrics: the figures that they declare
_INSTANT = "datetime64[us, UTC]"
TILES = "tiles.parquet"  # beside the hierarchy: where the tiles of their zonings are


def make_bundle(product: Product, lake: Lake, day: date) -> Bundle:
    """The public tables, report and manifest of a day; the same bytes for the same input."""
    name, facts = product.product, release_facts(product, lake, day)
    made = lake.figures(name, "anonymized", day)
    release, parameters = facts["release_id"], made["parameters"]
    tree = from_parquet(lake.read(name, "hierarchy", day) / "tree.parquet")
    flows = public_flows(product, lake, day, release, parameters)
    times = Tables.of_day(product, lake, day).times
    releases = read_releases(lake.read(name, "anonymized", day), tree, tree, parameters, times)
    tiles = _tiles(product, lake, day, tree)
    zones = release_zones(releases.values(), tree, tiles)
    used = zones["zone_id"].isin(flows["origin_zone"]) | zones["zone_id"].isin(flows["destination_zone"])
    zones = zones[used].reset_index(drop=True)  # an area that no flow uses would tell of what was left out
    listed = _public_tiles(product, zones, tree, tiles)
    whole = zone_weights(listed, pd.Series(ground(zones.geometry.to_numpy()) / 1e6, zones["zone_id"]))
    weighted = weigh(flows, zones, tree, whole if len(listed) else None, times)
    spreads = {spread_column(reading): weighted.spread.get(reading, np.nan) for reading in WEIGHTED}
    flows = flows.assign(spread=over_ground(flows, zones, tree, times), **spreads)[list(FLOW_COLUMNS)]
    figures = lake.figures(name, "metrics", day)
    if "left_out_people" not in figures:
        raise OdanonError(f"{name} {day}: an earlier version measured this day; run its stage metrics again")
    known = public_figures(lake.read(name, "metrics", day))
    metrics = public_metrics(figures, flows, parameters["k"], known, int(figures["left_out_people"]))
    if "perturb" in facts:
        metrics["noise_variance"] = TABLE.variance
        if "gbar" in metrics:
            metrics["gbar"] = _tiles_per_trip(flows, zones)
    manifest = {
        **facts,
        "title": product.title,
        "owner": product.owner,
        "licence": product.publish.licence,
        "promise": Promise.of(parameters).told(budgeted=method_of(made)["budgeted"]),
        "metrics": metrics,
        "figures": declarations(metrics, (*known, *OF_TABLES)),
        "reading": better(metrics) if FITTED in weighted.spread else EVEN,
        "readings": [EVEN, *weighted.spread],
        "input_counts": figures["input_counts"],
        "verifier": "passed",
        "auditor": "passed",
        "versions": {package: version(package) for package in ("odanon", "numpy", "pandas", "h3")},
    }
    report = render_release(flows, zones, manifest)
    return Bundle(name, day, release, flows, zones, report, manifest, weighted.table, listed)


def _public_tiles(product: Product, zones: pd.DataFrame, tree: Hierarchy, tiles: Tiles) -> "GeoDataFrame":
    """The public weights of the tiles in published zones; none where the product gives none, or where areas are boxes."""
    if product.zoning.weights is None or not zones["zone_id"].isin(tree.label).all():
        return no_tiles()
    return read_weights(product.zoning.weights).drawn(zones, tree, tiles)


def _tiles(product: Product, lake: Lake, day: date, tree: Hierarchy) -> Tiles:
    """The tiles of a tree: our own zonings say where they are, those of other packages have said it to the stage hierarchy."""
    if isinstance(product.zoning.instance, Stranger):
        return read_tiles(lake.read(product.product, "hierarchy", day) / TILES)
    return product.zoning.instance.tiles(tree.label[tree.tiles])


def public_flows(product: Product, lake: Lake, day: date, release: str, parameters: dict[str, Any]) -> pd.DataFrame:
    """The published schema: people only as bands (PRIVACY rule 15).

    Of a release about the population, the trips are the rounded estimate of those that the people behind a flow stand for. Where
    the product asks for it, numbers carry noise from here on; the tables of the working area are true.
    """
    folder = lake.read(product.product, "anonymized", day)
    flows = _shown_flows(folder)
    if product.publish.perturb is not None:
        whole, assignment = (read_frame(folder / name) for name in ("flows.parquet", "assignment.parquet"))
        flows = perturbed(
            flows, pd.read_parquet(Tables.of_day(product, lake, day).rows), whole, assignment, parameters["k"]
        )
    estimated = parameters["unit"] == "population"
    start, end = _times(product, lake, day, flows)
    return pd.DataFrame(
        {
            "product": product.product,
            "window_start": day,
            "time_start": start,
            "time_end": end,
            "segment": flows["segment"],
            "origin_zone": flows["origin"],
            "destination_zone": flows["destination"],
            "kind": flows["kind"],
            "trips": flows["weight"].astype("int64") if estimated else flows["trips"],
            "persons_band": pd.Series(persons_band(flows["persons"], parameters["k"])).astype("str"),
            "release_id": release,
        }
    )


def _times(product: Product, lake: Lake, day: date, flows: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """When the time of each flow starts and ends: its bin's, or its interval's."""
    tables = Tables.of_day(product, lake, day)
    if (times := tables.times) is not None:
        start, end = times.bounds(flows["time"])
        return pd.Series(start, dtype=_INSTANT), pd.Series(end, dtype=_INSTANT)
    ends = {pd.Timestamp(first): pd.Timestamp(last) for first, last, *_ in time_bins(product, tables, day)}
    # Rows of bins that the product's file does not have any more end at once; the gate says so, and they go no further.
    end = flows["time_bin"].map(ends).astype(_INSTANT)
    return flows["time_bin"], end.fillna(flows["time_bin"] + pd.Timedelta(microseconds=1))


def _shown_flows(folder: Path) -> pd.DataFrame:
    """Flows of everybody, or by segment where that is safe; each is shown in one of the two ways (PRIVACY rule 6)."""
    flows = read_frame(folder / "flows.parquet").assign(segment=TOTAL)
    if not (folder / SEGMENTS).is_file():
        return flows
    split, keys = read_frame(folder / SEGMENTS), ["time_bin", "origin", "destination"]
    places = pd.MultiIndex.from_frame(flows[keys]).get_indexer(pd.MultiIndex.from_frame(split[keys]))
    whole = flows.assign(place=range(len(flows))).drop(index=flows.index[places])
    shown = pd.concat([whole, split.assign(place=places)], ignore_index=True)
    return shown.sort_values(["place", "segment"], ignore_index=True)


def _tiles_per_trip(flows: pd.DataFrame, zones: pd.DataFrame) -> float:
    """The figure gbar as readers work it out: that of the true numbers would undo the noise of a few flows."""
    flows, tiles = flows[flows["kind"] != REST], zones.set_index("zone_id")["n_tiles"]
    size = flows["origin_zone"].map(tiles) + flows["destination_zone"].map(tiles)
    return rounded(float((flows["trips"] * size).sum() / flows["trips"].sum()))


def public_figures(folder: Path) -> list[Figure]:
    """Every figure of metrics and risks that may be made public; those of other packages as they were declared to the stage."""
    ours = [*every_figure().values(), *RISKS]
    taken = {name for figure in (*ours, *OF_TABLES) for name in (figure.name, figure.public)}
    path = folder / DECLARED
    others = figures_from_json(path.read_text()) if path.is_file() else []
    known = [*ours, *(figure for figure in others if not {figure.name, figure.public} & taken)]
    return [figure for figure in known if figure.public is not None]
