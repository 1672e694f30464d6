"""`odanon check`: whether product files are right."""

from pathlib import Path
from typing import Annotated

import typer

from odanon.product import load_product

PANEL = ("Plugins", 3)


def check(
    files: Annotated[list[Path], typer.Argument(help="Product files.", exists=False)],
) -> None:
    """Check product files without running anything."""
    for path in files:
        product = load_product(path)
        typer.echo(f"{path}: {product.product} is fine ({product.title})")
