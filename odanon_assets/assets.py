"""The assets of a product: one per stage, each a thin wrapper around its stage function."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from dagster import AssetExecutionContext, AssetKey, AssetsDefinition, MaterializeResult, MetadataValue, asset

from odanon.product import Product
from odanon_assets.lake import Lake, default_root
from odanon_assets.partitions import daily
from odanon_assets.progress import announce
from odanon_assets.resources import resource_key

StageFunction = Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class Stage:
    """How a stage appears in Dagster: what it needs, what it runs and what it teaches."""

    name: str
    upstream: tuple[str, ...]
    plugins: tuple[str, ...]
    kinds: tuple[str, ...]
    description: str


STAGES = (
    Stage(
        "traces",
        (),
        ("source", "engine"),
        ("python", "parquet"),
        "Location points of a local day and the hours around it. Bad rows are quarantined and counted by reason, "
        "ids become pseudonyms under the day's key, points are sorted into buckets of people. Restricted.",
    ),
    Stage(
        "staypoints",
        ("traces",),
        ("staypoints", "engine"),
        ("python", "numba", "parquet"),
        "Where and when people stayed: runs of points that keep within a radius for a minimum time. Restricted.",
    ),
    Stage(
        "trips",
        ("staypoints",),
        ("engine",),
        ("python", "parquet"),
        "Movements between consecutive stays that depart on the day. Restricted.",
    ),
    Stage(
        "od",
        ("trips",),
        ("zoning",),
        ("python", "parquet"),
        "Trips per time bin, origin tile and destination tile, with the people behind them kept apart so that "
        "distinct people can be counted exactly. Restricted.",
    ),
    Stage(
        "hierarchy",
        ("od",),
        ("zoning", "hierarchy"),
        ("python", "parquet"),
        "The tree that says which tiles may be joined into larger areas.",
    ),
    Stage(
        "anonymized",
        ("od", "hierarchy"),
        ("anonymize",),
        ("python", "numba", "parquet"),
        "Flows between areas just large enough that at least k units stand behind each; what cannot be "
        "protected is suppressed within the budget. The verifier checks it before anything is published. Restricted.",
    ),
    Stage(
        "metrics",
        ("od", "hierarchy", "anonymized"),
        (),
        ("python",),
        "What the anonymisation cost: mean generalisation error, suppressed share, reconstruction loss. Restricted; "
        "the rounded figures of the release are public.",
    ),
    Stage(
        "published",
        ("metrics", "anonymized", "hierarchy", "od"),
        ("zoning",),
        ("parquet", "duckdb"),
        "The public tables: flows with zones, a report and a manifest. The stage verifies the release itself and "
        "refuses to publish what fails; a published day never changes.",
    ),
)


def stage_function(name: str) -> StageFunction:
    """The function of a stage; imported when run, since numba and friends are slow to import."""
    if name in ("traces", "staypoints", "trips"):
        from odanon_assets.stages import movement as module
    elif name == "published":
        from odanon_assets.stages import publication as module  # type: ignore[no-redef]
    else:
        from odanon_assets.stages import matrix as module  # type: ignore[no-redef]
    return getattr(module, name)


def product_assets(product: Product) -> list[AssetsDefinition]:
    """All assets of a product."""
    return [_stage_asset(product, stage) for stage in STAGES]


def _stage_asset(product: Product, stage: Stage) -> AssetsDefinition:
    @asset(
        key=AssetKey([product.slug, stage.name]),
        deps=[AssetKey([product.slug, name]) for name in stage.upstream],
        partitions_def=daily(product),
        group_name=product.slug,
        owners=[product.owner if "@" in product.owner else f"team:{product.owner}"],
        kinds=set(stage.kinds),
        tags={"product": product.product, "access": "public" if stage.name == "published" else "restricted"},
        description=f"{stage.description}\n\nProduct: {product.title}.",
        required_resource_keys={resource_key(product, name) for name in stage.plugins},
    )
    def run(context: AssetExecutionContext) -> MaterializeResult:
        plugins = {name: getattr(context.resources, resource_key(product, name)).plugin() for name in stage.plugins}
        for key in sorted(context.partition_keys):
            started = time.perf_counter()
            announce(product.product, stage.name, key)
            figures = run_stage(product, stage.name, date.fromisoformat(key), plugins)
            context.add_asset_metadata(_metadata(figures, time.perf_counter() - started), partition_key=key)
        return MaterializeResult()

    return run


def run_stage(product: Product, name: str, day: date, plugins: dict[str, Any]) -> dict[str, Any]:
    """Run one stage for one day on the default root."""
    extra = {}
    if name == "published":
        from odanon_assets.stores import open_store

        extra["store"] = open_store(product)
    return stage_function(name)(product, Lake(default_root()), day, **plugins, **extra)


def _metadata(figures: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Numbers and short texts of a stage for the UI; never rows."""
    shown: dict[str, Any] = {key: value for key, value in figures.items() if isinstance(value, int | float | str)}
    if "folder" in figures:
        shown["folder"] = MetadataValue.path(figures["folder"])
        shown["report"] = MetadataValue.path(f"{figures['folder']}/report.html")
    nested = {key: MetadataValue.json(value) for key, value in figures.items() if isinstance(value, dict)}
    return {**shown, **nested, "seconds": round(seconds, 3)}
