"""`odanon prometheus`: figures of all products for those who watch the installation."""

from pathlib import Path
from typing import Annotated

import typer

from odanon.product import load_products, product_paths
from odanon_assets.lake.files import write_text
from odanon_assets.lake.places import products_folder
from odanon_assets.platform.launch import open_instance
from odanon_assets.platform.prometheus import broken_samples, exposition, product_samples

PANEL = ("Run and watch", 4)


def prometheus(
    out: Annotated[
        Path | None, typer.Option(help="Write to this file in one step, for node_exporter's textfile collector.")
    ] = None,
) -> None:
    """Print figures of all products in Prometheus' text format: releases, failed days, checks, times, memory.

    For instance: `odanon prometheus --out /var/lib/node_exporter/odanon.prom`.
    """
    with open_instance() as instance:
        loaded = load_products(product_paths(products_folder()))
        told = [sample for product in loaded.products for sample in product_samples(product, instance)]
        text = exposition([*told, *broken_samples(loaded.broken)])
    for sentence in loaded.broken.values():
        typer.secho(f"odanon: left out: {sentence}", fg="red", err=True)
    if out is None:
        print(text, end="")
    else:
        write_text(out, text)
