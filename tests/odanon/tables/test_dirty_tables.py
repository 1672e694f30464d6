"""Tables as people have them: every way of writing one gives the same rows, or a sentence that says what to do."""

import codecs
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas
import h3
import numpy as np
import pandas as pd
import pytest
from pyproj import Transformer
from shapely import box

import odanon
from odanon.errors import OdanonError
from odanon.tables.look import look
from odanon.tables.read import TableInput

ROWS = 40
COORDINATES = {"origin": "o_lat,o_lon", "destination": "d_lat,d_lon", "person": "user", "count": "number"}


@pytest.fixture(scope="module")
def trips() -> pd.DataFrame:
    """Trips with coordinates, a name with an accent, and a count."""
    rng = np.random.default_rng(3)
    sides = {
        f"{side}_{what}": (centre + rng.normal(0, 0.02, ROWS)).round(5)
        for side in "od"
        for what, centre in (("lat", 45.75), ("lon", 4.85))
    }
    who = [f"Zoé {n}" for n in rng.integers(0, 9, ROWS)]
    return pd.DataFrame({"user": who, **sides, "number": rng.integers(1, 5, ROWS)})


def expected(trips: pd.DataFrame) -> list[tuple[str, str, str, int]]:
    cells = [
        [h3.latlng_to_cell(*place, 9) for place in zip(trips[f"{s}_lat"], trips[f"{s}_lon"], strict=True)] for s in "od"
    ]
    return list(zip(*cells, trips["user"], trips["number"], strict=True))


def read(path: Path, **options: Any) -> list[tuple[Any, ...]]:
    rows = TableInput(path=path, **{**COORDINATES, **options}).rows()
    return list(rows[["origin", "destination", "person", "count"]].itertuples(index=False, name=None))


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(OdanonError) as refused:
        TableInput(path=path, **options).load()
    return str(refused.value)


def written(table: pd.DataFrame, folder: Path, **how: Any) -> Path:
    table.to_csv(folder / "od.csv", index=False, **how)
    return folder / "od.csv"


@pytest.mark.parametrize(
    ("how", "note"),
    [
        ({}, None),
        ({"sep": ";", "decimal": ","}, "fields separated by semicolons, decimal comma"),
        ({"sep": "\t"}, "fields separated by tabs"),
        ({"sep": "|", "quoting": 1}, "fields separated by bars"),
        ({"encoding": "latin-1"}, "encoding cp1252"),
        ({"encoding": "utf-8-sig"}, "UTF-8 with a byte order mark"),
        ({"encoding": "utf-16"}, "encoding utf-16-le"),
        ({"encoding": "utf-16-be", "sep": ";", "decimal": ","}, "encoding utf-16-be, fields separated by semicolons, decimal comma"),
        ({"lineterminator": "\r\n"}, None),
    ],
    ids=lambda how: "-".join(map(repr, how.values())) if isinstance(how, dict) else "",
)  # fmt: skip
def test_however_a_table_is_written_its_rows_are_the_same_and_it_is_told(
    trips: pd.DataFrame, tmp_path: Path, how: dict[str, Any], note: str | None
) -> None:
    path = written(trips, tmp_path, **how)
    assert read(path) == expected(trips)
    assert ", ".join(look(path).notes) == (note or "")


def test_a_letter_of_another_encoding_far_behind_the_beginning_is_noticed(tmp_path: Path) -> None:
    cell = h3.latlng_to_cell(45.75, 4.85, 8)
    lines = [f"{cell},{cell},Anna"] * 20_000 + [f"{cell},{cell},Zoé"]
    (tmp_path / "od.csv").write_bytes("\n".join(["origin,destination,user", *lines]).encode("latin-1"))
    rows = TableInput(path=tmp_path / "od.csv", person="user").rows()
    assert sorted(rows["person"].unique()) == ["Anna", "Zoé"]


def test_letters_that_an_encoding_does_not_have_refuse_the_file(trips: pd.DataFrame, tmp_path: Path) -> None:
    path = written(trips, tmp_path)
    assert "letters that its encoding does not have" in refusal(path, **COORDINATES, csv={"encoding": "ascii"})
    assert "there is no encoding 'klingon'" in refusal(path, **COORDINATES, csv={"encoding": "klingon"})


