"""`odanon schema` and `odanon check`: what a product file may say, and whether it does."""

from pathlib import Path
from typing import Annotated

import typer

from odanon.errors import OdanonError
from odanon.product import load_products
from odanon.product.schema import product_schema

PANEL = ("Plugins", 2)


def schema(
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of the terminal.")] = None,
) -> None:
    """Print the JSON Schema of product files, for editors that complete and check YAML."""
    text = product_schema()
    if out is None:
        typer.echo(text, nl=False)
    else:
        out.write_text(text)


def check(
    files: Annotated[list[Path], typer.Argument(help="Product files.", exists=False)],
) -> None:
    """Check product files without running anything."""
    loaded = load_products(files)
    for product in loaded.products:
        status = "" if product.status == "live" else "; on trial, it publishes nothing"
        typer.echo(f"{product.product} is fine ({product.title}){status}")
    if loaded.broken:
        raise OdanonError("; ".join(loaded.broken.values()))
