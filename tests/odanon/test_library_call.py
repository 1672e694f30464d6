"""`odanon.anonymize` and `odanon.hierarchy` by names, and what they say of wrong types."""

import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import geopandas
import h3
import numpy as np
import pandas as pd
import pytest
from shapely import box

import odanon
from odanon.errors import OdanonError


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """Trips of 200 people between the cells of a town."""
    rng, n = np.random.default_rng(4), 1200
    cells = np.array(sorted(h3.grid_disk(h3.latlng_to_cell(45.75, 4.85, 8), 2)), dtype=object)
    ends = {side: rng.choice(cells, n) for side in ("origin", "destination")}
    return pd.DataFrame({**ends, "person": rng.integers(0, 200, n)})


@pytest.fixture(scope="module")
def zones() -> geopandas.GeoDataFrame:
    """Sixteen squares in metres, numbered."""
    squares = [
        box(x, y, x + 1000, y + 1000) for x in range(840_000, 844_000, 1000) for y in range(6_500_000, 6_504_000, 1000)
    ]
    return geopandas.GeoDataFrame({"id": range(16), "code": [f"z{n}" for n in range(16)]}, geometry=squares, crs=2154)


def test_cells_need_nothing_but_the_name(rows: pd.DataFrame) -> None:
    release = odanon.anonymize(rows, hierarchy="h3", algorithm="uniform", k=5)
    assert release.flows["persons"].min() >= 5
    tree = odanon.hierarchy("h3", rows["origin"].unique())
    same = odanon.anonymize(rows, tree, algorithm="uniform", k=5)
    pd.testing.assert_frame_equal(release.flows, same.flows)


