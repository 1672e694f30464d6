"""A GeoPackage: zones and desire lines as layers with their styles, and the other tables beside them."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from odanon.geo.geopackages import write_layers
from odanon_assets.derived.exports.places import inner_points
from odanon_assets.derived.exports.styles import layer_styles
from odanon_assets.derived.exports.tables import Published, listed_in_words

if TYPE_CHECKING:
    from geopandas import GeoDataFrame


def geopackage(published: Published, folder: Path) -> None:
    """Write all tables into one file that QGIS opens as a map."""
    path = folder / f"{published.product}.gpkg"
    lines = desire_lines(published.flows, published.zones)
    flows, weights, tiles = published.flows, published.weights, published.tiles
    layers: dict[str, pd.DataFrame] = {"zones": listed_in_words(published.zones, "tiles")}
    if len(tiles):
        layers["tiles"] = listed_in_words(tiles, "zones")
    layers["desire_lines"] = lines
    layers["flows"] = _clocks_in_words(flows.assign(window_start=flows["window_start"].astype("str")))
    if len(weights):
        layers["weights"] = _clocks_in_words(weights)
    write_layers(path, {**layers, "layer_styles": layer_styles(lines)})


def desire_lines(flows: pd.DataFrame, zones: "GeoDataFrame") -> "GeoDataFrame":
    """A line for each pair of zones, kind of row and window, from a point inside the one to a point inside the other."""
    import geopandas
    import shapely

    pair = ["product", "release_id", "window_start", "origin_zone", "destination_zone", "kind"]
    between = flows[flows["origin_zone"] != flows["destination_zone"]]
    volume = between.groupby(pair, as_index=False, sort=True)["trips"].sum()
    keys = pd.MultiIndex.from_frame(pd.DataFrame(zones[["release_id", "zone_id"]]))
    places = pd.DataFrame({"at": inner_points(zones).to_numpy(), "name": zones["name"].to_numpy(object)}, index=keys)
    ends = []
    for side in ("origin", "destination"):
        end = places.loc[list(zip(volume["release_id"], volume[f"{side}_zone"], strict=True))]
        ends.append(shapely.get_coordinates(end["at"].to_numpy()))
        volume[f"{side}_name"] = pd.Series(end["name"].to_numpy(), volume.index, dtype="str")
    lines = shapely.linestrings(list(zip(ends[0], ends[1], strict=True))) if len(volume) else []
    volume["window_start"] = volume["window_start"].astype("str")
    return geopandas.GeoDataFrame(volume, geometry=lines, crs="EPSG:4326")


def _clocks_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Times of the local clock as text: a GeoPackage calls every time UTC."""
    clocks = table.select_dtypes("datetime").columns
    return table.assign(**{name: table[name].dt.strftime("%Y-%m-%dT%H:%M:%S") for name in clocks})
