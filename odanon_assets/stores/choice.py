"""Which store a product publishes to: a plugin of the group `odanon.stores` that its file names."""

from pathlib import Path
from typing import ClassVar

from pydantic import SecretStr

from odanon import registry
from odanon.plugin import parameter, plugin
from odanon.product import Product
from odanon_assets.lake.places import default_root
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Store
from odanon_assets.stores.postgis import PostgisStore


@plugin
class Embedded:
    """A folder of Parquet files under the data root, which DuckDB queries: no server."""

    kinds: ClassVar[tuple[str, ...]] = ("parquet", "duckdb")

    def open(self, root: Path) -> Store:
        return EmbeddedStore(root)


@plugin
class Postgis:
    """PostGIS: tables with roles, SQL functions and indexes."""

    kinds: ClassVar[tuple[str, ...]] = ("postgresql", "postgis")
    url: SecretStr = parameter(..., "database URL, as ${VARIABLE}")

    def open(self, root: Path) -> Store:
        return PostgisStore(self.url.get_secret_value())


def open_store(product: Product) -> Store:
    """The store that a product's file names."""
    found = registry.find("store", product.publish.store)
    given = {"url": product.publish.url} if "url" in found.schema.get("properties", {}) else {}
    return found.create(given).open(default_root())


def store_kinds(product: Product) -> tuple[str, ...]:
    """What the platform's UI calls the store of a product, as its plugin says."""
    return tuple(getattr(registry.find("store", product.publish.store).cls, "kinds", ()))
