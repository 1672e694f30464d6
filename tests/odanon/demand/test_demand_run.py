"""A whole run from a file: the folder, its bytes, what is made again, and mistakes in the file."""

import gzip
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from demand_town import STEPS, YAML, od, write_town, zones
from geopandas import GeoDataFrame
from shapely.geometry import box
from typer.testing import CliRunner

from odanon import cli
from odanon.demand.run import STAGES, Run, run
from odanon.demand.settings import load_demand
from odanon.errors import OdanonError

AGENTS = ["agent", "donor", "age", "gender", "occupation", "car", "home_status", "home_zone", "coefficient", "copies"]
ACTIVITIES = ["agent", "copy", "seq", "purpose", "mode", "step", "zone"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_town(tmp_path_factory.mktemp("town"))


@pytest.fixture(scope="module")
def folder(file: Path) -> Path:
    run(load_demand(file), file.parent / "out")
    return file.parent / "out"


def written(folder: Path) -> dict[str, bytes]:
    """All files but those that stages hand to each other."""
    found = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not name.startswith("work/")}


def test_the_folder_has_what_modellers_read(folder: Path) -> None:
    assert {*written(folder)} == {
        *("agents.parquet", "activities.parquet", "evaluation.json", "report.html", "README.md"),
        *("matsim/population.xml.gz", "eqasim/persons.csv", "eqasim/activities.csv", "eqasim/trips.csv"),
    }
    agents, activities = (pd.read_parquet(folder / f"{name}.parquet") for name in ("agents", "activities"))
    assert [*agents.columns] == AGENTS
    assert [*activities.columns] == ACTIVITIES
    assert set(activities["zone"]) <= {"a1", "a2", "b1", "b2", "c1", "c2"}
    assert agents["donor"].str.fullmatch(r"s\d{3}").all()
    assert activities.drop_duplicates(["agent", "copy"]).groupby("agent").size().equals(
        agents.set_index("agent")["copies"][lambda copies: copies > 0].rename(None)
    )  # fmt: skip
    told = json.loads((folder / "evaluation.json").read_text())
    assert told["seed"] == 7
    assert told["digests"].keys() == {"zones", "census", "survey_people", "survey_trips", "od", "commute"}
    assert told["settings"]["calibrate"]["plugin"] == "raking"
    assert told["places"]["od fit"]["r2"] < 1


def test_the_readme_says_what_must_be_said(folder: Path) -> None:
    text = (folder / "README.md").read_text()
    assert "survey of the town, to be cited" in text
    assert "Not anonymous" in text
    assert "`work/` has respondents of the survey" in text
    assert "5 or more respondents" in text
    assert ", ".join(STEPS) in text
    assert "anonymous" not in text.replace("Not anonymous", ""), "nothing else may be called so"


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(file: Path, folder: Path, tmp_path: Path) -> None:
    run(load_demand(file), tmp_path / "again")
    assert written(tmp_path / "again") == written(folder)
    other = Run(load_demand(file).model_copy(update={"seed": 8}), tmp_path / "other")
    assert not other.placement.activities.equals(Run(load_demand(file), folder).placement.activities)


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        (("seed: 7", "seed: 7"), 4),
        (("to be cited", "to be cited twice"), 4),
        (("  commute: commute.csv\n", ""), 4),
        (("licence:", "place: naive-forward\nlicence:"), 3),
        (("licence:", "integers: proportional\nlicence:"), 2),
        (("licence:", "calibrate: {plugin: raking, distance: logit}\nlicence:"), 2),
        (("min_matches: 5", "min_donors: 6"), 1),
        (("seed: 7", "seed: 9"), 0),
        (("licence:", "filter: {min_trip_m: 200}\nlicence:"), 0),
        (("od: od.csv", "od: {path: od.csv, values: {origin: {a1: a2}}}"), 0),
        (("od: od.csv", "od: {path: od.csv, reading: prior}"), 0),
        (("od: od.csv", "od: {path: od.csv, days: saturday}"), 0),
    ],
)
def test_only_what_changed_is_made_again(change: tuple[str, str], kept: int, file: Path, folder: Path) -> None:
    assert change[0] in YAML
    other = file.with_name("other.yaml")
    other.write_text(YAML.replace(*change))
    assert Run(load_demand(other), folder).unchanged == list(STAGES[:kept])


def test_a_run_that_goes_on_ends_as_one_from_the_beginning(tmp_path: Path) -> None:
    file = write_town(tmp_path / "town")
    run(load_demand(file), tmp_path / "out")
    rows = od()
    rows.loc[0, "trips"] += 1
    write_town(tmp_path / "town", YAML.replace("licence:", "place: linked-forward\nlicence:"), od=rows)
    assert Run(load_demand(file), tmp_path / "out").unchanged == []
    run(load_demand(file), tmp_path / "fresh")
    Run(load_demand(file), tmp_path / "out").until("match")
    run(load_demand(file), tmp_path / "out")
    assert written(tmp_path / "out") == written(tmp_path / "fresh")


