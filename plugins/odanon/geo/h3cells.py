"""The H3 cells of many points, by one call of the library a cell and not a point; and those that labels name."""

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import combinations, repeat
from math import asin, cos, sin, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.geo.arrays import FloatArray, ObjectArray

CellArray = npt.NDArray[np.uint64]
CodeArray = npt.NDArray[np.int32]

_MANY = 500_000  # points that are worth loading a compiler
_CHUNK = 1 << 20  # points at a time, which bounds memory
_THREADS = 2
# Of every odd resolution the lattice is turned against that of the even ones.
_TURN = asin(sqrt(3 / 28))
# What is closer to an edge is left to the library, whose own arithmetic decides there: it and ours differ by less than a
# tenth of this, but for the library's at the middles of faces (64 km around one, every point is left to it).
_SURE, _SURE_FACE, _NEAR_MIDDLE = 1e-6, 1e-9, cos(0.01)


_TEXT, _NUMBER = re.compile("[0-9a-fA-F]{15}"), re.compile("[0-9]{18}")


def cell_names(labels: Iterable[Any]) -> list[str] | None:
    """The H3 cells that labels name, as texts in small or capital letters or as whole numbers; None if one of them is no cell."""
    from h3.api import basic_int

    names = []
    for label in map(str, labels):
        number = int(label, 16) if _TEXT.fullmatch(label) else int(label) if _NUMBER.fullmatch(label) else 0
        if not basic_int.is_valid_cell(number):
            return None
        names.append(basic_int.int_to_str(number))
    return names


def is_cell(label: str) -> bool:
    """Whether a label is a cell as the library writes it; the library itself fails on long numbers."""
    return cell_names([label]) == [label]


def coded_cells(lat: FloatArray, lon: FloatArray, resolution: int) -> tuple[CodeArray, ObjectArray]:
    """A number for each point, and the names of the cells that numbers stand for."""
    from h3.api import basic_int

    coded, numbers = _coded if len(lat) >= _MANY else _each, dict[int, int]()
    codes = np.empty(len(lat), np.int32)
    for at in range(0, len(lat), _CHUNK):
        part = slice(at, at + _CHUNK)
        code, cells = coded(
            lat[part].astype(np.float64, copy=False), lon[part].astype(np.float64, copy=False), resolution
        )
        place, distinct = pd.factorize(cells)
        number = np.array([numbers.setdefault(cell, len(numbers)) for cell in distinct.tolist()], np.int32)
        codes[part] = number[place][code]
    return codes, np.array([basic_int.int_to_str(cell) for cell in numbers], dtype=object)


def _each(lat: FloatArray, lon: FloatArray, resolution: int) -> tuple[npt.NDArray[np.intp], CellArray]:
    """The cell of each point as the library says."""
    return np.arange(len(lat)), _by_the_library(lat, lon, resolution)


def _coded(lat: FloatArray, lon: FloatArray, resolution: int) -> tuple[npt.NDArray[np.intp], CellArray]:
    """A number for each point, and its cell; several may have the same one."""
    keys = _keys(lat, lon, resolution)
    code, distinct = pd.factorize(keys)
    first = np.empty(len(distinct), np.intp)
    first[code[::-1]] = np.arange(len(code))[::-1]  # the last that is written stays
    unsure = np.flatnonzero(keys < 0)
    code[unsure] = len(first) + np.arange(len(unsure))
    asked = np.concatenate([first, unsure])
    return code, _by_the_library(lat[asked], lon[asked], resolution)


def _by_the_library(lat: FloatArray, lon: FloatArray, resolution: int) -> CellArray:
    from h3.api import basic_int

    points = lat.tolist(), lon.tolist(), repeat(resolution)
    return np.fromiter(map(basic_int.latlng_to_cell, *points), np.uint64, len(lat))


def _keys(lat: FloatArray, lon: FloatArray, resolution: int) -> npt.NDArray[np.int64]:
    """A number for the hexagon of each point, -1 where that is not sure."""
    from odanon.geo.kernels import hexagon_of

    frames, corner = _faces()
    # The corner of a face lies two cells of resolution 0 from its middle; each resolution has 7 times as many cells.
    scale = 2 / corner * sqrt(7) ** resolution
    turn = _TURN if resolution % 2 else 0.0
    keys = np.empty(len(lat), np.int64)

    def part(at: slice) -> None:
        hexagon_of(
            lat[at], lon[at], frames, scale, cos(turn), sin(turn), _SURE, _SURE_FACE, _NEAR_MIDDLE, keys[at]
        )  # fmt: skip

    edges = np.linspace(0, len(lat), _THREADS + 1).astype(int)
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(part, map(slice, edges, edges[1:])))
    return keys


@cache
def _faces() -> tuple[FloatArray, float]:
    """The frames of the icosahedron's faces (middle, towards a corner, left of that), and how far a corner is on its plane.

    Its corners are the middles of the twelve pentagons.
    """
    import h3

    lat, lon = np.radians([h3.cell_to_latlng(cell) for cell in sorted(h3.get_pentagons(0))]).T
    corners = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    side = (corners[0] @ corners[1:].T).max()
    frames, far = [], 0.0
    for three in combinations(corners, 3):
        if all(one @ other > side - 0.1 for one, other in combinations(three, 2)):
            middle = sum(three) / np.linalg.norm(sum(three))
            aside = three[0] / (three[0] @ middle) - middle
            far = float(np.linalg.norm(aside))
            ahead = aside / far
            frames.append([middle, ahead, np.cross(middle, ahead)])
    return np.array(frames), far
