"""Where this installation keeps its data and its product files, as the environment says."""

import os
from pathlib import Path

ROOT_VARIABLE = "ODANON_ROOT"
PRODUCTS_VARIABLE = "ODANON_PRODUCTS"


def default_root() -> Path:
    """The data root: ODANON_ROOT, or `odanon_data` in the working folder."""
    return Path(os.environ.get(ROOT_VARIABLE, "odanon_data")).absolute()


def products_folder() -> Path:
    """The folder of product files: ODANON_PRODUCTS, or `pipelines` in the working folder."""
    return Path(os.environ.get(PRODUCTS_VARIABLE, "pipelines")).absolute()
