"""The stages of the chain in order: what each needs, and how a day's or window's stage is run. Nothing here knows about Dagster."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from odanon.metrics.declared import every_figure
from odanon.model.figure import Figure
from odanon.product import Product
from odanon.product.windows import is_longer
from odanon.risk.figures import FIGURES as RISK_FIGURES
from odanon_assets.chain.anonymized import anonymized
from odanon_assets.chain.hierarchy import FIGURES as HIERARCHY_FIGURES
from odanon_assets.chain.hierarchy import hierarchy
from odanon_assets.chain.metrics import metrics
from odanon_assets.chain.od import FIGURES as OD_FIGURES
from odanon_assets.chain.od import od
from odanon_assets.chain.published import FIGURES as PUBLISHED_FIGURES
from odanon_assets.chain.published import published
from odanon_assets.chain.staypoints import FIGURES as STAYPOINTS_FIGURES
from odanon_assets.chain.staypoints import staypoints
from odanon_assets.chain.traces import FIGURES as TRACES_FIGURES
from odanon_assets.chain.traces import traces
from odanon_assets.chain.trips import FIGURES as TRIPS_FIGURES
from odanon_assets.chain.trips import trips
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import DAY_STAGES, default_root
from odanon_assets.windows.gather import FIGURES as WINDOW_FIGURES
from odanon_assets.windows.gather import window

StageFunction = Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class Stage:
    """A stage: what it needs, what it runs and what it teaches."""

    name: str
    run: StageFunction
    upstream: tuple[str, ...]
    plugins: tuple[str, ...]
    kinds: tuple[str, ...]
    description: str
    figures: tuple[Figure, ...] = ()  # those of metrics are declared by the metrics


STAGES = (
    Stage(
        "traces",
        traces,
        (),
        ("source", "engine"),
        ("python", "parquet"),
        "Location points of a local day and the hours around it. Bad rows are quarantined and counted by reason, "
        "ids become pseudonyms under the day's key, points are sorted into buckets of people. Restricted.",
        TRACES_FIGURES,
    ),
    Stage(
        "staypoints",
        staypoints,
        ("traces",),
        ("staypoints", "engine"),
        ("python", "numba", "parquet"),
        "Where and when people stayed: runs of points that keep within a radius for a minimum time. Restricted.",
        STAYPOINTS_FIGURES,
    ),
    Stage(
        "trips",
        trips,
        ("staypoints",),
        ("engine",),
        ("python", "parquet"),
        "Movements between consecutive stays that depart on the day. Restricted.",
        TRIPS_FIGURES,
    ),
    Stage(
        "od",
        od,
        ("trips",),
        ("zoning",),
        ("python", "parquet"),
        "Trips per time bin, origin tile and destination tile, with the people behind them kept apart so that "
        "distinct people can be counted exactly. Restricted.",
        OD_FIGURES,
    ),
    Stage(
        "hierarchy",
        hierarchy,
        ("od",),
        ("zoning", "hierarchy"),
        ("python", "parquet"),
        "The tree that says which tiles may be joined into larger areas.",
        HIERARCHY_FIGURES,
    ),
    Stage(
        "anonymized",
        anonymized,
        ("od", "hierarchy"),
        ("anonymize",),
        ("python", "numba", "parquet"),
        "Flows between areas just large enough that at least k units stand behind each; what cannot be "
        "protected is suppressed within the budget. The verifier checks it before anything is published. Restricted.",
    ),
    Stage(
        "metrics",
        metrics,
        ("od", "hierarchy", "anonymized"),
        (),
        ("python",),
        "What the anonymisation cost (mean generalisation error, suppressed share, reconstruction loss) and what risk "
        "remains, by flow and by origin. Restricted; the rounded figures of the release are public.",
    ),
    Stage(
        "published",
        published,
        ("metrics", "anonymized", "hierarchy", "od"),
        (),
        (),  # those of the store that the product's file names
        "The public tables: flows with zones, a report and a manifest. A fresh process, which runs no "
        "code of other packages, verifies the release itself and refuses to publish what fails; a published day never changes.",
        PUBLISHED_FIGURES,
    ),
)


_GATHERED = Stage(
    "window",
    window,
    ("od",),
    (),
    ("python", "parquet"),
    "The rows of the days of a window, laid over each other in its time bins, so that a person counts once in the whole window. It "
    "waits until the days are there, or as many as the product's file asks for. Restricted.",
    WINDOW_FIGURES,
)
_N_DAILY = len(DAY_STAGES)
_OF_WINDOWS = (
    *STAGES[:_N_DAILY],
    _GATHERED,
    *(
        replace(stage, upstream=tuple("window" if name == "od" else name for name in stage.upstream))
        for stage in STAGES[_N_DAILY:]
    ),
)


def stages_of(product: Product) -> tuple[Stage, ...]:
    """The stages of a product; one with longer windows has a stage more, from which on partitions are windows."""
    return _OF_WINDOWS if is_longer(product) else STAGES


def day_stages(product: Product) -> tuple[Stage, ...]:
    """The stages whose partitions are days."""
    return stages_of(product)[:_N_DAILY] if is_longer(product) else STAGES


def window_stages(product: Product) -> tuple[Stage, ...]:
    """The stages whose partitions are windows longer than a day; none of a product that has no such windows."""
    return stages_of(product)[_N_DAILY:] if is_longer(product) else ()


def run_stage(
    product: Product, name: str, day: date, plugins: dict[str, Any], *, trial: bool = False
) -> dict[str, Any]:
    """Run one stage for one day or longer window, or its trial, on the default root."""
    (run,) = (stage.run for stage in stages_of(product) if stage.name == name)
    return run(product, Lake(default_root(), trial), day, **plugins)


def declared_figures(stage: str) -> dict[str, Figure]:
    """Every figure that a stage may tell, by name; metrics of strangers tell theirs in the stage of that name alone."""
    (figures,) = (each.figures for each in _OF_WINDOWS if each.name == stage)
    of_metrics = (*every_figure().values(), *RISK_FIGURES) if stage == "metrics" else ()
    return {figure.name: figure for figure in (*figures, *of_metrics)}
