"""Everything Dagster shows of a list of products."""

from dagster import Definitions

from odanon.product import Product
from odanon_assets.assets import product_assets
from odanon_assets.checks import product_checks
from odanon_assets.resources import product_resources
from odanon_assets.schedules import product_job, product_schedule


def build_definitions(products: list[Product]) -> Definitions:
    """Definitions of these products."""
    jobs = {product.slug: product_job(product) for product in products}
    schedules = [product_schedule(product, jobs[product.slug]) for product in products]
    return Definitions(
        assets=[made for product in products for made in product_assets(product)],
        asset_checks=[made for product in products for made in product_checks(product)],
        jobs=list(jobs.values()),
        schedules=[made for made in schedules if made is not None],
        resources={key: made for product in products for key, made in product_resources(product).items()},
    )