def test_packed_files_are_read(trips: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "od.csv.gz"
    path.write_bytes(gzip.compress(trips.to_csv(index=False, sep=";").encode()))
    assert read(path) == expected(trips)


@pytest.mark.parametrize(
    ("how", "room"),
    [({}, 1.25), ({}, 0.5), ({"header": False}, 1.25), ({"quoting": 1}, 1.25), ({"quoting": 1}, 0)],
    ids=["plain", "more rows than expected", "no header", "quotes", "quotes and no room"],
)
def test_a_file_read_in_parts_has_the_rows_of_the_whole_in_their_order(
    trips: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any], room: float
) -> None:
    columns = [f"column{at}" for at in range(1, 7)] if "header" in how else list(trips)
    options = dict(zip(("person", "count"), (columns[0], columns[5]), strict=True))
    ends = {"origin": ",".join(columns[1:3]), "destination": ",".join(columns[3:5])}
    path = written(trips, tmp_path, **how)
    monkeypatch.setattr("odanon.tables.look._PART_BYTES", 100)
    monkeypatch.setattr("odanon.tables.columns.os.cpu_count", lambda: 3)
    monkeypatch.setattr("odanon.tables.columns._MORE_ROWS", room)
    counted: list[tuple[int, int]] = []
    source = TableInput(path=path, **ends, **options)
    assert len(source.seen.parts(3)) == (1 if "quoting" in how else 3)
    source.rows(lambda rows, total: counted.append((rows, total)))
    assert read(path, **ends, **options) == expected(trips)
    assert max(counted) == (ROWS, ROWS)


def test_columns_without_a_header_have_numbers(trips: pd.DataFrame, tmp_path: Path) -> None:
    path = written(trips, tmp_path, header=False)
    options = {"origin": "column2,column3", "destination": "column4,column5", "person": "column1", "count": "column6"}
    assert read(path, **options) == expected(trips)
    assert "no header: columns are called column1 to column6" in look(path).notes
    assert "it has column1, column2" in refusal(path, **COORDINATES)


def test_blanks_around_names_and_names_over_two_lines_are_no_obstacle(trips: pd.DataFrame, tmp_path: Path) -> None:
    odd = trips.rename(columns={"user": " user ", "number": "how\nmany"})
    assert read(written(odd, tmp_path), count="how\nmany") == expected(trips)


def test_blanks_around_values_make_no_other_zone_and_nobody_else(trips: pd.DataFrame, tmp_path: Path) -> None:
    cells = pd.DataFrame(expected(trips), columns=["origin", "destination", "user", "number"])
    padded = cells.assign(
        **{name: [f"{v} " if at % 2 else f" {v}" for at, v in enumerate(cells[name])] for name in list(cells)[:3]}
    )
    for name, write in (("od.csv", pd.DataFrame.to_csv), ("od.parquet", pd.DataFrame.to_parquet)):
        write(padded, tmp_path / name, index=False)
        assert read(tmp_path / name, origin="origin", destination="destination") == expected(trips)


@pytest.mark.parametrize("form", ["sep=;\n{}", "sep=;\r\n{}", "{}\r"])
def test_what_spreadsheets_add_is_no_obstacle(trips: pd.DataFrame, tmp_path: Path, form: str) -> None:
    text = trips.to_csv(index=False, sep=";", decimal=",")
    path = tmp_path / "od.csv"
    path.write_bytes(form.format(text.replace("\n", "\r") if form == "{}\r" else text).encode())
    assert read(path) == expected(trips)
    path.write_text("\n".join(f"{line};" if at else line for at, line in enumerate(text.splitlines())))
    assert read(path) == expected(trips)


@pytest.mark.parametrize("first", ["Trips in March", "user,o_lat"])
def test_a_first_line_that_is_not_that_of_the_rows_is_told(trips: pd.DataFrame, tmp_path: Path, first: str) -> None:
    (tmp_path / "od.csv").write_text(f"{first}\n{trips.to_csv(index=False)}")
    fields = len(first.split(","))
    assert f"the first line has {fields} fields and most others have 6" in refusal(tmp_path / "od.csv", **COORDINATES)


