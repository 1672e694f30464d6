"""A small product for tests that run the whole chain."""

from pathlib import Path
from typing import Any

import yaml

from odanon.product import Product, load_product

SMALL: dict[str, Any] = {
    "product": "small",
    "title": "A small town",
    "owner": "test-team",
    "status": "live",
    "start": "2026-03-02",
    "timezone": "Europe/Paris",
    "source": {"plugin": "simulated", "people": 400, "seed": 3, "radius_km": 4},
    "staypoints": {"plugin": "dwell", "radius_m": 150},
    "trips": {"min_distance_m": 200},
    "zoning": {"plugin": "h3", "resolution": 8},
    "od": {"bin": "12h"},
    "hierarchy": {"plugin": "h3"},
    "anonymize": {"plugin": "atg-joint", "k": 5},
    "engine": {"plugin": "local", "buckets": 3},
}


def small_product(folder: Path, **changes: Any) -> Product:
    """Write the small product, with changes, into a folder of product files, or the one of a workspace, and load it.

    The process that publishes finds it there by its name.
    """
    home, told = folder / "pipelines" if (folder / "pipelines").is_dir() else folder, {**SMALL, **changes}
    path = home / f"{told['product']}.yaml"
    path.write_text(yaml.safe_dump(told))
    return load_product(path)
