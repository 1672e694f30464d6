"""What the releases of an export show, as tables: that of the store, and the local clock beside every instant."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from odanon_assets.stores.interface import Store

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

_FLOW_CLOCKS = {"time_start": "local_start", "time_end": "local_end"}
_WEIGHT_CLOCKS = {"time_bin": "local_bin"}


@dataclass(frozen=True)
class Published:
    """The public tables of some releases of a product, each row with the release that it is of."""

    product: str
    manifests: list[dict[str, Any]]
    flows: pd.DataFrame
    zones: "GeoDataFrame"
    weights: pd.DataFrame
    tiles: "GeoDataFrame"


def read_published(store: Store, product: str, releases: list[str]) -> Published:
    """The tables of releases, read from a store."""
    manifests = [json.loads(store.manifest_text(release)) for release in releases]
    told = list(zip(releases, (manifest.get("timezone") for manifest in manifests), strict=True))
    flows = [_with_clocks(store.flows(release), _FLOW_CLOCKS, zone) for release, zone in told]
    weights = [_with_clocks(_named(store.weights(release), release), _WEIGHT_CLOCKS, zone) for release, zone in told]
    return Published(
        product,
        manifests,
        pd.concat(flows, ignore_index=True),
        _placed(store.zones, releases, "tiles"),
        pd.concat(weights, ignore_index=True),
        _placed(store.tiles, releases, "zones"),
    )


def in_words(table: pd.DataFrame) -> pd.DataFrame:
    """A table with its instants as ISO 8601 text: those in UTC end in Z, those of the local clock in nothing."""
    utc = table.select_dtypes("datetimetz").columns
    local = table.select_dtypes("datetime").columns
    told = {name: table[name].dt.strftime("%Y-%m-%dT%H:%M:%SZ") for name in utc}
    return table.assign(**told, **{name: table[name].dt.strftime("%Y-%m-%dT%H:%M:%S") for name in local})


def listed_in_words(table: "GeoDataFrame", lists: str) -> "GeoDataFrame":
    """A table with a column of lists as JSON text."""
    return table.assign(**{lists: [None if members is None else json.dumps(members) for members in table[lists]]})


def _with_clocks(table: pd.DataFrame, clocks: Mapping[str, str], zone: str | None) -> pd.DataFrame:
    """The local clock behind the instants; empty for releases that do not tell their time zone."""
    after = max(table.columns.get_loc(instant) for instant in clocks)
    for at, (instant, clock) in enumerate(clocks.items()):
        there = table[instant].dt.tz_convert(zone).dt.tz_localize(None).astype("datetime64[us]")
        table.insert(after + 1 + at, clock, there if zone is not None else pd.Series(pd.NaT, table.index, there.dtype))
    return table


def _placed(read: Callable[[str], "GeoDataFrame"], releases: list[str], lists: str) -> "GeoDataFrame":
    import geopandas

    table = pd.concat([_named(read(release), release) for release in releases], ignore_index=True)
    # One spelling of member lists, since stores read them back as lists or as arrays.
    table[lists] = [None if members is None else list(members) for members in table[lists]]
    return geopandas.GeoDataFrame(table, geometry="geometry", crs="EPSG:4326")


def _named(table: Any, release: str) -> Any:
    table.insert(0, "release_id", pd.Series(release, index=table.index, dtype="str"))
    return table