def test_a_name_that_two_columns_have_is_refused_where_it_is_wanted(trips: pd.DataFrame, tmp_path: Path) -> None:
    twice = pd.concat([trips, trips[["user"]]], axis="columns")
    assert "has 2 columns 'user'; give each its own name" in refusal(written(twice, tmp_path), **COORDINATES)
    others = pd.concat([trips.assign(note=1), trips.assign(note=2)[["note"]]], axis="columns")
    assert read(written(others, tmp_path)) == expected(trips)


def test_a_misspelt_column_gets_the_nearest(trips: pd.DataFrame, tmp_path: Path) -> None:
    sentence = refusal(written(trips, tmp_path), **{**COORDINATES, "person": "usr"})
    assert "has no column 'usr' (did you mean 'user'?); it has user, o_lat" in sentence


def test_thousands_are_read_where_it_is_clear_that_they_are_some(trips: pd.DataFrame, tmp_path: Path) -> None:
    many = trips.assign(number=trips["number"] * 1000)
    for sign, how in ((",", {}), (".", {"sep": ";", "decimal": ","}), ("\u202f", {}), ("'", {})):
        told = many.assign(number=[f"{n:,}".replace(",", sign) for n in many["number"]])
        assert read(written(told, tmp_path, **how)) == expected(many)


@pytest.mark.parametrize("sign", [".", ","])
def test_numbers_that_may_be_thousands_are_asked_about(tmp_path: Path, sign: str) -> None:
    """1.000 would be one trip otherwise, and nobody would notice."""
    cell = h3.latlng_to_cell(45.75, 4.85, 8)
    (tmp_path / "od.csv").write_text(f'origin,destination,n\n{cell},{cell},"1{sign}000"\n{cell},{cell},"12{sign}000"\n')
    table = {"path": tmp_path / "od.csv", "count": "n"}
    assert "may be thousands; say what separates decimals with --csv-set decimal=" in refusal(**table)
    rows = TableInput(**table, csv={"decimal": "," if sign == "." else "."}).rows()
    assert rows["count"].tolist() == [1000, 12000]


@pytest.mark.parametrize("name", ["count", "Trips", "flow", "N", "sum_trips", "Persons"])
def test_a_forgotten_count_is_asked_about_and_never_taken_for_one_trip_a_row(tmp_path: Path, name: str) -> None:
    cell = h3.latlng_to_cell(45.75, 4.85, 8)
    pd.DataFrame({"origin": [cell], "destination": [cell], name: [50]}).to_parquet(tmp_path / "od.parquet")
    table = TableInput(path=tmp_path / "od.parquet")
    assert f"Add --count {name}, or --count 1 if every row is one trip" in refusal(tmp_path / "od.parquet")
    assert table.__class__(path=table.path, count=name).load().matrices[None].volume == 50
    assert table.__class__(path=table.path, count="1").load().matrices[None].volume == 1
    pd.DataFrame({"origin": [cell], "destination": [cell], name: ["east"]}).to_parquet(tmp_path / "od.parquet")
    assert table.__class__(path=table.path).load().matrices[None].volume == 1


def test_a_table_with_every_pair_once_beside_numbers_is_asked_about_whatever_they_are_called(tmp_path: Path) -> None:
    cells = sorted(h3.grid_disk(h3.latlng_to_cell(45.75, 4.85, 8), 1))
    flows = pd.DataFrame([(o, d) for o in cells for d in cells], columns=["origin", "destination"])
    flows = flows.assign(S000=range(len(flows)), area=1.5, name="east")
    flows.to_csv(tmp_path / "od.csv", index=False)
    question = (
        "every pair is there once: does one of 'S000', 'area' say how many trips a row stands for? Add --count COLUMN"
    )
    assert question in refusal(tmp_path / "od.csv")
    assert TableInput(path=tmp_path / "od.csv", count="1").load().matrices[None].volume == len(flows)
    with pytest.raises(OdanonError, match="does column 'S000' say how many trips a row stands for"):
        odanon.anonymize(flows, "h3", unit="trips", k=2)
    trips = pd.concat([flows, flows.head(1)])  # a pair comes twice, as in a table of trips
    trips.to_csv(tmp_path / "trips.csv", index=False)
    assert TableInput(path=tmp_path / "trips.csv").load().matrices[None].volume == len(trips)
    flows.assign(user=range(len(flows))).to_csv(tmp_path / "people.csv", index=False)
    assert TableInput(path=tmp_path / "people.csv", person="user").load().matrices[None].volume == len(flows)


