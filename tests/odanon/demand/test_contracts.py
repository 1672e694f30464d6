"""Tables of others: their names and words, their faults, and sentences that tell nothing of anybody."""

from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely
from demand_town import census, survey, tables, zones

from odanon.demand.contracts import COLUMNS, LEFT_OUT, PARTIAL, checked, read
from odanon.errors import OdanonError


@pytest.mark.parametrize("table", COLUMNS)
@pytest.mark.parametrize("suffix", ["csv", pytest.param("parquet", marks=pytest.mark.thorough)])
def test_every_table_is_read_back_as_it_was(table: Any, suffix: str, tmp_path: Path) -> None:
    rows, path = tables()[table], tmp_path / f"{table}.{suffix}"
    if suffix == "csv":
        rows.to_csv(path, index=False)
    else:
        rows.to_parquet(path)
    found = read(table, path)
    assert found.attrs[LEFT_OUT] == {}
    assert [*found.columns] == [*COLUMNS[table]]
    for name in COLUMNS[table]:
        assert (
            found[name].astype(str).str.removesuffix(".0").tolist()
            == rows[name].astype(str).str.removesuffix(".0").tolist()
        )


def test_columns_words_and_dialects_of_others_become_ours(tmp_path: Path) -> None:
    path = tmp_path / "census.csv"
    path.write_text(
        "id;IPONDI;IRIS;AGEREV;SEXE;CS;VOIT;STOC\n1;2,7135;10;34;1;3;1;10\n2;1,5;20;7;2;8;0;22\n3;3;10;61;9;8;0;22\n"
    )
    names = {"person": "id", "weight": "IPONDI", "home_zone": "IRIS", "age": "AGEREV", "gender": "SEXE"}
    names |= {"occupation": "CS", "car": "VOIT", "home_status": "STOC"}
    words = {"gender": {"1": "male", "2": "female", "9": None}, "car": {"0": "no", "1": "yes"}}
    found = read("census", path, names, words)
    assert found["weight"].tolist() == [2.7135, 1.5]
    assert found["age"].tolist() == ["30-59", "0-17"]
    assert found[["gender", "car"]].astype(str).values.tolist() == [["male", "yes"], ["female", "no"]]
    assert found.attrs[LEFT_OUT] == {"gender": 1}, "a word that means nothing is a value that is not known"


@pytest.mark.parametrize("suffix", ["gpkg", "geojson", "parquet"])
def test_zones_of_a_layer_get_a_point_inside(suffix: str, tmp_path: Path) -> None:
    """Also where the middle lies outside, and where two outlines are one zone."""
    angle = shapely.Polygon([(0, 0), (4, 0), (4, 1), (1, 1), (1, 4), (0, 4)])
    names = {"code": ["n", "n", "s"], "insee": ["x", "x", "y"], "canton": ["k", "k", "k"]}
    layer = geopandas.GeoDataFrame(
        names, geometry=[angle, shapely.box(9, 9, 10, 10), shapely.box(4, 4, 5, 5)], crs="EPSG:4326"
    )
    path = tmp_path / f"zones.{suffix}"
    if suffix == "parquet":
        layer.to_parquet(path)
    else:
        layer.to_file(path)
    found = read("zones", path, {"zone": "code", "commune": "insee"})
    assert found[["zone", "commune", "canton"]].astype(str).values.tolist() == [["n", "x", "k"], ["s", "y", "k"]]
    assert found.geometry.iloc[0].area == pytest.approx(8)
    assert shapely.contains_xy(found.geometry.to_numpy(), found["lon"], found["lat"]).all()


def test_rows_that_cannot_be_used_are_left_out_and_counted_by_column() -> None:
    rows = census().astype({"home_zone": object})
    rows.loc[0, "weight"] = -1
    rows.loc[1, "weight"] = np.nan
    rows.loc[2, "home_zone"] = None
    rows.loc[3, "gender"] = " "
    found = checked("census", rows, "census")
    assert found.attrs[LEFT_OUT] == {"weight": 2, "home_zone": 1, "gender": 1}
    assert len(found) == len(rows) - 4


def test_whose_trip_is_left_out_is_known() -> None:
    trips = survey()[1].astype({"leave_min": float})
    trips.loc[0, "leave_min"] = np.inf
    assert checked("survey_trips", trips, "trips").attrs[PARTIAL] == [trips.loc[0, "person"]]


def _changed(table: str, column: str, value: Any, rows: Any = slice(None)) -> pd.DataFrame:
    frame = tables()[table].astype({column: object})
    frame.loc[rows, column] = value
    return frame


@pytest.mark.parametrize(
    ("table", "frame", "sentence"),
    [
        ("census", census().drop(columns="age"), "has no column 'age'; census must have person, weight, home_zone, age"),
        ("census", _changed("census", "weight", "many"), "24 of 24 rows cannot be used, most for what they have in weight; name another column"),
        ("census", _changed("census", "person", "same"), "23 rows have a person that another row has; give each person one row"),
        ("census", _changed("census", "age", "4"), "the numbers in age make everybody a child; if they stand for classes, say for which with values: {age: {...}} under inputs.census"),
        ("survey_trips", _changed("survey_trips", "purpose", "loisir", 3), "it has 'loisir'; say what they mean with values: {purpose: {...}} under inputs.survey_trips"),
        ("survey_trips", _changed("survey_trips", "mode", "rocket", 3), "mode may be foot, bicycle, car, public"),
        ("od", _changed("od", "step", 0.5), "most for what they have in step"),
        ("zones", zones().iloc[:0], "has no rows"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_used_is_refused_in_a_sentence(table: Any, frame: pd.DataFrame, sentence: str) -> None:
    with pytest.raises(OdanonError) as failed:
        checked(table, frame, "the table")
    assert sentence in str(failed.value)
    assert "\n" not in str(failed.value)
    assert "c001" not in str(failed.value), "an id is nobody's business"
    assert "s001" not in str(failed.value)


def test_files_that_cannot_be_read_are_named_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "od.csv"
    with pytest.raises(OdanonError, match=r"od\.csv does not exist"):
        read("od", path)
    path.write_text("step,from,destination,trips\n1,a,b,2\n")
    with pytest.raises(
        OdanonError, match=r"no column 'origin'.*it has step, from.*columns: \{origin: \.\.\.\} under inputs\.od"
    ):
        read("od", path)
    path.write_text("step;origin;destination;trips\n1;a;b;1,234\n1;b;a;2,345\n")
    with pytest.raises(OdanonError, match="may be thousands; say what separates decimals with csv"):
        read("od", path)
    assert read("od", path, csv={"decimal": ","})["trips"].tolist() == [1.234, 2.345]
    with pytest.raises(OdanonError, match="od has no column 'weight' to be named"):
        read("od", path, {"weight": "w"})
    (tmp_path / "zones.gpkg").write_bytes(b"no layer")
    with pytest.raises(OdanonError, match=r"zones\.gpkg.*cannot be read as a polygon layer"):
        read("zones", tmp_path / "zones.gpkg")
