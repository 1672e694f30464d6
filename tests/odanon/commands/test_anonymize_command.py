"""`odanon anonymize` and the library call, on small tables of every accepted shape."""

import json
from dataclasses import replace
from pathlib import Path

import geopandas
import h3
import numpy as np
import pandas as pd
import pytest
import shapely
from shapely.geometry import box
from typer.testing import CliRunner

import odanon
from odanon import cli, registry
from odanon.api import Anonymizer, Hierarchy, ODMatrix, Release, parameters_of, plugin
from odanon.commands.anonymize import _print_figures
from odanon.door import release
from odanon.errors import OdanonError
from odanon.hierarchies.h3 import H3Hierarchy
from odanon.registry import create
from odanon.tables.read import TableInput
from odanon.tables.write import write_folder
from odanon.zoning.h3 import H3Zoning

RUN = CliRunner()


@pytest.fixture(scope="module")
def trips() -> pd.DataFrame:
    """One row per trip between H3 cells: 3,000 trips of 400 people."""
    rng = np.random.default_rng(5)
    cells = np.array(sorted(h3.grid_disk(h3.latlng_to_cell(45.75, 4.85, 8), 5)), dtype=object)
    busy = rng.zipf(1.6, len(cells)).clip(max=50).astype(float)
    draw = lambda: cells[rng.choice(len(cells), 3000, p=busy / busy.sum())]  # noqa: E731
    return pd.DataFrame(
        {
            "user": [f"u{n}" for n in rng.integers(0, 400, 3000)],
            "from": draw(),
            "to": draw(),
            "hour": rng.integers(0, 3, 3000),
        }
    )


