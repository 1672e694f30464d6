"""`odanon anonymize FILE` by somebody who has said nothing yet: what is understood is shown, and what k counts is never guessed."""

import shlex
from pathlib import Path

import geopandas
import h3
import numpy as np
import pandas as pd
import pytest
from shapely import box
from typer.testing import CliRunner

from odanon import cli
from odanon.commands import anonymize
from odanon.errors import OdanonError
from odanon.reading.child.dialect import Dialect
from odanon.tables.guess import Guess, guess
from odanon.tables.look import Seen

RUN = CliRunner()


@pytest.fixture(scope="module")
def trips() -> pd.DataFrame:
    """Trips of 60 people between a few cells on two days."""
    rng, n = np.random.default_rng(8), 600
    cells = np.array(sorted(h3.grid_disk(h3.latlng_to_cell(45.75, 4.85, 8), 1)), dtype=object)
    at = pd.Timestamp("2026-03-02") + pd.to_timedelta(rng.integers(0, 48 * 60, n), unit="min")
    return pd.DataFrame(
        {"user_id": rng.integers(0, 60, n), "from": rng.choice(cells, n), "to": rng.choice(cells, n), "start_time": at}
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(*words: str) -> str:
    done = RUN.invoke(cli.main, ["anonymize", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def refusal(*words: str) -> str:
    failed = RUN.invoke(cli.main, ["anonymize", *words])
    assert isinstance(failed.exception, OdanonError)
    return str(failed.exception)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-k", "1"], "k: too small; give 2 or more"),
        (["--suppression", "7"], "suppression"),
        (["--unit", "foo"], "unit"),
        (["--algorithm", "nix"], "nix"),
        (["--hierarchy", "nix"], "nix"),
        (["--set", "foo"], "foo"),
        (["--timezone", "Mars/X"], "--timezone Mars/X"),
        (["--time", "start_time", "--bin", "7h"], "--bin 7h"),
        (["--bin", "3h"], "--bin cuts time and no column tells it"),
        (["--adaptive"], "--adaptive splits time and no column tells it"),
        (["--adaptive", "--algorithm", "odkanon", "--time", "start_time"], "odkanon splits no time"),
        (["--zones", "none.gpkg"], "--zones none.gpkg does not exist"),
        (["--tile-weights", "none.csv"], "--tile-weights none.csv does not exist"),
        (["--weight", "user_id"], "--weight user_id counts with --unit population alone"),
    ],
)
def test_what_would_be_refused_is_not_proposed(
    trips: pd.DataFrame, here: Path, words: list[str], sentence: str
) -> None:
    trips.to_csv("trips.csv", index=False)
    assert sentence in refusal("trips.csv", *words)


def test_the_proposed_folder_is_a_new_one(trips: pd.DataFrame, here: Path) -> None:
    trips.to_csv("trips.csv", index=False)
    assert shown("trips.csv").endswith("--out trips-release\n")
    Path("trips-release").mkdir()
    assert shown("trips.csv").endswith("--out trips-release-2\n")


def test_flows_without_a_count_are_asked_about_before_anything_is_proposed(here: Path) -> None:
    cells = sorted(h3.grid_disk(h3.latlng_to_cell(45.75, 4.85, 8), 1))
    flows = pd.DataFrame([(o, d, 7) for o in cells for d in cells], columns=["origin", "destination", "S000"])
    flows.to_csv("od.csv", index=False)
    assert "every pair is there once" not in shown("od.csv", "--count", "S000")
    assert "? does column 'S000' say how many trips a row stands for? Add --count S000" in shown("od.csv")


def test_a_file_alone_is_understood_shown_and_not_touched(trips: pd.DataFrame, here: Path) -> None:
    trips.to_csv("my trips.csv", index=False, sep=";")
    before = sorted(Path().iterdir())
    told = shown("my trips.csv")
    assert sorted(Path().iterdir()) == before
    for line in (
        "my trips.csv: about 600 rows; fields separated by semicolons",
        "origin       from: H3 cells",
        "person       user_id: k counts different persons",
        "count        every row is one trip",
        "--time start_time --bin 1h would tell hours as well",
        "flows of at least 10 persons with atg-lattice",
    ):
        assert line in told
    command = told.strip().splitlines()[-1]
    words = shlex.split(command)
    assert words[:3] == ["odanon", "anonymize", "my trips.csv"]
    shown(*words[2:])
    assert pd.read_parquet(f"{words[-1]}/keep/flows.parquet")["persons"].min() >= 10


def test_who_agrees_in_a_terminal_gets_what_was_shown(
    trips: pd.DataFrame, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trips.to_csv("trips.csv", index=False)
    monkeypatch.setattr(anonymize, "_asks", lambda: True)
    for answer, there in (("n", False), ("y", True)):
        RUN.invoke(cli.main, ["anonymize", "trips.csv"], input=f"{answer}\n", catch_exceptions=False)
        assert Path("trips-release").exists() is there


def test_without_people_k_counts_trips_only_if_somebody_says_so(trips: pd.DataFrame, here: Path) -> None:
    pairs = trips.groupby(["from", "to"]).size().rename("trips").reset_index()
    pairs.to_csv("od.csv", index=False)
    told = shown("od.csv")
    assert "? no column looks like ids of people: name it with --person, or say --unit trips" in told
    assert told.splitlines()[-1].endswith("--person COLUMN --count trips -k 10 --unit persons --out od-release")
    assert "? " not in shown("od.csv", "--unit", "trips").replace("person       ?", "")
    sentence = refusal("od.csv", "--count", "trips", "--out", "release")
    assert "unit persons needs a person id on every row" in sentence
    assert "or --unit trips if it is enough that k trips are behind a flow" in sentence
    assert not Path("release").exists()


def test_people_are_named_and_never_taken_silently(trips: pd.DataFrame, here: Path) -> None:
    trips.to_csv("od.csv", index=False)
    assert "add --person user_id, or --unit trips" in refusal("od.csv", "--out", "release")


def test_zones_without_a_map_are_asked_for(here: Path) -> None:
    pd.DataFrame({"PULocationID": [4, 5], "DOLocationID": [5, 4], "x": 1}).to_csv("taxi.csv", index=False)
    told = shown("taxi.csv")
    assert "the tiles are no H3 cells: say where they lie with --zones FILE" in told
    assert "--origin PULocationID --destination DOLocationID" in told


def test_coordinates_that_are_no_degrees_are_asked_about(here: Path) -> None:
    metres = {
        "o_x": [842_000.5, 843_000.0],
        "o_y": [6_519_000.0, 6_520_000.0],
        "d_x": [842_100.0, 843_100.0],
        "d_y": [6_519_100.0, 6_519_900.0],
    }
    pd.DataFrame({**metres, "user": ["a", "b"]}).to_csv("trips.csv", index=False)
    told = shown("trips.csv")
    assert "  ? the coordinates are no degrees but metres or feet" in told
    assert "--crs EPSG:CODE" in told.splitlines()[-1]
    assert "  ? " not in shown("trips.csv", "--crs", "EPSG:2154")


def test_degrees_are_placed_for_people_whatever_their_columns_are_called(trips: pd.DataFrame, here: Path) -> None:
    places = {name: [h3.cell_to_latlng(cell)[at] for cell in trips[column]] for name, column, at in PLACES}
    pd.DataFrame({"user_id": trips["user_id"], **places}).to_csv("od.csv", index=False)

    def told(first: str, second: str) -> str:
        ends = ["--origin", f"{first}1,{second}1", "--destination", f"{first}2,{second}2", "--person", "user_id"]
        done = RUN.invoke(
            cli.main,
            ["anonymize", "od.csv", *ends, "--resolution", "8", "--out", f"{first}{second}"],
            catch_exceptions=False,
        )
        assert done.exit_code == 0, done.output
        return done.stderr

    swapped = "trips start around 5° north, 46° east; if that is the wrong place, write --origin b1,a1"
    assert swapped in told("a", "b")
    assert "trips start around 46° north, 5° east" in told("b", "a")
    assert "trips start around 46° north, 5° east" in told("lat", "lon")


PLACES = [
    (f"{name}{end}", column, at)
    for end, column in ((1, "from"), (2, "to"))
    for name, at in (("a", 1), ("b", 0), ("lat", 0), ("lon", 1))
]


def test_what_was_said_is_in_the_command_that_is_shown(trips: pd.DataFrame, here: Path) -> None:
    trips.assign(w=1.5).to_csv("od.csv", index=False, sep="|")
    said = (
        "--csv-set",
        "delimiter=|",
        "--weight",
        "w",
        "--unit",
        "population",
        "--timezone",
        "Europe/Paris",
        "--drop-missing",
        "--resolution",
        "8",
    )
    said += (
        "--hierarchy-set",
        "steps=standard",
        "--algorithm",
        "atg-joint",
        "--suppression",
        "0.2",
        "--set",
        "k_population=20",
        "--fixed",
    )
    told = shlex.split(shown("od.csv", "--time", "start_time", *said).strip().splitlines()[-1])
    assert {*said, "--bin", "1h"} <= set(told)
    assert "--bin" not in shown("od.csv", "--time", "from", "--origin", "to", "--destination", "to")


def test_a_tree_of_ones_own_needs_no_map(here: Path) -> None:
    pd.DataFrame({"from": ["a", "b"], "to": ["b", "a"], "user": [1, 2]}).to_csv("od.csv", index=False)
    assert "--hierarchy tree.csv does not exist" in refusal("od.csv", "--hierarchy", "tree.csv")
    pd.DataFrame({"child": ["a", "b"], "parent": ["r", "r"]}).to_csv("tree.csv", index=False)
    told = shown("od.csv", "--hierarchy", "tree.csv")
    assert "  ? " not in told
    assert "--hierarchy tree.csv" in told


def test_a_misspelt_column_is_told_before_anything_is_proposed(trips: pd.DataFrame, here: Path) -> None:
    trips.to_csv("od.csv", index=False)
    for option in ("origin", "person", "time"):
        assert f"has no column 'form' (did you mean 'from'?); it has user_id, from, to, start_time; name one with --{option}" in refusal("od.csv", f"--{option}", "form")  # fmt: skip


def test_dates_that_may_be_read_in_two_ways_are_asked_about_where_they_are_wanted(
    trips: pd.DataFrame, here: Path
) -> None:
    trips.assign(born="01/02/1980", start_time="02/03/2026 08:15").to_csv("od.csv", index=False)
    assert "--time start_time --bin 1h would tell hours as well" in shown("od.csv")
    asked = (
        "od.csv",
        "--person",
        "user_id",
        "--time",
        "start_time",
        "--bin",
        "day",
        "--algorithm",
        "uniform",
        "--out",
        "out",
    )
    assert "may begin with the day or with the month" in refusal(*asked)
    shown(*asked, "--csv-set", "time=%d/%m/%Y %H:%M")
    assert set(pd.read_csv("out/handout/flows.csv")["time_start"]) == {"2026-03-02T00:00:00+00:00"}


def test_columns_that_nobody_knows_are_asked_for(here: Path) -> None:
    pd.DataFrame({"this": [4, 5], "that": [5, 4]}).to_csv("odd.csv", index=False)
    told = shown("odd.csv")
    assert "which column is the origin? Name it with --origin; there are this, that" in told
    assert "has no column 'origin'; it has this, that; name one with --origin" in refusal(
        "odd.csv", "--unit", "trips", "--out", "release"
    )


def test_bins_are_adaptive_where_the_algorithm_can_unless_fixed_ones_are_asked_for(
    trips: pd.DataFrame, here: Path
) -> None:
    trips.to_csv("od.csv", index=False)
    asked = ("od.csv", "--person", "user_id", "--time", "start_time", "--bin", "day", "--timezone", "Europe/Paris")
    for out, extra in (("a", ()), ("b", ("--fixed",)), ("c", ("--algorithm", "uniform"))):
        shown(*asked, "--out", out, *extra)
    in_time, fixed, uniform = (pd.read_parquet(f"{out}/keep/flows.parquet") for out in "abc")
    assert {"time_start", "time_end"} <= set(in_time)
    for flows in (fixed, uniform):
        assert set(flows["time"]) == {
            "2026-03-01T23:00:00+00:00/2026-03-02T23:00:00+00:00",
            "2026-03-02T23:00:00+00:00/2026-03-03T23:00:00+00:00",
        }


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ("origin destination trips", Guess("origin", "destination", None, "trips", None)),
        ("o_lat o_lon d_lat d_lon uid", Guess("o_lat,o_lon", "d_lat,d_lon", "uid", None, None)),
        ("start_lng start_lat end_lng end_lat", Guess("start_lat,start_lng", "end_lat,end_lng", None, None, None)),
        ("x_orig y_orig x_dest y_dest", Guess("x_orig,y_orig", "x_dest,y_dest", None, None, None)),
        ("Origin Zone,Destination Zone,Count", Guess("Origin Zone", "Destination Zone", None, "Count", None)),
        ("pickup_datetime PULocationID DOLocationID", Guess("PULocationID", "DOLocationID", None, None, None)),
        ("alpha beta", Guess(None, None, None, None, None)),
    ],
)
def test_columns_are_guessed_by_names_that_people_use(names: str, found: Guess) -> None:
    columns = tuple(names.split("," if "," in names else None))
    assert guess(Seen(Path("t.csv"), columns, {name: ["1", "2"] for name in columns}, 2, Dialect())) == found


