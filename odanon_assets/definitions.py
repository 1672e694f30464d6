"""The code location that Dagster loads: the definitions of all product files."""

from odanon.product import load_products
from odanon_assets.lake.places import products_folder
from odanon_assets.platform.build import build_definitions

defs = build_definitions(load_products(products_folder()))
