"""Where this installation keeps its data and its product files, as the environment says; and which stage makes the rows of a release."""

import os
from pathlib import Path

from odanon.product import Product
from odanon.product.windows import is_longer

ROOT_VARIABLE = "ODANON_ROOT"
PRODUCTS_VARIABLE = "ODANON_PRODUCTS"
DAYS, WINDOW = "od", "window"  # the stages that make the rows of people: of a day, of a longer window
DAY_STAGES = (
    "traces",
    "staypoints",
    "trips",
    DAYS,
)  # whose partitions are days, however long the windows of a product are


def default_root() -> Path:
    """The data root: ODANON_ROOT, or `odanon_data` in the working folder."""
    return Path(os.environ.get(ROOT_VARIABLE, "odanon_data")).absolute()


def products_folder() -> Path:
    """The folder of product files: ODANON_PRODUCTS, or `pipelines` in the working folder."""
    return Path(os.environ.get(PRODUCTS_VARIABLE, "pipelines")).absolute()


def rows_stage(product: Product) -> str:
    """The stage whose rows of people the release of a window is made from."""
    return WINDOW if is_longer(product) else DAYS
