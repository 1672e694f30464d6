"""The figures a newcomer wants to see at the end of a run."""

import json
from datetime import date
from pathlib import Path
from typing import Any

from odanon.product import Product
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.embedded import EmbeddedStore

_INPUT = (
    ("points", "traces", "points"),
    ("people", "traces", "people"),
    ("staypoints", "staypoints", "stay points"),
    ("trips", "trips", "trips"),
    ("od_pairs", "od", "OD pairs"),
)


def latest_summary(product: Product) -> dict[str, Any] | None:
    """What went in, what came out and where it lies, for the latest published day; None before the first."""
    store, lake, name = open_store(product), Lake(default_root()), product.product
    days = [date.fromisoformat(day) for day in store.windows(name)]
    if not days:
        return None
    release = store.released(name, days[-1])
    manifest = json.loads(store.manifest_text(str(release)))
    stages = {stage: lake.figures(name, stage, days[-1]) for _, stage, _ in _INPUT}
    folder: Path | None = store.window_folder(name, days[-1]) if isinstance(store, EmbeddedStore) else None
    return {
        "days": days,
        "folder": folder,
        # A source of ready trips or matrices has nothing to count before it.
        "in": {label: stages[stage][key] for key, stage, label in _INPUT if key in stages[stage]},
        "metrics": lake.figures(name, "metrics", days[-1]),
        "manifest": manifest,
    }
