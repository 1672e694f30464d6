"""`odanon integrity`: whether a release is still what was published."""

from pathlib import Path
from typing import Annotated

import typer

from odanon.errors import OdanonError
from odanon.product import claimed_names
from odanon_assets.commands.shared import store_of
from odanon_assets.lake.places import products_folder
from odanon_assets.stores.seal import folder_problems, refuse_unsealed

PANEL = ("Stores", 5)


def integrity(
    release: Annotated[str, typer.Argument(help="Folder of a release, or the id of one in a store.")],
) -> None:
    """Compare a release with its sealed manifest; a folder needs no store and no network.

    For instance: `odanon integrity odanon_data/published/my-city/releases/RELEASE`.
    """
    if Path(release).is_dir():
        refuse_unsealed(Path(release))
        problems = folder_problems(Path(release))
    else:
        problems = store_of(_known_product(release)).problems(release)
    if problems:
        raise OdanonError(f"the release is not what was published: {'; '.join(problems)}")
    typer.echo("the release is what was published: manifest, flows, zones and report agree")


def _known_product(release: str) -> str | None:
    """The product of a release id when there is a file for it; a release may outlive the file."""
    name = release.rsplit("-", 2)[0]
    return name if name in claimed_names(products_folder()) else None
