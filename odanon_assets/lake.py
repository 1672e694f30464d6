"""Where intermediates live: one folder per product, stage and day under the root."""

import json
import os
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odanon.errors import OdanonError
from odanon_assets.files import new_folder, to_json

if TYPE_CHECKING:
    import pandas as pd

ROOT_VARIABLE = "ODANON_ROOT"
PRODUCTS_VARIABLE = "ODANON_PRODUCTS"


def default_root() -> Path:
    """The data root: ODANON_ROOT, or `odanon_data` in the working folder."""
    return Path(os.environ.get(ROOT_VARIABLE, "odanon_data")).absolute()


def products_folder() -> Path:
    """The folder of product files: ODANON_PRODUCTS, or `pipelines` in the working folder."""
    return Path(os.environ.get(PRODUCTS_VARIABLE, "pipelines")).absolute()


@dataclass(frozen=True)
class Lake:
    """The restricted working area; nothing in it is meant for the public."""

    root: Path

    def folder(self, product: str, stage: str, day: date) -> Path:
        """The folder of one partition, whether it exists or not."""
        return self.root / "work" / product / stage / f"date={day.isoformat()}"

    def new(self, product: str, stage: str, day: date) -> AbstractContextManager[Path]:
        """A folder that replaces the partition when the block ends well."""
        return new_folder(self.folder(product, stage, day))

    def read(self, product: str, stage: str, day: date) -> Path:
        """The folder of a partition that must exist."""
        path = self.folder(product, stage, day)
        if not path.is_dir():
            raise OdanonError(
                f"{product}/{stage} of {day} has not been made yet; run `odanon run {product} --date {day}`"
            )
        return path

    def figures(self, product: str, stage: str, day: date) -> dict[str, Any]:
        """The figures that a stage wrote beside its tables."""
        return json.loads((self.read(product, stage, day) / "figures.json").read_text())


def write_figures(folder: Path, figures: dict[str, Any]) -> dict[str, Any]:
    """Write a stage's figures into its folder and pass them on."""
    (folder / "figures.json").write_text(to_json(figures))
    return figures


def read_frame(path: Path, columns: list[str] | None = None) -> "pd.DataFrame":
    """A Parquet file of the lake as it was written; the `date=` in its path adds no column."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(path).read(columns).to_pandas()
