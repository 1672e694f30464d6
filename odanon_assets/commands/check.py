"""`odanon check`: whether product files say what they may, and whether this machine has what they need."""

from pathlib import Path
from typing import Annotated

import typer

from odanon.errors import OdanonError
from odanon.product import load_products
from odanon_assets.status.environment import missing

PANEL = ("Plugins", 3)


def check(
    files: Annotated[list[Path], typer.Argument(help="Product files.", exists=False)],
    environment: Annotated[
        bool,
        typer.Option("--environment", help="Also look at variables, keys, the store, mail servers and source paths."),
    ] = False,
) -> None:
    """Check product files without running anything.

    For instance: `odanon check pipelines/my-city.yaml --environment`.
    """
    loaded = load_products(files)
    problems = list(loaded.broken.values())
    for product in loaded.products:
        found = list(missing(product)) if environment else []
        problems += [f"{product.product}: {sentence}" for sentence in found]
        if not found:
            status = "" if product.status == "live" else "; on trial, it publishes nothing"
            typer.echo(f"{product.product} is fine ({product.title}){status}")
    if problems:
        raise OdanonError("; ".join(problems))
