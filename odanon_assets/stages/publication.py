"""The last stage: verify once more, assemble the public tables, publish."""

from datetime import date
from importlib.metadata import version
from typing import Any

import pandas as pd

from odanon.anonymizers.files import read_releases
from odanon.anonymizers.zones import release_zones
from odanon.errors import OdanonError
from odanon.privacy.bands import persons_band, rounded
from odanon.privacy.promise import promise
from odanon.product import Product
from odanon.report.release import render_release
from odanon_assets.files import sha256
from odanon_assets.gate import verify_day
from odanon_assets.lake import Lake, write_figures
from odanon_assets.stages.matrix import read_tree
from odanon_assets.stores.bundle import FLOW_COLUMNS, Bundle, release_id
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Act, Store

# Metrics that are made public, rounded, and the plain words they are published under.
_PUBLIC_METRICS = {
    "flows": "flows",
    "origin_areas": "origin_areas",
    "destination_areas": "destination_areas",
    "published": "trips_published",
    "S_share": "suppressed_share",
    "Gbar": "gbar",
    "E": "reconstruction_loss",
}


def published(
    product: Product, lake: Lake, day: date, *, zoning: Any, store: Store, act: Act | None = None
) -> dict[str, Any]:
    """Refuse what the verifier refuses, whoever launched this; else publish the day's release.

    The verifier is asked while the store holds the window's lock, right before the release is written. An `act`
    replaces a release that the window already shows.
    """
    bundle = make_bundle(product, lake, day, zoning)
    fresh = store.publish(bundle, lambda: _refuse_unless_verified(product, lake, day), act)
    with lake.new(product.product, "published", day) as receipt:
        figures = {
            "release_id": bundle.release_id,
            "fresh": fresh,
            "flows": len(bundle.flows),
            "zones": len(bundle.zones),
        }
        if isinstance(store, EmbeddedStore):
            figures["folder"] = str(store.current(product.product, day))
        return write_figures(receipt, figures)


def _refuse_unless_verified(product: Product, lake: Lake, day: date) -> None:
    findings = verify_day(product, lake, day)
    if findings:
        raise OdanonError(
            f"{product.product} {day} is not published: {'; '.join(map(str, findings))};"
            " the earlier release, if any, stays"
        )


def make_bundle(product: Product, lake: Lake, day: date, zoning: Any) -> Bundle:
    """The public tables, report and manifest of a day; the same bytes for the same input."""
    name = product.product
    parameters = lake.figures(name, "anonymized", day)["parameters"]
    input_hash = sha256(lake.read(name, "od", day) / "person_rows.parquet")
    identity = {"input": input_hash, "parameters": parameters, "hierarchy": product.hierarchy.model_dump()}
    release = release_id(name, day, {**identity, "odanon": version("odanon")})
    tree = read_tree(lake, product, day)
    flows = public_flows(product, lake, day, release, parameters["k"])
    releases = read_releases(lake.read(name, "anonymized", day), tree, tree, parameters)
    zones = release_zones(releases.values(), tree, zoning.tiles(tree.label[tree.tiles]))
    manifest = {
        "release_id": release,
        "product": name,
        "title": product.title,
        "owner": product.owner,
        "window_start": day.isoformat(),
        "timezone": product.timezone,
        "licence": product.publish.licence,
        "promise": promise(parameters),
        "parameters": {
            **parameters,
            "zoning": product.zoning.model_dump(),
            "hierarchy": product.hierarchy.model_dump(),
        },
        "metrics": _public_metrics(lake.figures(name, "metrics", day), flows),
        "input_counts": _input_counts(product, lake, day),
        "input_sha256": input_hash,
        "verifier": "passed",
        "versions": {package: version(package) for package in ("odanon", "numpy", "pandas", "h3")},
    }
    report = render_release(flows, zones, manifest)
    return Bundle(name, day, release, flows, zones, report, manifest)


def public_flows(product: Product, lake: Lake, day: date, release: str, k: int) -> pd.DataFrame:
    """The published schema: people only as bands (PRIVACY rule 15)."""
    flows = pd.read_parquet(lake.read(product.product, "anonymized", day) / "flows.parquet")
    public = pd.DataFrame(
        {
            "product": product.product,
            "window_start": day,
            "time_bin": flows["time_bin"],
            "segment": "all",
            "origin_zone": flows["origin"],
            "destination_zone": flows["destination"],
            "trips": flows["trips"],
            "persons_band": pd.Series(persons_band(flows["persons"], k)).astype("str"),
            "release_id": release,
        }
    )
    return public[list(FLOW_COLUMNS)]


def _public_metrics(figures: dict[str, float], flows: pd.DataFrame) -> dict[str, Any]:
    public: dict[str, Any] = {word: rounded(figures[name]) for name, word in _PUBLIC_METRICS.items() if name in figures}
    public["persons_min_band"] = _smallest_band(flows["persons_band"])
    return public


def _smallest_band(bands: pd.Series) -> str:
    return min(bands.dropna().unique(), key=lambda band: int(band.rstrip("+").split("-")[0]), default="")


def _input_counts(product: Product, lake: Lake, day: date) -> dict[str, float]:
    wanted = {
        "points": "traces",
        "people": "traces",
        "staypoints": "staypoints",
        "trips": "trips",
        "od_pairs": "od",
    }
    return {key: rounded(lake.figures(product.product, stage, day)[key], 2) for key, stage in wanted.items()}