@pytest.mark.parametrize("values", [["12.5", "3"], ["NA", "3"], [" ", "3"], ["-1", "3"]])
def test_a_count_with_fractions_or_holes_is_asked_about_as_well(tmp_path: Path, values: list[str]) -> None:
    cell = h3.latlng_to_cell(45.75, 4.85, 8)
    pd.DataFrame({"origin": cell, "destination": cell, "trips": values}).to_csv(tmp_path / "od.csv", index=False)
    assert "does column 'trips' say how many trips a row stands for?" in refusal(tmp_path / "od.csv")


def test_degrees_with_three_decimals_behind_a_comma_are_asked_about(trips: pd.DataFrame, tmp_path: Path) -> None:
    short = trips.round({f"{side}_{what}": 3 for side in "od" for what in ("lat", "lon")})
    path = written(short, tmp_path, sep=";", decimal=",", float_format="%.3f")
    assert "numbers in 'o_lat' have three digits behind a point or comma" in refusal(path, **COORDINATES)
    assert read(path, csv={"decimal": ","}) == expected(short)


def test_a_text_is_read_whatever_its_name_ends_in(trips: pd.DataFrame, tmp_path: Path) -> None:
    for name in ("od.dat", "od", "od.csv.2026"):
        written(trips, tmp_path).rename(tmp_path / name)
        assert read(tmp_path / name) == expected(trips)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda path: path.write_bytes(b""), "is empty; give a table"),
        (lambda path: path.write_bytes(codecs.BOM_UTF8 + b"\n\n"), "is empty; give a table"),
        (lambda path: path.write_text("origin,destination\n"), "has no rows"),
        (lambda path: path.write_bytes(bytes(range(256)) * 8), "is no text"),
        (lambda path: path.mkdir(), "is a folder"),
    ],
    ids=["nothing", "a mark", "a header", "a picture", "a folder"],
)
def test_files_without_a_table_get_a_sentence(tmp_path: Path, make: Callable[[Path], Any], sentence: str) -> None:
    make(tmp_path / "od.csv")
    assert sentence in refusal(tmp_path / "od.csv")


def test_formats_of_others_get_a_sentence(tmp_path: Path) -> None:
    for name in ("od.xlsx", "od.jsonl"):
        (tmp_path / name).write_bytes(b"PK\3\4")
        assert "save it as CSV or Parquet first" in refusal(tmp_path / name)
    (tmp_path / "od.parquet").write_bytes(b"PAR1 not quite")
    assert "cannot be read as a table" in refusal(tmp_path / "od.parquet")
    assert "does not exist" in refusal(tmp_path / "none.csv")


