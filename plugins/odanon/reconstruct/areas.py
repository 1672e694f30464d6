"""Flows between areas that a user draws, estimated from a release.

A published flow is taken to be spread evenly over the ground of its origin zone and of its destination zone, the
continuous form of the even spread over tiles in 000 equation 2, and a rest over what no finer row covers. The part of all of them
between two drawn areas is the sum of spread x (share of the origin zone inside one area) x (share of the destination zone
inside the other), where `spread` is the number of trips unless there are rests (`odanon.reconstruct.even`). Other readings take
shares of published weights instead of ground (`odanon.reconstruct.readings`).
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd

from odanon.errors import OdanonError
from odanon.geo.layers import polygonal
from odanon.reconstruct.readings import (
    EVEN,
    PRIOR,
    joined,
    keys_of,
    of_reading,
    prior_shares,
    spread_column,
    weighted_shares,
)

if TYPE_CHECKING:
    from geopandas import GeoDataFrame, GeoSeries
    from pyproj import Transformer
    from shapely.geometry.base import BaseGeometry

EQUAL_AREA = "EPSG:6933"  # cylindrical, so that shares hold for zones of any size
_ROUNDING = 1e-8  # degrees, of surface by outline: a strip of two millimetres; maps in feet leave tenths of one between neighbours
_A_LITTLE = 2e-9  # a share that is more than what bounds take for nothing
_MOST = 0.99  # of a zone; of others it is clear that some is outside


def zone_shares(zones: "GeoDataFrame", areas: "GeoSeries") -> pd.DataFrame:
    """Columns zone (position in zones), area (index of areas), share of the zone's ground inside the area."""
    import shapely

    areas = checked(areas)
    shapes = np.asarray(zones.geometry)
    area_at, zone_at = shapely.STRtree(shapes).query(np.asarray(areas), predicate="intersects")
    drawn = np.asarray(areas)
    shapely.prepare(drawn)
    share = np.ones(len(zone_at))
    part = ~shapely.covers(drawn[area_at], shapes[zone_at])
    some, around = drawn[area_at[part]], shapes[zone_at[part]]
    inside = shapely.intersection(some, around)
    whole, first = np.unique(zone_at[part], return_inverse=True)
    share[part] = _told_apart(ground(inside) / ground(shapes[whole])[first], inside, some, around)
    kept = share > 0
    table = pd.DataFrame({"zone": zone_at[kept], "area": areas.index.to_numpy()[area_at[kept]], "share": share[kept]})
    return table.sort_values(["zone", "area"], kind="stable", ignore_index=True)


def _told_apart(share: "np.ndarray", inside: "np.ndarray", areas: "np.ndarray", zones: "np.ndarray") -> "np.ndarray":
    """Shares that say whether a zone has ground inside an area, and whether it has some outside.

    Ground cannot tell: edges are straight in degrees, and a corner in the middle of one moves it in another projection, which weighs
    more than a place that a large zone has outside. Pieces that are more than rounding can (`_is_ground`).
    """
    import shapely

    most = shapely.area(inside) > _MOST * shapely.area(zones)
    whole = most.copy()
    whole[most] = ~_is_ground(shapely.difference(zones[most], areas[most]))
    some = np.where(_is_ground(inside), np.clip(share, _A_LITTLE, 1 - _A_LITTLE), 0.0)
    return np.where(whole, 1.0, some)


def _is_ground(pieces: "np.ndarray") -> "np.ndarray":
    """Whether shapes in degrees are wider than what rounding leaves along a border, about two millimetres."""
    import shapely

    drawn = np.array(pieces, dtype=object)
    mixed = shapely.get_type_id(drawn) == shapely.GeometryType.GEOMETRYCOLLECTION  # borders in common are lines
    drawn[mixed] = [polygonal(each) for each in drawn[mixed]]
    return shapely.area(drawn) > _ROUNDING * shapely.length(drawn)