def test_a_release_that_nobody_verified_comes_with_a_warning(rows: pd.DataFrame) -> None:
    with pytest.warns(UserWarning, match="^not verified, by its own word: ") as told:
        odanon.anonymize(rows, "h3", "laplace", k=5, unit="trips")
    assert [Path(each.filename).name for each in told] == [Path(__file__).name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        odanon.anonymize(rows, "h3", "uniform", k=5)


@pytest.mark.parametrize("name", ["ward", "quadtree"])
def test_zones_are_a_table_or_a_file(zones: geopandas.GeoDataFrame, tmp_path: Path, name: str) -> None:
    zones.to_file(tmp_path / "zones.gpkg")
    given, read = odanon.hierarchy(name, zones), odanon.hierarchy(name, tmp_path / "zones.gpkg")
    assert given.n_leaves == 16
    assert given.coverage == "full"
    assert given.label.tolist() == read.label.tolist()
    assert "z3" in odanon.hierarchy(name, zones, id="code").label.tolist()
    rng = np.random.default_rng(0)
    trips = pd.DataFrame({"origin": rng.integers(0, 16, 500).astype(str), "destination": "3", "trips": 4})
    release = odanon.anonymize(trips, hierarchy=given, algorithm="uniform", unit="trips")
    assert release.flows["trips"].min() >= 10


def test_a_person_is_one_whatever_type_the_id_has(rows: pd.DataFrame) -> None:
    six = rows.iloc[:12].assign(origin=rows["origin"][0], destination=rows["origin"][0])
    for ids in (["17", "17.0"], [17, "17"], [17.0, "17"]):
        with pytest.raises(OdanonError, match="fewer than k"):
            odanon.anonymize(six.assign(person=pd.Series([*ids, "18"] * 4, six.index, dtype=object)), "h3", k=3)


def test_cells_are_known_by_their_numbers_and_in_capitals(rows: pd.DataFrame) -> None:
    usual = odanon.anonymize(rows, "h3", k=5)
    for name in (h3.str_to_int, str.upper):
        named = rows.assign(**{side: rows[side].map(name) for side in ("origin", "destination")})
        assert odanon.anonymize(named, "h3", k=5).flows.equals(usual.flows)
        tree = odanon.hierarchy("h3", pd.concat([named["origin"], named["destination"]]).unique())
        assert odanon.anonymize(named, tree, k=5).flows.equals(odanon.anonymize(rows, tree, k=5).flows)


@pytest.mark.parametrize("kind", ["Int64", "object", "category", "decimal"])
def test_counts_are_numbers_of_any_kind(rows: pd.DataFrame, kind: str) -> None:
    usual = odanon.anonymize(rows.assign(trips=2), "h3", k=5)
    counts = pd.Series([2] * len(rows)).map(Decimal) if kind == "decimal" else pd.Series([2] * len(rows), dtype=kind)
    assert odanon.anonymize(rows.assign(trips=counts), "h3", k=5).flows.equals(usual.flows)


def test_parameters_go_to_the_hierarchy(rows: pd.DataFrame) -> None:
    fine, plain = (odanon.hierarchy("h3", rows["origin"].unique(), **how) for how in ({}, {"steps": "standard"}))
    assert len(fine.label) > len(plain.label)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda rows, zones: odanon.anonymize(rows.to_dict("records"), "h3"), "a pandas DataFrame of trips, and this is a list"),
        (lambda rows, zones: odanon.anonymize(rows, zones), "hierarchy=odanon.hierarchy"),
        (lambda rows, zones: odanon.anonymize(rows, None), "this is a NoneType"),
        (lambda rows, zones: odanon.anonymize(rows, "h4"), "no hierarchy plugin is called 'h4'"),
        (lambda rows, zones: odanon.anonymize(rows.assign(origin="here"), "ward"), 'hierarchy "ward" needs to know where the tiles lie'),
        (lambda rows, zones: odanon.anonymize(rows, "h3", destinations="h3"), "destinations is what odanon.hierarchy makes"),
        (lambda rows, zones: odanon.anonymize(rows, "h3", algorithm=odanon), "algorithm is a name"),
        (lambda rows, zones: odanon.anonymize(rows.iloc[:0], "h3"), "the table has no rows"),
        (lambda rows, zones: odanon.anonymize(rows, "h3", weight="w"), "the table has no column 'w'"),
        (lambda rows, zones: odanon.anonymize(rows.assign(count=3), "h3"), "Write trips='count', or trips=None"),
        (lambda rows, zones: odanon.anonymize(rows.assign(flow=2.5), "h3"), "Write trips='flow', or trips=None"),
        (lambda rows, zones: odanon.anonymize(rows.assign(count="3"), "h3"), "Write trips='count', or trips=None"),
        (lambda rows, zones: odanon.anonymize(rows.assign(count="3"), "h3", trips="count"), "'count' holds texts; make numbers of them"),
        (lambda rows, zones: odanon.anonymize(rows.assign(count=[np.nan, *[3.0] * 1199]), "h3", trips="count"), "'count' lacks 1 counts"),
        (lambda rows, zones: odanon.anonymize(rows.assign(person=[{}] * len(rows)), "h3"), "person ids of a type that cannot be compared"),
        (lambda rows, zones: odanon.anonymize(rows.drop(columns="person"), "h3"), "unit persons needs a person id"),
        (lambda rows, zones: odanon.hierarchy("ward", 5), "this is a int"),
        (lambda rows, zones: odanon.hierarchy(zones, "ward"), "the name of a hierarchy"),
        (lambda rows, zones: odanon.hierarchy("ward", zones, id="name"), "the zones have no column 'name'"),
        (lambda rows, zones: odanon.hierarchy("ward", zones.set_crs(None, allow_override=True)), "zones.set_crs"),
        (lambda rows, zones: odanon.hierarchy("ward", "nowhere.gpkg"), "nowhere.gpkg does not exist"),
    ],
)  # fmt: skip
def test_wrong_types_get_a_sentence(rows: pd.DataFrame, zones: Any, call: Any, sentence: str) -> None:
    with pytest.raises(OdanonError) as refused:
        call(rows, zones)
    assert sentence in str(refused.value)
