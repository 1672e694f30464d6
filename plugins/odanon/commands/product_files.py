"""`odanon schema`: what a product file may say."""

from pathlib import Path
from typing import Annotated

import typer

from odanon.product.schema import product_schema

PANEL = ("Plugins", 2)


def schema(
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of the terminal.")] = None,
) -> None:
    """Print the JSON Schema of product files, for editors that complete and check YAML.

    For instance: `odanon schema --out pipelines/product.schema.json`.
    """
    text = product_schema()
    if out is None:
        typer.echo(text, nl=False)
    else:
        out.write_text(text)