def test_what_is_named_for_one_thing_is_not_proposed_for_another(trips: pd.DataFrame, here: Path) -> None:
    trips.rename(columns={"user_id": "persons"}).assign(people=1.5).to_csv("od.csv", index=False)
    assert "--count" not in shown("od.csv", "--person", "persons", "--count", "1").replace("--count 1", "")
    told = shown(
        "od.csv", "--person", "persons", "--weight", "people", "--unit", "population", "--set", "k_population=20"
    )
    assert "--count" not in told
    assert "every row is one trip" in told
    told = shown("od.csv", "--person", "persons", "--count", "1", "--unit", "population", "--set", "k_population=20")
    assert "? which column is the weight of a row's person? Name it with --weight" in told


def test_counts_that_are_none_are_told(trips: pd.DataFrame, here: Path) -> None:
    for count, said in ((12.5, "fractions and trips are whole numbers"), (-3, "negative counts")):
        trips.assign(trips=count).to_csv("od.csv", index=False)
        assert f"? column 'trips' holds {said}" in shown("od.csv")
        assert f"od.csv: column 'trips' holds {said}" in refusal(
            "od.csv", "--person", "user_id", "--count", "trips", "--out", "no"
        )


def test_zones_are_looked_at_before_anything_is_proposed(here: Path) -> None:
    pd.DataFrame({"origin": ["a", "b"], "destination": ["b", "x"], "user": [1, 2]}).to_csv("od.csv", index=False)
    square = {"zone": list("ab"), "geometry": [box(4.8, 45.7, 4.9, 45.8), box(4.9, 45.7, 5.0, 45.8)]}
    geopandas.GeoDataFrame(square, crs="EPSG:4326").to_file("zones.gpkg")
    assert "has no column 'id'" in refusal("od.csv", "--zones", "zones.gpkg")
    zones = ("od.csv", "--zones", "zones.gpkg", "--zone-id", "zone")
    assert "? zones.gpkg has no zones x: add them there, or leave their rows out with --drop-unknown" in shown(*zones)
    pd.read_csv("od.csv").rename(columns={"origin": "o", "destination": "d"}).to_csv("guessed.csv", index=False)
    assert "? zones.gpkg has no zones x: add them there" in shown("guessed.csv", *zones[1:])
    told = shown(*zones, "--drop-unknown")
    assert "  ? " not in told
    assert "--hierarchy ward --drop-unknown" in told


