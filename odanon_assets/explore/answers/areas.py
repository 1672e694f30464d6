"""Areas that people draw or upload, as valid shapes in longitude and latitude."""

import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from odanon.errors import OdanonError
from odanon.geo.layers import polygonal
from odanon.reading.batches import Column, Job, NoColumnError
from odanon.reading.files import shown
from odanon.reading.table import read_whole
from odanon_assets.explore.limits import AREAS, VERTICES
from odanon_assets.explore.models import Areas, FileAsked, MultiPolygon, Polygon

if TYPE_CHECKING:
    from geopandas import GeoDataFrame
    from shapely.geometry.base import BaseGeometry

_SHAPE, _CRS = Column("shape", "geometry", "shape"), Column("crs", "crs", "text")
_NAME = "name"  # the usual column, and the property of the answer
_LONGEST_NAME = 200
_CONTROLS = re.compile(r"[\x00-\x1f]")
_PLACE = re.compile(r"file 1 of 1( \(sha256 \w+\))? ")  # how the reader calls the one file
_FORMATS = ("GeoJSON", "GPKG")
_MOST_ROWS = 10_000


class TooLargeError(OdanonError):
    """More than a server takes."""


def drawn(*shapes: Polygon | MultiPolygon) -> list["BaseGeometry"]:
    """Valid shapes; what crosses itself is repaired."""
    from shapely.geometry import shape

    return repaired([shape(each.model_dump()) for each in shapes])


def table_of(areas: Areas) -> "GeoDataFrame":
    """Drawn areas by their names."""
    import geopandas

    names = [each.properties.name for each in areas.features]
    if len(set(names)) < len(names):
        raise OdanonError("two areas have the same name; give each its own")
    shapes = drawn(*(each.geometry for each in areas.features))
    return geopandas.GeoDataFrame(geometry=shapes, index=names, crs="EPSG:4326")


def repaired(shapes: list["BaseGeometry"]) -> list["BaseGeometry"]:
    """Polygons that are valid and not empty, of which a question has no more than it may."""
    import shapely

    if (vertices := int(sum(shapely.get_num_coordinates(shapes)))) > VERTICES:
        raise TooLargeError(f"the areas have {vertices:,} vertices and may have {VERTICES:,}; simplify them")
    found = [polygonal(each) for each in shapely.make_valid(shapely.force_2d(shapes))]
    if empty := [number for number, each in enumerate(found, 1) if each.is_empty or each.area == 0.0]:
        raise OdanonError(f"area {empty[0]} of {len(found)} has no ground; draw it again")
    return found


def uploaded(body: bytes, asked: FileAsked) -> dict[str, Any]:
    """The areas of a file as GeoJSON with names."""
    import shapely

    if not body:
        raise OdanonError("the file is empty; choose a GeoJSON or GeoPackage file with polygons")
    names, shapes = _read(body, asked)
    if not names:
        raise OdanonError("the file holds no area; choose one with polygons")
    if len(names) > AREAS:
        raise TooLargeError(f"the file has {len(names):,} areas, and {AREAS} are taken; choose a file with fewer")
    features = [
        {
            "type": "Feature",
            "properties": {"name": name},
            "geometry": shapely.geometry.mapping(_simplest(shape)),
        }
        for name, shape in zip(_distinct(names), repaired(shapes), strict=True)
    ]
    return {"type": "FeatureCollection", "features": features}


def _simplest(shape: "BaseGeometry") -> "BaseGeometry":
    """A polygon where there is one only. No digit is dropped: a border moved by a hair cuts all zones that share it."""
    return shape.geoms[0] if len(getattr(shape, "geoms", ())) == 1 else shape


def _read(body: bytes, asked: FileAsked) -> tuple[list[str], list["BaseGeometry"]]:
    """Names and shapes; the file is opened by the process with little memory that opens all foreign files."""
    import geopandas
    import shapely

    os.environ["GDAL_SKIP"] = _other_formats()
    with tempfile.TemporaryDirectory(prefix="odanon-areas-") as folder:
        path = Path(folder, f"areas{_suffix(body)}")
        path.write_bytes(body)
        rows = _rows(path, asked)
    if rows.empty:
        return [], []
    shapes = geopandas.GeoSeries.from_wkb(rows["shape"].to_numpy(object), crs=str(rows["crs"].iloc[0]))
    placed = shapes.to_crs("EPSG:4326").to_numpy()
    kept = ~(shapely.is_missing(placed) | shapely.is_empty(placed))
    names = rows["label"].astype("str").where(rows["label"].notna(), "") if "label" in rows else [""] * len(rows)
    west, south, east, north = shapely.bounds(placed[kept]).T
    if not ((west >= -180) & (south >= -90) & (east <= 180) & (north <= 90)).all():  # nor where numbers are none
        raise OdanonError(
            "an area lies beyond longitude 180 or latitude 90; save the areas again with their reference system"
        )
    return [_one_line(str(name)) for name, keep in zip(names, kept, strict=True) if keep], [*placed[kept]]


def _one_line(name: str) -> str:
    """A name that may be asked with."""
    return " ".join(_CONTROLS.sub(" ", name).split())[:_LONGEST_NAME]


def _rows(path: Path, asked: FileAsked) -> pd.DataFrame:
    """Shapes with the column that was named, or `name` where the file has one."""
    wanted = [Column("label", asked.label or _NAME, "text")]
    try:
        return _table(path, wanted, asked.name)
    except NoColumnError:
        if asked.label is not None:
            raise
        return _table(path, [], asked.name)


def _table(path: Path, columns: list[Column], called: str) -> pd.DataFrame:
    try:
        return read_whole(called, Job([str(path)], "file", [*columns, _SHAPE, _CRS]), _MOST_ROWS).to_pandas()
    except NoColumnError as error:
        raise NoColumnError(_PLACE.sub("", str(error))) from None
    except OdanonError:
        raise OdanonError(
            f"{shown(called)} holds no polygons that can be read; save the areas again as GeoJSON or GeoPackage,"
            " with their coordinate reference system"
        ) from None


def _suffix(body: bytes) -> str:
    """What a file is by its first bytes; of other formats some name further files or addresses to read."""
    if body.startswith(b"SQLite format 3\0"):
        return ".gpkg"
    if body.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
        return ".geojson"
    raise OdanonError("the file is neither GeoJSON nor GeoPackage; save the areas in one of the two")


def _other_formats() -> str:
    """All formats that the reader knows but those that are taken."""
    import pyogrio

    return ",".join(name for name in pyogrio.list_drivers() if name not in _FORMATS)


def _distinct(names: list[str]) -> list[str]:
    """Names that differ; areas without one are numbered."""
    used: set[str] = set()
    found = []
    for number, given in enumerate(names, 1):
        name, plain, copy = given.strip() or f"Area {number}", given.strip() or f"Area {number}", 1
        while name in used:
            copy += 1
            name = f"{plain[: _LONGEST_NAME - 6]} ({copy})"  # there are fewer than a thousand
        used.add(name)
        found.append(name)
    return found
