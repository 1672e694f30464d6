"""Flows between drawn areas: even spread over the ground of the zones."""

import geopandas
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely.geometry import MultiPolygon, Point, Polygon, box

from odanon.errors import OdanonError
from odanon.reconstruct.areas import flow_between, reconstruct, zone_shares


def squares(n: int, size: float = 1.0, lat: float = 0.0) -> geopandas.GeoDataFrame:
    """n x n squares."""
    shapes = [box(i * size, lat + j * size, (i + 1) * size, lat + (j + 1) * size) for i in range(n) for j in range(n)]
    return geopandas.GeoDataFrame(
        {"zone_id": [f"z{at}" for at in range(n * n)]}, geometry=[MultiPolygon([s]) for s in shapes], crs="EPSG:4326"
    )


def drawn(*shapes: Polygon, crs: str | None = "EPSG:4326") -> geopandas.GeoSeries:
    return geopandas.GeoSeries(list(shapes), crs=crs)


def test_shares_are_of_ground_not_of_degrees() -> None:
    """The northern half of a tall zone, by degrees, is less than half of its ground: sin decides."""
    tall = geopandas.GeoDataFrame({"zone_id": ["z"]}, geometry=[box(0, 0, 1, 60)], crs="EPSG:4326")
    (share,) = zone_shares(tall, drawn(box(0, 30, 1, 60)))["share"]
    assert share == pytest.approx(1 - 0.5 / np.sin(np.radians(60)), rel=5e-3)  # an ellipsoid, not a sphere


def test_a_partition_of_the_map_keeps_every_trip() -> None:
    zones = squares(3)
    rng = np.random.default_rng(1)
    flows = pd.DataFrame(
        {
            "origin_zone": rng.choice(zones["zone_id"], 50),
            "destination_zone": rng.choice(zones["zone_id"], 50),
            "spread": rng.integers(10, 99, 50).astype(float),
        }
    )
    parts = drawn(box(0, 0, 1.3, 3), box(1.3, 0, 3, 0.7), box(1.3, 0.7, 3, 3))
    matrix = reconstruct(flows, zones, parts)
    assert matrix["trips"].sum() == pytest.approx(flows["spread"].sum(), rel=1e-9)


coordinate = st.floats(-0.5, 3.5, allow_nan=False, width=16)
rectangle = st.tuples(coordinate, coordinate, coordinate, coordinate).filter(lambda r: r[0] < r[2] and r[1] < r[3])


@given(a=rectangle, b=rectangle)
def test_rectangles_agree_with_interval_arithmetic(a: tuple[float, ...], b: tuple[float, ...]) -> None:
    """Near the equator, shares of squares are products of overlapping lengths."""
    size = 0.01
    zones = squares(3, size)
    flows = pd.DataFrame(
        [(f"z{o}", f"z{d}", 10.0 + o + 2 * d) for o in range(9) for d in range(9)],
        columns=["origin_zone", "destination_zone", "spread"],
    )

    def share(zone: int, rectangle: tuple[float, ...]) -> float:
        i, j = divmod(zone, 3)
        across = max(0.0, min(rectangle[2], i + 1) - max(rectangle[0], i))
        along = max(0.0, min(rectangle[3], j + 1) - max(rectangle[1], j))
        return across * along

    expected = sum((10 + o + 2 * d) * share(o, a) * share(d, b) for o in range(9) for d in range(9))
    areas = [box(*(size * value for value in rectangle)) for rectangle in (a, b)]
    assert flow_between(flows, zones, *areas) == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_other_reference_systems_and_invalid_outlines_are_repaired() -> None:
    zones = squares(1)
    mercator = drawn(box(0, 0, 0.5, 1)).to_crs("EPSG:3857")
    assert zone_shares(zones, mercator)["share"].tolist() == pytest.approx([0.5], rel=1e-6)
    bow = Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])
    assert zone_shares(zones, drawn(bow))["share"].tolist() == pytest.approx([0.5], rel=1e-3)


def test_what_cannot_be_an_area_is_refused() -> None:
    zones = squares(1)
    with pytest.raises(OdanonError, match="coordinate reference system"):
        zone_shares(zones, drawn(box(0, 0, 1, 1), crs=None))
    with pytest.raises(OdanonError, match="not a polygon"):
        zone_shares(zones, drawn(Point(0, 0)))  # type: ignore[arg-type]
    with pytest.raises(OdanonError, match="same name"):
        zone_shares(zones, geopandas.GeoSeries([box(0, 0, 1, 1)] * 2, index=["a", "a"], crs="EPSG:4326"))