def reconstruct(
    flows: pd.DataFrame,
    zones: "GeoDataFrame",
    areas: "GeoSeries",
    reading: str = EVEN,
    weights: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Estimated trips between all pairs of areas: origin, destination (index of areas), trips.

    `flows` has origin_zone, destination_zone and spread (that of the reading: `spread_column`), `zones` has zone_id; `weights` is the
    published table that other readings than even need: the weights for fitted, the tiles for prior. Pairs without trips are left out.
    """
    size, inside = None, None
    if weights is not None:
        size = pd.Series(ground(np.asarray(zones.geometry)) / 1e6, index=zones["zone_id"].to_numpy())
    if reading == PRIOR and weights is not None:
        inside = zone_shares(cast("GeoDataFrame", weights), areas)
    return spread(flows, zones, zone_shares(zones, areas), reading=reading, weights=weights, size=size, inside=inside)


def spread(
    flows: pd.DataFrame,
    zones: pd.DataFrame,
    shares: pd.DataFrame,
    by: Sequence[str] = (),
    reading: str = EVEN,
    weights: pd.DataFrame | None = None,
    size: pd.Series | None = None,
    inside: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Estimated trips between all pairs of areas, given the shares of zones in them (`zone_shares`, `tile_shares`).

    Columns of the flows named by `by`, such as the time bin, are kept apart. With weights, `size` measures what shares are of by
    zone_id: km2 of zones, or their tiles. With tiles as weights, `inside` are the shares of these in the areas.
    """
    column, keys = spread_column(reading), [*by]
    named = shares.assign(zone_id=zones["zone_id"].to_numpy()[shares["zone"]])
    sides: Mapping[str, pd.DataFrame] = {"origin": named, "destination": named}
    met: list[str] = []
    if reading != EVEN and (weights is None or size is None or (reading == PRIOR and inside is None)):
        raise OdanonError(f"the reading {reading} needs its published weights; give them, or read evenly")
    if reading == PRIOR:
        sides = prior_shares(weights, size, inside, named)
    elif reading != EVEN:
        chosen = of_reading(weights, reading)
        met = keys_of(chosen)
        if (
            "time_bin" in met and "time_bin" not in flows
        ):  # weights are told by bin, published rows by their start and end
            flows = flows.rename(columns={"time_start": "time_bin"})
        found = weighted_shares(chosen, size, named)
        sides = {side: found[found["side"] == side] for side in sides}
    told = list(dict.fromkeys([*keys, *met]))
    volume = flows.groupby([*told, "origin_zone", "destination_zone"], as_index=False)[column].sum()
    table = joined(volume, sides, column, met)
    return table.groupby([*keys, "origin", "destination"], as_index=False)["trips"].sum()


def flow_between(
    flows: pd.DataFrame,
    zones: "GeoDataFrame",
    origin: "BaseGeometry",
    destination: "BaseGeometry",
    reading: str = EVEN,
    weights: pd.DataFrame | None = None,
) -> float:
    """Estimated trips from one drawn area to another (EPSG:4326)."""
    import geopandas

    drawn = geopandas.GeoSeries([origin, destination], crs="EPSG:4326")
    matrix = reconstruct(flows, zones, drawn, reading, weights)
    return float(matrix.loc[(matrix["origin"] == 0) & (matrix["destination"] == 1), "trips"].sum())


def checked(areas: "GeoSeries") -> "GeoSeries":
    """Polygons in EPSG:4326 with names of their own, or an error that says what is wrong with them."""
    areas = in_degrees(areas)
    if areas.index.has_duplicates:
        raise OdanonError("two drawn areas have the same name; give every area its own")
    if areas.isna().any() or areas.is_empty.any() or not areas.geom_type.isin(["Polygon", "MultiPolygon"]).all():
        raise OdanonError("a drawn area is not a polygon; draw polygons only")
    return areas.make_valid()


def in_degrees(areas: "GeoSeries") -> "GeoSeries":
    """Areas in EPSG:4326, if they say where they lie."""
    if areas.crs is None:
        raise OdanonError("the drawn areas have no coordinate reference system; declare one, such as EPSG:4326")
    return areas.to_crs("EPSG:4326")


def ground(shapes: "np.ndarray") -> "np.ndarray":
    """Square metres of shapes in EPSG:4326, in an equal-area projection."""
    import shapely

    return shapely.area(shapely.transform(np.asarray(shapes), _equal_area().transform, interleaved=False))


@cache
def _equal_area() -> "Transformer":
    """Made once: looking up reference systems takes longer than most shapes do."""
    from pyproj import Transformer

    return Transformer.from_crs("EPSG:4326", EQUAL_AREA, always_xy=True)
