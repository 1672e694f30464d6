"""What is handed to a store: the public tables of one release and its manifest."""

import hashlib
import json
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

FLOW_COLUMNS = (
    "product",
    "window_start",
    "time_bin",
    "segment",
    "origin_zone",
    "destination_zone",
    "trips",
    "persons_band",
    "release_id",
)


@dataclass(frozen=True)
class Bundle:
    """One release ready to be published; everything in it is public."""

    product: str
    window_start: date
    release_id: str
    flows: pd.DataFrame
    zones: "GeoDataFrame"
    report: str
    manifest: dict[str, Any]


def release_id(product: str, window_start: date, identity: dict[str, Any]) -> str:
    """A name that follows from what went in: input hash, parameters and code version."""
    text = json.dumps(identity, sort_keys=True)
    return f"{product}-{window_start:%Y%m%d}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
