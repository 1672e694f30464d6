"""Product files: the YAML contract of one data product (ARCHITECTURE, A product file)."""

from odanon.product.choices import PluginChoice
from odanon.product.load import load_product, load_products
from odanon.product.model import Product

__all__ = ["PluginChoice", "Product", "load_product", "load_products"]
