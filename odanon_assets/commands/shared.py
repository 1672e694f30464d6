"""What several commands ask for: products by their names, and who answers for an act."""

from typing import Annotated

import typer

from odanon.product import Product, load_named
from odanon_assets.lake.places import default_root, products_folder
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Store

ProductName = Annotated[str, typer.Argument(help="Name of the product, as in its file in pipelines/.")]
ByName = Annotated[str, typer.Option("--by", help="Who answers for it; goes to the audit log.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; goes to the audit log.")]


def find_product(name: str) -> Product:
    """The product of this name, from the folder of product files; other files may be broken."""
    return load_named(products_folder(), name)


def store_of(product: str | None) -> Store:
    """The store that a product's file names; without a product, the embedded one."""
    return EmbeddedStore(default_root()) if product is None else open_store(find_product(product))
