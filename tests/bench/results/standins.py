"""Generated tables that stand in for the papers' data sets: as many tiles, pairs and trips as they report.

Where trips go is invented (hot spots, distance decay, a heavy tail, large volumes between busy places that lie close); nothing else
of the originals is known here.
"""

from pathlib import Path

import geopandas
import h3
import numpy as np
import numpy.typing as npt
import pandas as pd
from generate import City, flows
from published import CITIES, PARIS_MEAN_WEIGHT, SETS
from shapely.geometry import box

from odanon.tables.read import TableInput

_LYON = (45.76, 4.84)
_LEAST_VOLUME = 5_500  # 000 section 4.4 chose matrices above 5,000
_PARIS_PEOPLE, _SURVEY_TRIPS = 3_337, 81_289  # the whole region, 002 section 5.2
_DECAY, _NOISE = 0.08, 1.0  # of volumes: distance in shares of the city's width, and a spread of the logarithm
_HOURS = (4_000, 12_000, 24_000, 34_000, 42_000, 62_000)  # trips; 001 has 29,700 in the mean hour
_SIDE, _MESH = 64, 200
_VISITED = {"root": 4, "coverage": "observed", "steps": "standard"}  # sizes count cells with traffic
_SQUARES = {"crs": "EPSG:32618"}


def matrix(folder: Path, name: str, draw: int = 0) -> TableInput:
    """One matrix of a set of 000 Table 2: scattered antennas under a Ward dendrogram of their places."""
    tiles, pairs, volume, _ = SETS[name]
    path, zones = folder / f"{name}_{draw}.parquet", folder / f"{name}_{draw}_tiles.csv"
    rng = np.random.default_rng([sum(name.encode()), draw])
    city = City.make(tiles, rng)
    o, d, _ = flows(city, min(pairs, _LEAST_VOLUME) if volume < _LEAST_VOLUME else pairs, rng)
    trips = coupled(_heavy_tail(len(o), max(volume, _LEAST_VOLUME), rng), city, o, d, rng)
    places = city.centre + rng.uniform(-0.4, 0.4, (tiles, 2))
    lat, lon = _LYON[0] + 0.0045 * places[:, 1], _LYON[1] + 0.0064 * places[:, 0]
    pd.DataFrame({"id": [f"t{i}" for i in range(tiles)], "lat": lat, "lon": lon}).to_csv(zones, index=False)
    names = np.array([f"t{i}" for i in range(tiles)])
    pd.DataFrame({"origin": names[o], "destination": names[d], "trips": trips}).to_parquet(path, index=False)
    return TableInput(path=path, count="trips", hierarchy="ward", zones=zones)


def hexagons(folder: Path, name: str) -> TableInput:
    """A city of 002 Table 5.1 on H3 cells of resolution 10, whose parents count the cells with traffic."""
    n_trips, n_pairs, origins, destinations = CITIES[name]
    rng = np.random.default_rng(sum(name.encode()))
    city = City.make(max(origins, destinations), rng)
    o, d, _ = flows(city, n_pairs, rng)
    cells, trips = _cells(city, 10, 150), coupled(_heavy_tail(n_pairs, n_trips, rng), city, o, d, rng)
    table = pd.DataFrame({"origin": cells[o], "destination": cells[d], "trips": trips})
    path = folder / f"{name}.parquet"
    table.groupby(["origin", "destination"], as_index=False)["trips"].sum().to_parquet(path, index=False)
    return TableInput(path=path, count="trips", hierarchy_parameters=_VISITED)


