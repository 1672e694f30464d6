"""Product files: the YAML contract of one data product (docs/product-files.md)."""

from odanon.product.choices import PluginChoice
from odanon.product.load import claimed_names, load_named, load_product, load_products, product_paths
from odanon.product.model import Product

__all__ = ["PluginChoice", "Product", "claimed_names", "load_named", "load_product", "load_products", "product_paths"]
