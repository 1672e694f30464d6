"""Where releases are published: one interface, the embedded folder and PostGIS behind it."""

from typing import TYPE_CHECKING

from odanon_assets.lake.places import default_root

if TYPE_CHECKING:
    from odanon.product import Product
    from odanon_assets.stores.interface import Store


def open_store(product: "Product") -> "Store":
    """The store that a product's file names."""
    if product.publish.store == "postgis" and product.publish.url is not None:
        from odanon_assets.stores.postgis import PostgisStore

        return PostgisStore(product.publish.url.get_secret_value())
    from odanon_assets.stores.embedded import EmbeddedStore

    return EmbeddedStore(default_root())
