"""The code location that Dagster loads: the definitions of all product files."""

from odanon.product import load_products
from odanon_assets.build import build_definitions
from odanon_assets.lake import products_folder

defs = build_definitions(load_products(products_folder()))
