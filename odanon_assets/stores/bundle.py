"""What is handed to a store: the public tables of one release and its manifest."""

import hashlib
import json
import re
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

import pandas as pd

from odanon.errors import OdanonError
from odanon.geo.placenames import LONGEST_JOINED, is_plain
from odanon.model.release import KINDS
from odanon.reconstruct.prior import no_tiles
from odanon.reconstruct.readings import (
    EVEN,
    FITTED,
    PRIOR,
    READINGS,
    SIDES,
    TILE_COLUMNS,
    WEIGHT_COLUMNS,
    spread_column,
)
from odanon.reconstruct.weights import no_weights

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

FLOW_COLUMNS = (
    "product",
    "window_start",
    "time_start",
    "time_end",
    "segment",
    "origin_zone",
    "destination_zone",
    "kind",
    "trips",
    "spread",
    "spread_fitted",
    "spread_prior",
    "persons_band",
    "release_id",
)
FLOW_KEY = ("time_start", "time_end", "segment", "origin_zone", "destination_zone")
ZONE_COLUMNS = ("zone_id", "name", "hierarchy", "level", "n_tiles", "area_km2", "tiles", "geometry")
_PRODUCT = re.compile(r"[a-z][a-z0-9-]{0,62}")


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
    weights: pd.DataFrame = field(default_factory=no_weights)  # of the reading fitted
    tiles: "GeoDataFrame" = field(default_factory=no_tiles)  # with public weights, of the reading prior


def release_id(product: str, window_start: date, identity: dict[str, Any]) -> str:
    """A name that follows from what went in: input hash, parameters and code version."""
    text = json.dumps(identity, sort_keys=True)
    return f"{product}-{window_start:%Y%m%d}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def check_name(product: str) -> None:
    """Product names become folders and views, so only plain ones are let in."""
    if not _PRODUCT.fullmatch(product):
        raise OdanonError(
            "the product's name is not a plain one; use at most 63 lower-case letters, digits and hyphens"
        )


def check_bundle(bundle: Bundle) -> None:
    """Refuse what no store could keep or give back whole; the promise itself is the gate's matter."""
    check_name(bundle.product)
    where = f"{bundle.product} {bundle.window_start}"
    if not re.fullmatch(rf"{bundle.product}-{bundle.window_start:%Y%m%d}-[0-9a-f]{{12}}", bundle.release_id):
        raise OdanonError(f"{where}: the release id is not the one of this product and window; use release_id()")
    for table, frame, columns in (
        ("flows", bundle.flows, FLOW_COLUMNS),
        ("zones", bundle.zones, ZONE_COLUMNS),
        ("weights", bundle.weights, WEIGHT_COLUMNS),
        ("tiles", bundle.tiles, TILE_COLUMNS),
    ):
        if tuple(frame.columns) != columns:
            raise OdanonError(f"{where}: the {table} do not have the published columns {', '.join(columns)}")
    strangers = ~pd.concat([bundle.flows["origin_zone"], bundle.flows["destination_zone"]]).isin(
        bundle.zones["zone_id"]
    )
    if strangers.any():
        raise OdanonError(f"{where}: {int(strangers.sum())} ends of flows lie in no zone of the release")
    if not bundle.flows["kind"].isin(KINDS).all():
        raise OdanonError(f"{where}: a row is neither a flow nor a rest; kind is one of {', '.join(KINDS)}")
    if not (bundle.flows["time_start"] < bundle.flows["time_end"]).all():
        raise OdanonError(f"{where}: a row does not end after it starts; give every row time_start and time_end")
    if bundle.zones["zone_id"].duplicated().any():
        raise OdanonError(f"{where}: the zones name a zone twice")
    if not all(map(is_plain, bundle.zones["name"].dropna())):
        raise OdanonError(
            f"{where}: a zone's name is not one line of plain text of at most {LONGEST_JOINED} characters"
        )
    if bundle.flows.duplicated(list(FLOW_KEY)).any():
        raise OdanonError(f"{where}: a flow appears twice in one time bin and segment")
    _check_readings(bundle, where)
    if _has_nul(bundle):
        raise OdanonError(f"{where}: a text holds a NUL character, which a database cannot keep; remove it")


def _check_readings(bundle: Bundle, where: str) -> None:
    """What a manifest offers has weights and spreads, and nothing else has."""
    offered = bundle.manifest.get("readings", [EVEN])
    if bundle.manifest.get("reading", EVEN) not in offered or not {*offered} <= {*READINGS}:
        raise OdanonError(f"{where}: the manifest does not offer the reading that it calls the better one")
    weights = bundle.weights
    known = (
        weights["side"].isin(SIDES) & (weights["reading"] == FITTED) & weights["zone_id"].isin(bundle.zones["zone_id"])
    )
    if not known.all():
        raise OdanonError(f"{where}: the weights name a zone that the release does not have")
    if weights.duplicated(list(WEIGHT_COLUMNS[:4])).any():
        raise OdanonError(f"{where}: the weights name a zone twice in one reading, time bin and side")
    if (
        not bundle.tiles["zones"].explode().isin(bundle.zones["zone_id"]).all()
        or bundle.tiles["tile"].duplicated().any()
    ):
        raise OdanonError(f"{where}: the tiles name a zone that the release does not have, or a tile is named twice")
    if len(bundle.tiles) and "sha256" not in bundle.manifest.get("weights", {}):
        raise OdanonError(f"{where}: the manifest does not say which file the weights of the tiles are from")
    for reading, table in ((FITTED, weights), (PRIOR, bundle.tiles)):
        told = bundle.flows[spread_column(reading)].notna()
        given = not told.empty and bool(told.all()), len(table) > 0, reading in offered
        if len({*given}) > 1 or (told.any() and not told.all()):
            raise OdanonError(f"{where}: the reading {reading} is offered, weighed and spread in parts only")


def _has_nul(bundle: Bundle) -> bool:
    texts = [bundle.report, json.dumps(bundle.manifest, ensure_ascii=False)]
    for values in (
        bundle.flows["segment"],
        bundle.flows["persons_band"],
        bundle.zones["zone_id"],
        bundle.tiles["tile"],
    ):
        texts += map(str, values.unique())
    texts += map(str, bundle.zones["hierarchy"].unique())
    texts += [tile for tiles in bundle.zones["tiles"] if tiles is not None for tile in tiles]
    return any("\0" in text or "\\u0000" in text for text in texts)
