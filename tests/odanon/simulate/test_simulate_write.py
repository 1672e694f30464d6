"""`odanon simulate`: a folder of Parquet files that says the same bytes each time."""

import inspect
import json
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from odanon.commands.simulate import simulate
from odanon.errors import OdanonError
from odanon.plugin import parameters_of
from odanon.simulate.mode import Mode
from odanon.simulate.source import Simulated
from odanon.simulate.write import write_city

SOURCE = Simulated(people=620, seed=11, dirt=0.02)
SPRING_FORWARD = date(2026, 3, 29)  # 23 hours in Paris


def silence(_people):
    pass


def write(out, mode=Mode.gps, source=SOURCE, days=2):
    return write_city(source, mode, SPRING_FORWARD - timedelta(days=1), days, out, silence)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("simulate") / "city"
    write(out)
    return out


def contents(out: Path):
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("mode", list(Mode))
def test_writing_again_gives_the_same_bytes(tmp_path, mode):
    small = Simulated(people=70, seed=11, dirt=0.02)
    write(tmp_path / "a", mode, small)
    write(tmp_path / "b", mode, small)
    write(tmp_path / "b", mode, small)  # in place of the first
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}


def test_the_folder_has_the_documented_files_and_the_manifest_counts_their_rows(folder):
    manifest = json.loads((folder / "city.json").read_text())
    found = Counter()
    for path in folder.rglob("*.parquet"):
        found[path.relative_to(folder).parts[0]] += pq.read_metadata(path).num_rows
    assert set(found) == {"points", "stays", "trips", "people.parquet"}
    assert manifest["rows"] == found
    assert manifest["parameters"] == parameters_of(SOURCE)
    assert len(manifest["dirt"]) == 10


def test_points_are_those_of_the_source_day_by_local_day(folder):
    opens, closes = datetime(2026, 3, 28, 23, tzinfo=UTC), datetime(2026, 3, 29, 22, tzinfo=UTC)
    batches = list(SOURCE.batches(opens, closes))
    day = folder / f"points/date={SPRING_FORWARD}"
    for name, zoned in (("part-00000.parquet", True), ("part-00000-naive.parquet", False)):
        written = pq.ParquetFile(day / name).read().to_pandas()
        sent = pd.concat([b for b in batches if (b["time"].dt.tz is not None) == zoned], ignore_index=True)
        pd.testing.assert_frame_equal(written, sent, check_dtype=False)


def test_files_hold_plain_types_and_a_row_group_per_chunk(folder):
    file = pq.ParquetFile(folder / f"points/date={SPRING_FORWARD}/part-00000.parquet")
    assert [str(kind) for kind in file.schema_arrow.types] == ["string", "timestamp[us, tz=UTC]", "double", "double"]
    assert file.num_row_groups == 2
    assert file.schema_arrow.metadata is None


def test_truth_tiles_the_written_days(folder):
    stays, trips = (pd.read_parquet(folder / name) for name in ("stays", "trips"))
    both = pd.concat([stays.assign(kind="stay"), trips.assign(kind="trip")]).sort_values(["person", "start"])
    follows = both["person"].eq(both["person"].shift())
    inner = follows & both["kind"].ne(both["kind"].shift())
    # Only a trip on the way at the first or last midnight is missing between its stays.
    assert inner.sum() == follows.sum()
    assert (both["start"] - both["end"].shift())[inner].eq(pd.Timedelta(0)).all()
    assert both["start"].min() == pd.Timestamp("2026-03-28", tz="Europe/Paris")
    assert both["end"].max() == pd.Timestamp("2026-03-30", tz="Europe/Paris")
    assert stays["person"].nunique() == SOURCE.people
    span = both.groupby("person").agg({"start": "min", "end": "max"})
    assert ((span["end"] - span["start"]) == pd.Timedelta(hours=47)).mean() > 0.95


def test_people_carry_their_attributes(folder):
    people = pd.read_parquet(folder / "people.parquet")
    assert list(people.columns) == ["person", "sex", "age_band", "occupation", "weight"]
    pd.testing.assert_frame_equal(people, pd.concat(SOURCE.persons(), ignore_index=True), check_dtype=False)


def test_events_name_antennas_of_the_table(tmp_path):
    manifest = write(tmp_path / "city", Mode.nsd, Simulated(people=50, seed=11))
    events, antennas = (pd.read_parquet(tmp_path / "city" / name) for name in ("events", "antennas.parquet"))
    assert set(events["antenna"]) <= set(antennas["antenna"])
    assert manifest["rows"]["events"] == len(events)
    assert manifest["dirt"] == {}


def test_a_folder_with_anything_else_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("ten years of work")
    with pytest.raises(OdanonError, match="choose another --out"):
        write(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "ten years of work"


def test_a_failure_leaves_the_earlier_city_and_no_remains(tmp_path):
    small = Simulated(people=20, seed=11)
    write(tmp_path / "city", source=small, days=1)
    before = contents(tmp_path / "city")

    def fail(_people):
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        write_city(small, Mode.gps, SPRING_FORWARD, 1, tmp_path / "city", fail)
    assert contents(tmp_path / "city") == before
    assert [path.name for path in tmp_path.iterdir()] == ["city"]


def run(*options):
    app = typer.Typer()
    app.command()(simulate)
    return CliRunner().invoke(app, list(options))


def test_the_command_ends_with_counts_and_paths(tmp_path):
    result = run("--people", "30", "--days", "1", "--dirt", "0.5", "--out", str(tmp_path / "c"))
    assert result.exit_code == 0
    manifest = json.loads((tmp_path / "c/city.json").read_text())
    for expected in ("points", "stays", "trips", f"{manifest['rows']['points']:,}", "bad: teleport", "city.json"):
        assert expected in result.output


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--timezone", "Mars/Olympus"], "--timezone Mars/Olympus: write an IANA time zone"),
        (["--people", "0"], "--people 0: "),
        (["--dirt", "-1"], "--dirt -1.0: "),
        (["--start", "1999-12-31"], "year 2000"),
    ],
)
def test_a_wrong_option_gets_one_sentence(tmp_path, options, sentence):
    result = run(*options, "--out", str(tmp_path / "c"))
    assert isinstance(result.exception, OdanonError)
    assert sentence in str(result.exception)


def test_options_default_to_the_parameters_of_the_source():
    plugin = parameters_of(Simulated())
    options = {name: option.default for name, option in inspect.signature(simulate).parameters.items()}
    shared = options.keys() & plugin.keys()
    assert len(shared) == 7
    assert {name: options[name] for name in shared} == {name: plugin[name] for name in shared}