def test_the_names_beside_a_shapefile_are_part_of_it(tmp_path: Path) -> None:
    file = write_town(tmp_path, YAML.replace("zones.csv", "zones.shp"))
    layer = GeoDataFrame(zones().drop(columns=["lat", "lon"]), geometry=[box(at, 0, at + 1, 1) for at in range(6)])
    layer.set_crs(4326).to_file(tmp_path / "zones.shp")
    Run(load_demand(file), tmp_path / "out").until("prepare")
    assert Run(load_demand(file), tmp_path / "out").unchanged == ["prepare"]
    drawn = (tmp_path / "zones.shp").read_bytes()
    layer.set_crs(4326).assign(canton="south").to_file(tmp_path / "zones.shp")
    assert (tmp_path / "zones.shp").read_bytes() == drawn
    assert Run(load_demand(file), tmp_path / "out").unchanged == []


def test_a_stage_that_was_kept_only_in_part_is_made_again(file: Path, tmp_path: Path) -> None:
    made = Run(load_demand(file), tmp_path)
    made.until("match")
    assert made.unchanged == ["prepare", "match"]
    (tmp_path / "work" / "match" / "stage.json").write_text('{"made from"')
    assert made.unchanged == ["prepare"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("seed: 7\n", ""), "seed: this key is missing; add it"),
        (("licence:", "licens:"), "licence: this key is missing"),
        (("survey of the town, to be cited", ""), "licence"),
        (("od: od.csv", "od: {path: od.csv, column: {}}"), "inputs.od.column: there is no such key here; did you mean 'columns'?"),
        (("od: od.csv", "od: {published: data}"), "inputs.od: what was published is named by product and month; add both"),
        (("od: od.csv", "od: {columns: {step: t}}"), "inputs.od: no file is named; write its path"),
        (("od: od.csv", "od: {path: od.csv, columns: {weight: w}}"), "inputs: od has no column 'weight' to be named; it has step, origin"),
        (("od: od.csv", "od: {path: od.csv, values: {origin: {1: yes}}}"), "inputs.od: values of origin have a word that YAML reads as true or false; put it in quotes"),
        (('"06:00", "10:00"', '"10:00", "06:00"'), "steps: list the start times of steps in order from 00:00 on"),
        (("min_matches: 5", "min_donors: 0"), "match.min_donors = 0: too small; give 1 or more"),
        (("min_matches: 5", "keys: [age, shoes]"), "match.keys.1 = 'shoes': not a choice"),
        (("min_matches: 5", "keys: [age, age]"), "a key stands twice"),
        (("licence:", "calibrate: rakin\nlicence:"), "no calibrate plugin is called 'rakin'; did you mean 'raking'?"),
        (("licence:", "place: {plugin: factor-graph, exponent: squares}\nlicence:"), "place.exponent = 'squares': not a choice; use 'trips' or 'factors'"),
        (("licence:", "filter: {min_activity: 20}\nlicence:"), "filter.min_activity = 20: write a number with its unit"),
        (("od: od.csv", "od: {published: 'postgresql://me:secret@host/db', product: p, month: 2026-03}"), "inputs.od.published holds a secret in plain text"),
        (("census: census.csv", "census: nowhere.csv"), "nowhere.csv: No such file or directory; correct the path of inputs"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_file_is_one_sentence_with_file_key_and_remedy(
    change: tuple[str, str], sentence: str, tmp_path: Path
) -> None:
    file = write_town(tmp_path, YAML.replace(*change))
    with pytest.raises(OdanonError) as failed:
        Run(load_demand(file), tmp_path / "out").until("prepare")
    said = str(failed.value)
    assert sentence in said
    assert str(tmp_path) in said
    assert "\n" not in said
    assert "secret@" not in said


def test_commands_tell_what_a_modeller_wants_to_know(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    lines = {}
    for stage in (*STAGES, "run"):
        done = CliRunner().invoke(cli.main, ["demand", stage, str(file), "--out", str(out)])
        assert done.exit_code == 0, done.output
        lines[stage] = done.stdout
    assert "the matrices have no trips in step 0: whoever travels then" in lines["prepare"]
    assert "1 respondents, 2% of the survey's weight: fewer than min_donors" in lines["match"]
    assert "largest gap of a step's share" in lines["calibrate"]
    assert "OD fit     R2" in lines["evaluate"]
    assert lines["run"].splitlines()[:-1] == lines["evaluate"].splitlines()[:-1]
    assert f"written to {out}" in lines["run"]
    assert (out / "agents.parquet").exists()
    assert "s080" not in "".join(lines.values()), "nobody is named"


def test_donors_are_named_in_one_file_only(folder: Path) -> None:
    named = [name for name, content in written(folder).items() if re.search(rb"\bs0[0-7]\d\b", content)]
    assert named == ["agents.parquet"]
    assert not re.search(rb"\bs0[0-7]\d\b", gzip.decompress((folder / "matsim" / "population.xml.gz").read_bytes()))
