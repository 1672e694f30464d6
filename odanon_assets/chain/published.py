"""The last stage: assemble the public tables, verify and audit once more, publish."""

from collections.abc import Mapping
from contextlib import nullcontext
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from odanon.metrics.measure import every_figure
from odanon.model.figure import Figure
from odanon.model.files.releases import read_releases
from odanon.model.promise import Promise
from odanon.model.release import TOTAL
from odanon.model.zones import release_zones
from odanon.product import Product
from odanon.protocols import Zoning
from odanon.report.release import render_release
from odanon.risk.bands import persons_band, rounded, rounded_down
from odanon.risk.figures import FIGURES as RISKS
from odanon_assets.chain.hierarchy import read_tree
from odanon_assets.derived.folders import Derived
from odanon_assets.gate.decision import let_pass
from odanon_assets.gate.evidence import SEGMENTS, confirm
from odanon_assets.gate.facts import release_facts
from odanon_assets.lake.files import read_frame
from odanon_assets.lake.lake import Lake, write_figures
from odanon_assets.stores.bundle import FLOW_COLUMNS, Bundle
from odanon_assets.stores.interface import Act, Store, data_locks

FIGURES = (
    Figure("flows", "flows", "rows of the public table", kind="size"),
    Figure("zones", "zones", "areas of the public table", kind="size"),
)
# Figures of the public tables themselves; those of the metrics are declared by them.
_OF_TABLES = (
    Figure("trips_published", "trips published", "counted in some published flow", kind="count", headline=True),
    Figure("persons_min_band", "people, at the fewest", "behind the smallest published flow", headline=True),
)


def published(
    product: Product, lake: Lake, day: date, *, zoning: Zoning, store: Store, act: Act | None = None
) -> dict[str, Any]:
    """Refuse what the verifier or the auditor refuses, whoever launched this; else publish the day's release.

    The day is held while its bundle is built from the tables, verified and written, so that what is verified is what is
    published (PRIVACY rule 17); the store holds the window's lock meanwhile and nobody else can publish anything of the
    same data and time. An `act` replaces a release that the window already shows, and withdraws what was made from it.
    """
    derived = Derived(lake.root)

    def gate() -> None:
        let_pass(product, lake, day, store, bundle)
        if act is not None:
            derived.withdraw(product.product, day)

    with lake.holding(product.product, day), lake.locked(data_locks(release_facts(product, lake, day))):
        bundle = make_bundle(product, lake, day, zoning)
        with nullcontext() if act is None else derived.locked():
            fresh = store.publish(bundle, gate, act)
        confirm(lake, bundle.manifest)
    with lake.new(product.product, "published", day) as receipt:
        figures = {
            "release_id": bundle.release_id,
            "fresh": fresh,
            "flows": len(bundle.flows),
            "zones": len(bundle.zones),
        }
        if (folder := store.window_folder(product.product, day)) is not None:
            figures["folder"] = str(folder)
        return write_figures(receipt, figures)


def make_bundle(product: Product, lake: Lake, day: date, zoning: Zoning) -> Bundle:
    """The public tables, report and manifest of a day; the same bytes for the same input."""
    name, facts = product.product, release_facts(product, lake, day)
    release, parameters = facts["release_id"], lake.figures(name, "anonymized", day)["parameters"]
    tree = read_tree(lake, product, day)
    flows = public_flows(product, lake, day, release, parameters)
    releases = read_releases(lake.read(name, "anonymized", day), tree, tree, parameters)
    zones = release_zones(releases.values(), tree, zoning.tiles(tree.label[tree.tiles]))
    used = zones["zone_id"].isin(flows["origin_zone"]) | zones["zone_id"].isin(flows["destination_zone"])
    zones = zones[used].reset_index(drop=True)  # an area that no flow uses would tell of what was left out
    metrics = _public_metrics(lake.figures(name, "metrics", day), flows, parameters["k"])
    manifest = {
        **facts,
        "title": product.title,
        "owner": product.owner,
        "licence": product.publish.licence,
        "promise": Promise.of(parameters).sentence,
        "metrics": metrics,
        "figures": _declarations(metrics),
        "input_counts": _input_counts(product, lake, day, parameters["k"]),
        "verifier": "passed",
        "auditor": "passed",
        "versions": {package: version(package) for package in ("odanon", "numpy", "pandas", "h3")},
    }
    report = render_release(flows, zones, manifest)
    return Bundle(name, day, release, flows, zones, report, manifest)


def public_flows(product: Product, lake: Lake, day: date, release: str, parameters: dict[str, Any]) -> pd.DataFrame:
    """The published schema: people only as bands (PRIVACY rule 15).

    Of a release about the population, the trips are those that the people behind a flow stand for.
    """
    flows = _shown_flows(lake.read(product.product, "anonymized", day))
    estimated = parameters["unit"] == "population"
    public = pd.DataFrame(
        {
            "product": product.product,
            "window_start": day,
            "time_bin": flows["time_bin"],
            "segment": flows["segment"],
            "origin_zone": flows["origin"],
            "destination_zone": flows["destination"],
            "trips": flows["weight"].round().astype("int64") if estimated else flows["trips"],
            "persons_band": pd.Series(persons_band(flows["persons"], parameters["k"])).astype("str"),
            "release_id": release,
        }
    )
    return public[list(FLOW_COLUMNS)]


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


def _public_metrics(figures: dict[str, float], flows: pd.DataFrame, k: int) -> dict[str, Any]:
    """The figures that are declared public, coarsely; fewer than k suppressed trips look like none in all of them.

    What tells how much was suppressed is not told of fewer than k flows, which would show which of their tiles were visited.
    """
    few = figures["S_share"] if figures.get("S", k) < k else None
    public: dict[str, Any] = {}
    for figure in public_figures():
        value = figures.get(figure.name)
        if (
            figure.public is None
            or value is None
            or value != value
            or (few is not None and figure.tells_suppressed == "yes")
        ):
            continue
        value = max(value - few, 0.0) if few is not None and figure.tells_suppressed == "summand" else value
        public[figure.public] = rounded(value)
    if len(flows) < k:
        public.pop("reconstruction_loss", None)
    public["flows"] = rounded(len(flows))  # those shown: a flow by segment is several
    public["trips_published"] = rounded(flows["trips"].sum())  # as shown: capped, or estimated
    public["persons_min_band"] = _smallest_band(flows["persons_band"])
    return public


def public_figures() -> tuple[Figure, ...]:
    """Every figure of metrics and risks that may be made public."""
    return tuple(figure for figure in (*every_figure().values(), *RISKS) if figure.public is not None)


def _declarations(metrics: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What the figures of a manifest mean, in the manifest itself."""
    named = {figure.public or figure.name: figure for figure in (*public_figures(), *_OF_TABLES)}
    return {name: named[name].declaration for name in metrics if name in named}


def _smallest_band(bands: pd.Series) -> str:
    return min(bands.dropna().unique(), key=lambda band: int(band.rstrip("+").split("-")[0]), default="")


def _input_counts(product: Product, lake: Lake, day: date, k: int) -> dict[str, int]:
    """How much went in, rounded down so that what was suppressed cannot be told to be between 1 and k - 1."""
    wanted = {
        "points": "traces",
        "people": "traces",
        "staypoints": "staypoints",
        "trips": "trips",
        "od_pairs": "od",
    }
    return {key: rounded_down(lake.figures(product.product, stage, day)[key], k) for key, stage in wanted.items()}
