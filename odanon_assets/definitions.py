"""The code location that Dagster loads: the definitions of all product files."""

from odanon.product import load_products, product_paths
from odanon_assets.lake.places import products_folder
from odanon_assets.platform.build import build_definitions

_loaded = load_products(product_paths(products_folder()))
defs = build_definitions(_loaded.products, _loaded.broken)
