"""A town whose people are known row by row, published through the stages of the pipeline without a simulator."""

import shutil
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import h3
import numpy as np
import pandas as pd
from product_example import small_product

from odanon.product import Product
from odanon.product.windows import is_longer, matrix_days
from odanon.reading.pseudonym import KEY_VARIABLE
from odanon_assets.chain.stages import STAGES, day_stages, run_stage, window_stages
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.publisher.act import publish_day
from odanon_assets.stores.choice import open_store

DAY = date(2026, 3, 2)
TILES = sorted(h3.grid_disk(h3.latlng_to_cell(45.75, 4.85, 8), 4))
SECRET = {KEY_VARIABLE: "a key for the people of this town 0123456789"}


def people(n: int = 700, hours: tuple[int, ...] = (8,), day: date = DAY, seed: int = 1) -> pd.DataFrame:
    """Rows of an OD table with persons: most travel from home to work in each of the hours."""
    rng = np.random.default_rng(seed)
    pull = rng.pareto(1.5, len(TILES)) + 0.3
    home, work = (rng.choice(len(TILES), n, p=pull / pull.sum()) for _ in range(2))
    sex, weight = np.where(rng.random(n) < 0.5, "F", "M"), rng.uniform(1, 9, n)
    parts = []
    for hour in hours:
        out = np.flatnonzero(rng.random(n) < 0.8)
        parts.append(
            pd.DataFrame(
                {
                    "time_bin": datetime(day.year, day.month, day.day, hour, tzinfo=UTC),
                    "origin": np.array(TILES)[home[out]],
                    "destination": np.array(TILES)[work[out]],
                    "trips": rng.integers(1, 3, len(out)),
                    "person": [f"person {number}" for number in out],
                    "sex": sex[out],
                    "weight": weight[out],
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def write(folder: Path, rows: pd.DataFrame, day: date = DAY) -> None:
    rows.to_parquet(folder / f"{day}.parquet", index=False)


def town(
    folder: Path,
    name: str = "town",
    columns: dict[str, str] | None = None,
    *,
    file_in: Path | None = None,
    **changes: Any,
) -> Product:
    """A product over the OD tables in a folder; by persons unless `columns` of the source say otherwise."""
    source = {
        "plugin": "od",
        "path": f"{folder}/{{date}}.parquet",
        **({"person": "person"} if columns is None else columns),
    }
    told: dict[str, Any] = {
        "timezone": "UTC",
        "od": {"bin": "1h"},
        "anonymize": {"plugin": "atg-joint", "k": 10, "suppression": 0.1},
        **changes,
    }
    return small_product(file_in or folder, product=name, source=source, **told)


def made(product: Product, day: date = DAY, like: str | None = None) -> None:
    """Run the stages of a day up to the one before publication.

    Reading files takes longest, so a product `like` an earlier one of the same data starts from a copy of its traces.
    """
    lake = Lake(default_root())
    stages = STAGES[:-1]
    if like is not None:
        shutil.copytree(lake.folder(like, "traces", day), lake.folder(product.product, "traces", day))
        stages = stages[1:]
    for stage in stages:
        run_stage(product, stage.name, day, {name: getattr(product, name).instance for name in stage.plugins})


def made_window(product: Product, window: date = DAY, like: str | None = None) -> None:
    """The same for a window of several days, and for all its days."""
    lake = Lake(default_root())
    for day in matrix_days(product, window):
        if like is not None:
            shutil.copytree(lake.folder(like, "traces", day), lake.folder(product.product, "traces", day))
        for stage in day_stages(product)[1 if like is not None else 0 :]:
            run_stage(product, stage.name, day, {name: getattr(product, name).instance for name in stage.plugins})
    for stage in window_stages(product)[:-1]:
        run_stage(product, stage.name, window, {name: getattr(product, name).instance for name in stage.plugins})


def published(product: Product, day: date = DAY) -> str:
    """Run a day to its end; the id of the release that its window then shows."""
    (made_window if is_longer(product) else made)(product, day)
    return str(publish(product, day)["release_id"])


def publish(product: Product, day: date = DAY) -> dict[str, Any]:
    """The last stage alone, in this process: what the stage has done by a fresh one, without its start."""
    return publish_day(product, Lake(default_root()), day, open_store(product))


def visible(product: Product, day: date = DAY) -> pd.DataFrame:
    """The public flows of a day."""
    store = open_store(product)
    release = store.released(product.product, day)
    assert release is not None
    return store.flows(release)


def days(n: int) -> list[date]:
    return [DAY + timedelta(days=number) for number in range(n)]
