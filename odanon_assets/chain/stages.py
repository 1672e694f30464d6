"""The stages of the chain in order: what each needs, and how a day's stage is run. Nothing here knows about Dagster."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from odanon.product import Product
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root

StageFunction = Callable[..., dict[str, Any]]
RISK = "risk_"  # how the figures of the risk report begin among those of the metrics


@dataclass(frozen=True)
class Stage:
    """A stage: what it needs, what it runs and what it teaches."""

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
        "What the anonymisation cost (mean generalisation error, suppressed share, reconstruction loss) and what risk "
        "remains, by flow and by origin. Restricted; the rounded figures of the release are public.",
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
        from odanon_assets.chain import movement as module
    elif name == "metrics":
        from odanon_assets.chain import metrics as module  # type: ignore[no-redef]
    elif name == "published":
        from odanon_assets.chain import published as module  # type: ignore[no-redef]
    else:
        from odanon_assets.chain import matrix as module  # type: ignore[no-redef]
    return getattr(module, name)


def run_stage(product: Product, name: str, day: date, plugins: dict[str, Any]) -> dict[str, Any]:
    """Run one stage for one day on the default root."""
    extra = {}
    if name == "published":
        from odanon_assets.stores import open_store

        extra["store"] = open_store(product)
    return stage_function(name)(product, Lake(default_root()), day, **plugins, **extra)
