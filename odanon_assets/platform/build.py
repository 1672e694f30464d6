"""Everything Dagster shows of a list of products."""

import re
import warnings
from collections.abc import Mapping
from pathlib import Path

from dagster import AssetSpec, BetaWarning, Definitions, PreviewWarning, get_dagster_logger, in_process_executor

from odanon.errors import OdanonError
from odanon.product import Product
from odanon.product.windows import is_longer
from odanon_assets.platform.assets import product_assets, window_assets
from odanon_assets.platform.derived_assets import demand_assets, demand_job, month_asset, month_job, segment_asset
from odanon_assets.platform.resources import product_resources
from odanon_assets.platform.schedules import product_job, product_schedule, window_job
from odanon_assets.platform.sensors import (
    alert_sensor,
    arrival_sensor,
    closing_sensor,
    late_sensor,
    lost_run_sensor,
    month_sensor,
)


def build_definitions(products: list[Product], broken: Mapping[Path, str] | None = None) -> Definitions:
    """Definitions of these products; files that make none are told in the log and shown, with the reason."""
    broken = broken or {}
    if broken and not products:
        raise OdanonError("; ".join(broken.values()))
    for sentence in broken.values():
        get_dagster_logger().error("a product file cannot be used, and its days are not run: %s", sentence)
    jobs = {product.slug: product_job(product) for product in products}
    longer = {product.slug: (window_job if is_longer(product) else month_job)(product) for product in products}
    closings = [closing_sensor(product, longer[product.slug]) for product in products if is_longer(product)]
    schedules = [product_schedule(product, jobs[product.slug]) for product in products]
    arrivals = [made(product, jobs[product.slug]) for product in products for made in (arrival_sensor, late_sensor)]
    with warnings.catch_warnings():
        # Partitioned checks (without which the days of a run could not be told apart) are marked as a preview, and
        # months that begin before a product's first day as beta.
        for category in (PreviewWarning, BetaWarning):
            warnings.simplefilter("ignore", category)
        # What is longer than a day is made from days: in its own window, or as a sum of published days.
        assets = [
            made(product)
            for product in products
            for made in (product_assets, window_assets if is_longer(product) else month_asset)
        ]
        assets += [made for product in products for made in demand_assets(product)]
    segments = [segment_asset(product) for product in products if product.segmented]
    return Definitions(
        assets=[*assets, *segments, *(_shown(path, sentence) for path, sentence in broken.items())],
        jobs=[*jobs.values(), *longer.values(), *map(demand_job, (each for each in products if each.demand))],
        schedules=[made for made in schedules if made is not None],
        sensors=[
            *(made for made in arrivals if made is not None),
            *closings,
            alert_sensor(products),
            lost_run_sensor(),
            month_sensor(),
        ],
        # One process a run, backfills included: no second start-up, and a killed process is a lost run, which is retried.
        executor=in_process_executor,
        resources={key: made for product in products for key, made in product_resources(product).items()},
    )


def _shown(path: Path, sentence: str) -> AssetSpec:
    """A product file that cannot be used, as an asset that nobody can run."""
    key = re.sub(r"[^A-Za-z0-9_]", "_", path.stem)
    return AssetSpec(["broken", key], group_name="broken", description=f"This product file cannot be used: {sentence}")