def survey(folder: Path) -> TableInput:
    """Weighted participants of two sexes with as many trips as the Paris survey, on cells of resolution 9."""
    rng = np.random.default_rng(25)
    n_trips = _SURVEY_TRIPS
    city = City.make(6_000, rng)
    home = city.anywhere(_PARIS_PEOPLE, rng)
    places = np.column_stack([home, *(city.next_tiles(home, rng) for _ in range(5))])
    person = rng.integers(0, _PARIS_PEOPLE, n_trips)
    at = rng.integers(0, 6, n_trips)
    to = (at + rng.integers(1, 6, n_trips)) % 6
    weight = rng.lognormal(0, 0.6, _PARIS_PEOPLE)
    weight *= PARIS_MEAN_WEIGHT / weight[person].mean()
    sex = np.where(rng.random(_PARIS_PEOPLE) < 0.45, "M", "F")
    cells = _cells(city, 9, 400)
    path = folder / "survey.parquet"
    pd.DataFrame(
        {
            "person": person,
            "origin": cells[places[person, at]],
            "destination": cells[places[person, to]],
            "weight": weight[person].round(3),
            "sex": sex[person],
        }
    ).to_parquet(path, index=False)
    return TableInput(path=path, person="person", weight="weight", hierarchy_parameters=_VISITED, segment="sex")


def squares(folder: Path) -> TableInput:
    """Hours of trips on the 64 x 64 squares of 200 m of 001 section 3, under a quadtree."""
    rng = np.random.default_rng(64)
    row, col = np.divmod(np.arange(_SIDE**2), _SIDE)
    names = np.array([f"s{r:02d}-{c:02d}" for r, c in zip(row, col, strict=True)])
    shapes = [box(_MESH * c, _MESH * r, _MESH * (c + 1), _MESH * (r + 1)) for r, c in zip(row, col, strict=True)]
    zones = folder / "squares.gpkg"
    if not zones.exists():  # a GeoPackage holds the time it was written
        placed = geopandas.GeoSeries(shapes, crs="EPSG:32618").translate(580_000, 4_500_000)
        geopandas.GeoDataFrame({"id": names}, geometry=placed, crs="EPSG:32618").to_file(zones)
    away = np.hypot(row - 32, (col - 32) * 1.8) / 32
    pull = np.exp(-3 * away) * rng.pareto(1.5, _SIDE**2)
    parts = []
    for hour, n in enumerate(_HOURS):
        ends = rng.choice(_SIDE**2, (2, n), p=pull / pull.sum())
        parts.append(pd.DataFrame({"hour": hour, "origin": names[ends[0]], "destination": names[ends[1]]}))
    path = folder / "squares.parquet"
    table = pd.concat(parts).groupby(["hour", "origin", "destination"], as_index=False).size()
    table.rename(columns={"size": "trips"}).to_parquet(path, index=False)
    return TableInput(
        path=path, count="trips", time="hour", hierarchy="quadtree", hierarchy_parameters=_SQUARES, zones=zones
    )


def _heavy_tail(n: int, total: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Whole volumes of at least one with a Pareto tail that add up to about `total`."""
    tail = rng.pareto(1.3, n)
    low, high = 0.0, 1e3
    for _ in range(60):
        scale = (low + high) / 2
        made = np.minimum(1 + scale * tail, total / 50).astype(np.int64)
        low, high = (scale, high) if made.sum() < total else (low, scale)
    return made


def coupled(
    trips: npt.NDArray[np.int64], city: City, o: npt.NDArray, d: npt.NDArray, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """The same volumes, the larger ones between busier places that lie closer.

    Drawn without regard to place, neighbouring flows resemble each other less than real ones, and E is too large.
    """
    width = city.centre.max() + 1.0
    apart = np.hypot(*(city.centre[o] - city.centre[d]).T) / width
    score = np.log(city.pull[o] * city.pull[d] + 1e-300) - apart / _DECAY + _NOISE * rng.normal(size=len(trips))
    given = np.empty_like(trips)
    given[np.argsort(score, kind="stable")] = np.sort(trips)
    return given


def _cells(city: City, resolution: int, spacing_m: float) -> npt.NDArray[np.object_]:
    lat = _LYON[0] + city.centre[:, 1] * spacing_m / 111_320
    lon = _LYON[1] + city.centre[:, 0] * spacing_m / 77_600
    return np.array([h3.latlng_to_cell(*at, resolution) for at in zip(lat, lon, strict=True)], dtype=object)
