"""What several commands ask for: products by their names, and who answers for an act."""

from typing import Annotated

import typer

from odanon.client.place import store_at
from odanon.client.publications import Publications, PublishedProduct
from odanon.product import Product, load_named
from odanon.product.load import claimed_names
from odanon_assets.lake.places import default_root, products_folder
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Store

ProductName = Annotated[str, typer.Argument(help="Name of the product, as in its file in pipelines/.")]
ByName = Annotated[str, typer.Option("--by", help="Who answers for it; goes to the audit log.")]
Place = Annotated[
    str | None,
    typer.Option(
        "--at",
        help="Where it is published, without a product file: a data root, or the address of a database such as postgresql://reader@host/odanon.",
    ),
]
Reason = Annotated[str, typer.Option("--reason", help="Why; goes to the audit log.")]


def find_product(name: str) -> Product:
    """The product of this name, from the folder of product files; other files may be broken."""
    return load_named(products_folder(), name)


def store_of(product: str | None) -> Store:
    """The store that a product's file names; without a file, or a product, the embedded one."""
    ours = EmbeddedStore(default_root())
    if product is None or (not has_file(product) and ours.windows(product)):
        return ours
    return open_store(find_product(product))


def published(product: str, at: str | None) -> PublishedProduct:
    """What is published of a product, at a place or where its file says."""
    return Publications(store_of(product) if at is None else store_at(at))[product]


def has_file(product: str) -> bool:
    """Whether a product file of this name lies here, be it broken."""
    folder = products_folder()
    return any(folder.glob("*.y*ml")) and product in claimed_names(folder)