def test_rows_without_a_value_are_counted_and_left_out_if_so_asked(
    trips: pd.DataFrame, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    holes = trips.astype({"number": object})
    holes.loc[[1, 2], "user"] = None
    holes.loc[[2, 3], "number"] = "many"
    holes.loc[4, "o_lat"] = 200.0
    path = written(holes, tmp_path)
    with path.open("a") as file:
        file.write("a row with, too few fields\n")
    sentence = refusal(path, **COORDINATES)
    assert (
        "5 of 41 rows with 5 of 94 trips have no usable value (o_lat,o_lon: 2, d_lat,d_lon: 1, user: 3, number: 3; 1 have none of these, as rows with too few or too many fields)"
        in sentence
    )
    assert "leave them out with --drop-missing" in sentence
    kept = [row for at, row in enumerate(expected(trips)) if at not in (1, 2, 3, 4)]
    assert read(path, drop_missing=True) == kept
    assert "5 of 41 rows with 5 of 94 trips have no usable value" in caplog.text


def test_zones_that_a_program_wrote_as_floats_are_whole_numbers(tmp_path: Path) -> None:
    pd.DataFrame({"origin": [1.0, 2.0, None], "destination": [2, 1, 1]}).to_csv(tmp_path / "od.csv", index=False)
    pd.DataFrame({"origin": [1.0, 2.0, None], "destination": [2, 1, 1]}).to_parquet(tmp_path / "od.parquet")
    for name in ("od.csv", "od.parquet"):
        rows = TableInput(path=tmp_path / name, drop_missing=True).rows()
        assert rows["origin"].tolist() == ["1", "2"]


@pytest.mark.parametrize("crs", ["EPSG:2154", "EPSG:32631"])
def test_projected_coordinates_are_recognised_and_read_by_their_system(
    trips: pd.DataFrame, tmp_path: Path, crs: str
) -> None:
    forth = Transformer.from_crs("EPSG:4326", crs, always_xy=True)
    table = trips[["user", "number"]].copy()
    for side in "od":
        table[f"{side}_x"], table[f"{side}_y"] = forth.transform(trips[f"{side}_lon"], trips[f"{side}_lat"])
    path = written(table, tmp_path, sep=";", decimal=",")
    right = {**COORDINATES, "origin": "o_x,o_y", "destination": "d_x,d_y"}
    assert read(path, **right, crs=crs) == expected(trips)
    assert "no degrees but metres or feet of a projected system" in refusal(path, **right)
    plain = table.set_axis(["user", "number", "oa", "ob", "da", "db"], axis="columns")
    path = written(plain, tmp_path)
    unnamed = {**right, "origin": "oa,ob", "destination": "da,db"}
    assert "no degrees but metres or feet of a projected system" in refusal(path, **unnamed)
    swapped = {**unnamed, "origin": "ob,oa"}
    assert "x and y are swapped; write --origin oa,ob" in refusal(path, **swapped, crs=crs)
    assert "do not lie where EPSG:27700 is used" in refusal(path, **unnamed, crs="EPSG:27700")
    assert "not a known system of coordinates" in refusal(path, **unnamed, crs="EPSG:1")


def test_swapped_degrees_are_named_by_their_names_or_their_size(trips: pd.DataFrame, tmp_path: Path) -> None:
    swapped = {**COORDINATES, "origin": "o_lon,o_lat"}
    assert "latitude comes first; write --origin o_lat,o_lon" in refusal(written(trips, tmp_path), **swapped)
    far = trips.rename(columns={"o_lat": "oa", "o_lon": "ob"}).assign(ob=trips["o_lon"] + 100)
    unnamed = {**COORDINATES, "origin": "ob,oa"}
    assert "latitude and longitude are swapped; write --origin oa,ob" in refusal(written(far, tmp_path), **unnamed)


@pytest.fixture(scope="module", params=["zones.gpkg", "zones.shp", "zones.geojson", "zones.parquet"])
def zones(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Squares around the middle of the trips; a shapefile in a projected system."""
    west, south = np.meshgrid([4.80, 4.85], [45.70, 45.75])
    squares = [box(x, y, x + 0.05, y + 0.05) for x, y in zip(west.ravel(), south.ravel(), strict=True)]
    frame = geopandas.GeoDataFrame({"zone": list("abcd")}, geometry=squares, crs="EPSG:4326")
    path = tmp_path_factory.mktemp("zones") / request.param
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        (frame.to_crs("EPSG:2154") if path.suffix == ".shp" else frame).to_file(path)
    return path


def test_coordinates_are_put_into_zones_and_what_lies_outside_is_counted(
    trips: pd.DataFrame, zones: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    far = trips.copy()
    far.loc[0, "o_lat"] = 50.0
    options = {**COORDINATES, "zones": zones, "zone_id": "zone", "hierarchy": "ward"}
    path = written(far, tmp_path)
    sentence = refusal(path, **options)
    assert f"trips start or end in none of {zones}" in sentence
    assert "leave their rows out with --drop-unknown" in sentence
    loaded = TableInput(path=path, **options, drop_unknown=True).load()
    inside = (far[["o_lon", "d_lon"]].sub(4.85).abs().max(axis=1) < 0.05) & (far[["o_lat", "d_lat"]].sub(45.75).abs().max(axis=1) < 0.05)  # fmt: skip
    assert loaded.matrices[None].volume == far.loc[inside, "number"].sum()
    lost, total = far.loc[~inside, "number"].sum(), far["number"].sum()
    assert f"{(~inside).sum()} of {ROWS} rows with {lost} of {total} trips are left out" in caplog.text
    assert loaded.read == {"rows": ROWS, "rows_left_out": (~inside).sum(), "trips": total, "trips_left_out": lost}
    assert loaded.tree.n_leaves == 4