def test_cells_are_known_by_any_of_their_names(trips: pd.DataFrame, here: Path) -> None:
    """As databases give them, and as others write them."""
    tables = {"text": str, "upper": str.upper, "number": h3.str_to_int}
    for name, called in tables.items():
        trips.assign(**{side: trips[side].map(called) for side in ("from", "to")}).to_parquet(f"{name}.parquet")
        words = shlex.split(shown(f"{name}.parquet").strip().splitlines()[-1])
        shown(*words[2:])
    weights = pd.DataFrame({"tile": [h3.str_to_int(cell) for cell in trips["from"].unique()]}).assign(jobs=1.0)
    weights.to_parquet("jobs.parquet")
    shown("number.parquet", "--person", "user_id", "--tile-weights", "jobs.parquet", "--out", "weighted")
    flows = [Path(f"{name}-release/handout/flows.csv").read_bytes() for name in tables]
    assert flows[0] == flows[1] == flows[2]


def test_long_numbers_of_zones_are_no_cells(here: Path) -> None:
    pd.DataFrame({"origin": [123456789012345678] * 2, "destination": [999999999999999999] * 2, "user": [1, 2]}).to_csv(
        "od.csv", index=False
    )
    assert "say where they lie with --zones FILE" in shown("od.csv")


def test_a_few_strays_do_not_make_metres_of_degrees(trips: pd.DataFrame, here: Path) -> None:
    places = {name: [h3.cell_to_latlng(cell)[at] for cell in trips[column]] for name, column, at in PLACES}
    table = pd.DataFrame(
        {"user_id": trips["user_id"], **{name: places[name] for name in ("lat1", "lon1", "lat2", "lon2")}}
    )
    table = table.rename(columns={"lat1": "o_lat", "lon1": "o_lon", "lat2": "d_lat", "lon2": "d_lon"})
    table.loc[:9, "o_lat"] = -9999.0
    table.to_csv("od.csv", index=False)
    assert "metres" not in shown("od.csv")


def test_degrees_under_each_others_names_are_told_of_guessed_columns_too(trips: pd.DataFrame, here: Path) -> None:
    places = {name: [h3.cell_to_latlng(cell)[at] for cell in trips[column]] for name, column, at in PLACES}
    named = {"start_lat": "lon1", "start_lon": "lat1", "end_lat": "lon2", "end_lon": "lat2"}
    pd.DataFrame({"user_id": trips["user_id"], **{name: places[of] for name, of in named.items()}}).to_csv(
        "od.csv", index=False
    )
    said = "trips start around 5° north, 46° east; if that is the wrong place, the columns have each other's names: rename them"
    assert said in shown("od.csv")
    done = RUN.invoke(cli.main, ["anonymize", "od.csv", "--person", "user_id", "--out", "out"], catch_exceptions=False)
    assert said in done.stderr
