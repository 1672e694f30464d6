"""A base map that the operator gives: raster tiles in a PMTiles file, served from here."""

import html
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pmtiles.reader import MmapSource, Reader
from pmtiles.tile import Compression, TileType

from odanon.errors import OdanonError

_TYPES = {
    TileType.PNG: "image/png",
    TileType.JPEG: "image/jpeg",
    TileType.WEBP: "image/webp",
    TileType.AVIF: "image/avif",
}


@dataclass(frozen=True)
class BaseMap:
    """Raster tiles in Web Mercator."""

    path: Path

    @classmethod
    def open(cls, path: Path) -> "BaseMap":
        """The tiles of a file, or a sentence that says why not."""
        found = cls(path)
        try:
            kind, packed = found._header["tile_type"], found._header["tile_compression"]
        except FileNotFoundError:
            raise OdanonError(f"{path} does not exist; give the path of a PMTiles file") from None
        except Exception:
            raise OdanonError(f"{path} is not a PMTiles file of version 3; make one with `pmtiles convert`") from None
        if kind == TileType.MVT:
            raise OdanonError(f"{path} has vector tiles, which are not drawn; give a PMTiles file with raster tiles")
        if kind not in _TYPES or packed not in (Compression.NONE, Compression.UNKNOWN):
            raise OdanonError(f"{path} has tiles of a kind that is not known; give raster tiles in PNG, JPEG or WebP")
        return found

    @property
    def media_type(self) -> str:
        return _TYPES[self._header["tile_type"]]

    def tile(self, z: int, x: int, y: int) -> bytes | None:
        """A tile; None where there is none."""
        if not self._header["min_zoom"] <= z <= self._header["max_zoom"] or max(x, y) >> z:
            return None
        return self._reader.get(z, x, y)

    def told(self) -> dict[str, Any]:
        """What the page needs to know; who made the map, as plain text."""
        return {
            "tiles": "./basemap/{z}/{x}/{y}",
            "min_zoom": self._header["min_zoom"],
            "max_zoom": self._header["max_zoom"],
            "attribution": html.unescape(re.sub(r"<[^>]*>", "", str(self._reader.metadata().get("attribution", "")))),
        }

    @cached_property
    def _reader(self) -> Reader:
        with self.path.open("rb") as file:
            return Reader(MmapSource(file))

    @cached_property
    def _header(self) -> dict[str, Any]:
        found: dict[str, Any] = self._reader.header()
        return found
