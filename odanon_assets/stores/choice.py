"""Which of the two stores a product publishes to: the embedded folder or PostGIS."""

from odanon.product import Product
from odanon_assets.lake.places import default_root
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Store
from odanon_assets.stores.postgis import PostgisStore


def open_store(product: Product) -> Store:
    """The store that a product's file names."""
    if product.publish.store == "postgis" and product.publish.url is not None:
        return PostgisStore(product.publish.url.get_secret_value())
    return EmbeddedStore(default_root())
