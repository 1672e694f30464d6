"""The figures a newcomer wants to see at the end of a run."""

import json
from datetime import date
from pathlib import Path
from typing import Any

from odanon_assets.lake import Lake
from odanon_assets.stores.embedded import MANIFEST, EmbeddedStore

_INPUT = (
    ("points", "traces", "points"),
    ("people", "traces", "people"),
    ("staypoints", "staypoints", "stay points"),
    ("trips", "trips", "trips"),
    ("od_pairs", "od", "OD pairs"),
)


def day_summary(product: str, day: date, root: Path) -> dict[str, Any]:
    """What went in, what came out and where it lies, for one published day."""
    lake, store = Lake(root), EmbeddedStore(root)
    folder = store.current(product, day)
    if folder is None:
        return {}
    manifest = json.loads((folder / MANIFEST).read_text())
    counts = {label: lake.figures(product, stage, day)[key] for key, stage, label in _INPUT}
    metrics = lake.figures(product, "metrics", day)
    return {"day": day, "folder": folder, "in": counts, "metrics": metrics, "manifest": manifest}