def run(table: pd.DataFrame, folder: Path, *options: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path, out = folder / "od.parquet", folder / "release"
    table.to_parquet(path)
    done = RUN.invoke(cli.main, ["anonymize", str(path), "--out", str(out), *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return out / "keep"


def refusal(table: pd.DataFrame, folder: Path, *options: str) -> str:
    path, out = folder / "od.csv", folder / "release"
    table.to_csv(path, index=False)
    done = RUN.invoke(cli.main, ["anonymize", str(path), "--out", str(out), *options])
    assert isinstance(done.exception, OdanonError)
    assert not out.exists()
    return str(done.exception)


COLUMNS = ("--origin", "from", "--destination", "to")


def test_person_level_trips_give_flows_assignment_zones_and_manifest(trips: pd.DataFrame, tmp_path: Path) -> None:
    out = run(trips, tmp_path, *COLUMNS, "--person", "user", "-k", "8")
    flows, assignment = (pd.read_parquet(out / f"{name}.parquet") for name in ("flows", "assignment"))
    zones = geopandas.read_parquet(out / "zones.parquet")
    manifest = json.loads((out / "release.json").read_text())
    assert (flows["persons"] >= 8).all()
    assert list(assignment.columns) == [
        *("origin", "destination", "trips", "published_origin", "published_destination", "suppressed")
    ]
    assert assignment["trips"].sum() == 3000
    kept = assignment[~assignment["suppressed"]]
    by_flow = kept.groupby(["published_origin", "published_destination"])["trips"].sum()
    listed = flows.set_index(["origin", "destination"])["trips"]
    assert by_flow.sort_index().tolist() == listed.sort_index().tolist()
    people = trips.merge(kept, left_on=["from", "to"], right_on=["origin", "destination"])
    counted = people.groupby(["published_origin", "published_destination"])["user"].nunique()
    assert counted.sort_index().tolist() == flows.set_index(["origin", "destination"])["persons"].sort_index().tolist()
    assert set(flows["origin"]) | set(flows["destination"]) == set(zones["zone_id"])
    assert manifest["metrics"]["S"] <= 300
    assert manifest["promise"] == "every flow holds at least 8 distinct persons"


def test_aggregated_flows_count_trips_and_say_so(trips: pd.DataFrame, tmp_path: Path) -> None:
    pairs = trips.groupby(["from", "to"]).size().rename("n").reset_index()
    out = run(pairs, tmp_path, *COLUMNS, "--count", "n", "--unit", "trips")
    assert (pd.read_parquet(out / "flows.parquet")["trips"] >= 10).all()
    assert json.loads((out / "release.json").read_text())["promise"].startswith("not person-anonymous")


def test_time_bins_are_released_one_by_one(trips: pd.DataFrame, tmp_path: Path) -> None:
    out = run(trips, tmp_path, *COLUMNS, "--person", "user", "--time", "hour", "-k", "5")
    flows = pd.read_parquet(out / "flows.parquet")
    assert sorted(flows["time"].unique()) == [0, 1, 2]
    for hour, part in trips.groupby("hour"):
        assert flows.loc[flows["time"] == hour, "trips"].sum() >= 0.9 * len(part)


def test_intervals_are_whole_hours_of_days_on_which_many_travel(trips: pd.DataFrame, tmp_path: Path) -> None:
    """The ends of the table and its finest step are those of single people otherwise."""
    asked = [*COLUMNS, "--person", "user", "--time", "at", "--adaptive"]
    at = pd.Timestamp("2026-03-02T08:00Z") + pd.to_timedelta(trips["hour"], unit="h")
    flows = pd.read_parquet(run(trips.assign(at=at), tmp_path, *asked) / "flows.parquet")
    midnight = pd.Timestamp("2026-03-02", tz="UTC")
    assert set(flows["time_start"]) <= {midnight + pd.Timedelta(hours=hour) for hour in range(24)}
    early = trips.assign(at=at.where(trips.index != 0, midnight - pd.Timedelta(days=10)))
    (tmp_path / "refused").mkdir()
    assert "fewer than 10 travelled on the first or the last day" in refusal(early, tmp_path / "refused", *asked)
    odd = trips.assign(at=at.where(trips.index != 0, at + pd.Timedelta(minutes=20)))
    assert "times must be whole hours" in refusal(odd, tmp_path / "refused", *asked)


def test_a_table_of_parents_is_a_hierarchy_and_needs_no_map(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("child,parent\na,left\nb,left\nc,right\nleft,all\nright,all\n")
    table = pd.DataFrame({"origin": ["a"] * 9 + ["b"] * 3, "destination": ["c"] * 12, "person": range(12)})
    out = run(table, tmp_path, "--person", "person", "--hierarchy", str(tmp_path / "tree.csv"), "--suppression", "0")
    flows = pd.read_parquet(out / "flows.parquet")
    assert flows[["origin", "destination", "persons"]].values.tolist() == [["left", "c", 12]]
    zones = pd.read_parquet(out / "zones.parquet").set_index("zone_id")
    assert sorted(zones.loc["left", "tiles"]) == ["a", "b"]


def test_all_zones_of_the_layer_count_not_only_those_that_somebody_visited(tmp_path: Path) -> None:
    squares = [box(4 + x / 100, 45, 4.01 + x / 100, 45.01) for x in range(8)]
    geopandas.GeoDataFrame({"id": list("abcdefgh")}, geometry=squares, crs="EPSG:4326").to_file(tmp_path / "zones.gpkg")
    table = pd.DataFrame({"origin": ["a"] * 6 + ["d"] * 6, "destination": ["h"] * 12, "person": range(12)})
    zones = "--hierarchy", "ward", "--zones", str(tmp_path / "zones.gpkg")
    out = run(table, tmp_path, "--person", "person", *zones, "--suppression", "0")
    manifest = json.loads((out / "release.json").read_text())
    assert manifest["hierarchy"] == {"kind": "ward", "coverage": "full", "tiles": 8}
    assert manifest["metrics"]["Gbar"] == 4 + 1  # a and d are two of the four zones of their area
    assert pd.read_parquet(out / "flows.parquet")["origin_tiles"].tolist() == [4]
    listed = pd.read_parquet(out / "zones.parquet").set_index("n_tiles")["tiles"]
    assert sorted(listed[4]) == ["a", "b", "c", "d"]


def test_h3_has_fine_steps_unless_asked_otherwise(trips: pd.DataFrame, tmp_path: Path) -> None:
    """Groups of children have a slash in their name."""
    fine = run(trips, tmp_path / "fine", *COLUMNS, "--person", "user")
    plain = run(trips, tmp_path / "plain", *COLUMNS, "--person", "user", "--hierarchy-set", "steps=standard")
    groups = [pd.read_parquet(out / "zones.parquet")["zone_id"].str.contains("/").any() for out in (fine, plain)]
    assert groups == [True, False]


def test_small_volumes_can_be_reported(trips: pd.DataFrame, tmp_path: Path) -> None:
    small = ("--algorithm", "atg-joint", "--set", "report_small=true")
    out = run(trips, tmp_path, *COLUMNS, "--person", "user", *small)
    flows, zones = pd.read_parquet(out / "flows.parquet"), geopandas.read_parquet(out / "zones.parquet")
    rests = flows[flows["destination"].str.startswith("rest of") | flows["origin"].str.startswith("rest of")]
    assert len(rests)
    assert (flows["persons"] >= 10).all()
    assert set(flows["origin"]) | set(flows["destination"]) == set(zones["zone_id"])
    assert zones.geometry.is_valid.all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--person", "user", "-k", "1"), "k: too small; give 2 or more"),
        (("--person", "user", "--suppression", "1.2"), "suppression: too large; give less than 1"),
        (("--person", "user", "-k", "401"), "the whole matrix holds fewer than k = 401 persons"),
        ((), "unit persons needs a person id on every row and no column of od.csv was named; add --person user"),
        (("--person", "nobody"), "has no column 'nobody'; it has user, from, to, hour"),
        (("--person", "user", "--algorithm", "magic"), "no anonymize plugin is called 'magic'"),
        (("--person", "user", "--set", "colour"), "write name=value"),
        (("--person", "user", "--hierarchy-set", "colour"), "--hierarchy-set colour: write name=value"),
        (("--person", "user", "--set", "colour=red"), "colour: there is no such key here"),
        (("--person", "user", "--hierarchy", "nowhere.csv"), "nowhere.csv does not exist"),
    ],
)
def test_mistakes_get_a_sentence_and_no_output(
    trips: pd.DataFrame, tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    assert sentence in refusal(trips, tmp_path, *COLUMNS, *options)


def test_an_empty_table_is_refused(trips: pd.DataFrame, tmp_path: Path) -> None:
    assert "has no rows" in refusal(trips.iloc[:0], tmp_path, *COLUMNS, "--person", "user")


def test_an_existing_folder_is_not_overwritten(trips: pd.DataFrame, tmp_path: Path) -> None:
    out = run(trips, tmp_path, *COLUMNS, "--person", "user")
    before = (out / "flows.parquet").read_bytes()
    again = RUN.invoke(cli.main, ["anonymize", str(tmp_path / "od.parquet"), "--out", str(out.parent), *COLUMNS])
    assert "is not empty" in str(again.exception)
    assert (out / "flows.parquet").read_bytes() == before


def test_the_library_call_returns_a_measured_release(trips: pd.DataFrame) -> None:
    table = trips.rename(columns={"from": "origin", "to": "destination", "user": "person"})
    zoning = H3Zoning(resolution=8)
    tree = H3Hierarchy().build(zoning.tiles(np.union1d(table["origin"], table["destination"])))
    release = odanon.anonymize(table, tree, algorithm="atg-joint", k=6, suppression=0.05)
    assert release.flows["persons"].min() >= 6
    assert release.metrics["S"] <= 150
    assert 2 <= release.metrics["Gbar"] < 200
    assert release.parameters["k"] == 6
    assert len(release.assignment) == len(table.drop_duplicates(["origin", "destination"]))


def test_a_tile_outside_the_hierarchy_is_counted_not_named(trips: pd.DataFrame) -> None:
    table = trips.rename(columns={"from": "origin", "to": "destination", "user": "person"})
    tree = H3Hierarchy().build(H3Zoning(resolution=8).tiles(table["origin"].unique()[:5]))
    with pytest.raises(OdanonError, match="tiles of the matrix are missing from the hierarchy"):
        odanon.anonymize(table, tree)


def test_a_release_that_is_not_verified_is_told_before_and_is_not_ready_to_hand_out(
    trips: pd.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "od.parquet"
    trips.to_parquet(path)
    for algorithm, verified in (("laplace", False), ("uniform", True)):
        wanted = ["--unit", "trips", "--algorithm", algorithm, "--out", str(tmp_path / algorithm)]
        done = RUN.invoke(cli.main, ["anonymize", str(path), *COLUMNS, *wanted], catch_exceptions=False)
        assert ("laplace makes flows that nobody can count again" in " ".join(done.stderr.split())) is not verified
        assert (tmp_path / algorithm / "handout").exists() is verified
        assert ("nothing to hand out" in done.stdout) is not verified
        places = done.stdout.index("to keep, restricted: ")
        assert ("not verified, by its own word" in done.stdout[:places]) is not verified


@pytest.mark.parametrize(
    "how", [("--hierarchy", "ward"), ("--hierarchy-set", "coverage=observed"), ("--algorithm", "mondrian")]
)
def test_areas_that_tell_which_tiles_somebody_visited_are_not_handed_out(
    trips: pd.DataFrame, tmp_path: Path, how: tuple[str, str]
) -> None:
    trips.to_parquet(tmp_path / "od.parquet")
    wanted = ["--person", "user", *how, "--out", str(tmp_path / "out")]
    done = RUN.invoke(cli.main, ["anonymize", str(tmp_path / "od.parquet"), *COLUMNS, *wanted], catch_exceptions=False)
    assert "nothing to hand out: these areas show which tiles somebody visited" in done.stdout
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["keep"]


def test_time_bins_without_trips_are_left_out_and_counted(
    trips: pd.DataFrame, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    columns = (*COLUMNS, "--person", "user", "--count", "n", "--time", "hour", "-k", "8", "--algorithm", "uniform")
    out = run(trips.assign(n=(trips["hour"] == 1).astype(int)), tmp_path, *columns)
    assert pd.read_parquet(out / "flows.parquet")["time"].unique().tolist() == [1]
    assert "2 of 3 time bins have no trips and are left out" in caplog.text


def test_a_table_of_no_trips_at_all_is_refused(trips: pd.DataFrame, tmp_path: Path) -> None:
    columns = (*COLUMNS, "--person", "user", "--count", "n", "--time", "hour", "-k", "8")
    assert "the matrix is empty" in refusal(trips.assign(n=0), tmp_path, *columns)


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_that_cannot_be_written_whole_is_not_written(
    trips: pd.DataFrame, tmp_path: Path, *, there: bool
) -> None:
    trips.to_parquet(tmp_path / "od.parquet")
    loaded = TableInput(path=tmp_path / "od.parquet", origin="from", destination="to", person="user").load()
    maker, out = create("anonymize", "uniform", {"k": 8}), tmp_path / "new" / "release"
    out.parent.mkdir()
    if there:
        out.mkdir()
    made = release(loaded.matrices, loaded.tree, maker)
    unwritable = replace(made, figures={"thing": object()})
    with pytest.raises(TypeError):
        write_folder(out, unwritable, loaded.tree, loaded.tiles, "uniform")
    assert list(out.parent.rglob("*")) == ([out] if there else [])
    write_folder(out, made, loaded.tree, loaded.tiles, "uniform")
    assert {path.name for path in out.iterdir()} == {
        "assignment.parquet",
        "flows.parquet",
        "release.json",
        "weights.parquet",
        "zones.parquet",
    }
    assert [path.name for path in out.parent.iterdir()] == ["release"]


def test_figures_that_could_not_be_measured_are_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    _print_figures({}, noisy=False)
    assert capsys.readouterr().out == ""
    _print_figures({"min_persons": 12.0}, noisy=False)
    assert capsys.readouterr().out.startswith("12 ")


@plugin
class NothingAtAll(Anonymizer):
    """Suppresses everything, whatever its budget."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        nowhere = np.full(len(od.pairs.trips), -1)
        return Release.from_nodes(od, origins, destinations, nowhere, nowhere, parameters_of(self))


def test_an_algorithm_that_leaves_out_more_than_it_may_is_named(
    trips: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = registry.find
    stranger = registry.Plugin("anonymize", "nothing", "strangers", NothingAtAll)
    monkeypatch.setattr(registry, "find", lambda stage, name: stranger if name == "nothing" else find(stage, name))
    few = trips.head(2).assign(hour=9)  # a bin that does not reach k is no fault of an algorithm
    pd.concat([trips, few]).to_parquet(tmp_path / "od.parquet")
    asked = [*COLUMNS, "--person", "user", "--time", "hour", "-k", "5", "--fixed"]
    for algorithm, said in (("nothing", True), ("uniform", False)):
        how = ["--algorithm", algorithm, "--suppression", "0", "--out", str(tmp_path / algorithm)]
        done = RUN.invoke(cli.main, ["anonymize", str(tmp_path / "od.parquet"), *asked, *how], catch_exceptions=False)
        assert ("more than --suppression allows: nothing leaves out 100 %" in done.output) is said
        assert "of trips left out" in done.output


def test_zones_without_a_polygon_are_named_and_their_rows_left_out_if_so_asked(tmp_path: Path) -> None:
    names = ["a", "b", "c"]
    squares = geopandas.GeoSeries([shapely.box(4 + n / 10, 45, 4.1 + n / 10, 45.1) for n in range(3)], crs="EPSG:4326")
    geopandas.GeoDataFrame({"id": names}, geometry=squares).to_file(tmp_path / "zones.gpkg")
    rows = pd.DataFrame({"origin": [*names, "abroad", "a"], "destination": [*names[::-1], "a", "by sea"], "trips": 50})
    told = ("--count", "trips", "--unit", "trips", "--hierarchy", "ward", "--zones", str(tmp_path / "zones.gpkg"))
    sentence = refusal(rows, tmp_path, *told)
    assert f"2 zones are not in {tmp_path}/zones.gpkg: abroad, by sea; add them there" in sentence
    out = run(rows, tmp_path, *told, "--drop-unknown")
    assert pd.read_parquet(out / "flows.parquet")["trips"].sum() == 150
