"""`odanon compare`: every case measured alike, resumable, under a time limit."""

import copy
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired

import h3
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from odanon import cli
from odanon.compare import runner
from odanon.compare.page import comparison_page
from odanon.compare.plan import Plan, cases
from odanon.compare.runner import run_plan, tidy
from odanon.compare.worker import main, warm_up
from odanon.errors import OdanonError
from odanon.metrics.declared import every_figure
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.tables.read import TableInput

RUN = CliRunner()


@pytest.fixture
def table(tmp_path: Path) -> TableInput:
    rng = np.random.default_rng(2)
    lat, lon = 45.75 + rng.normal(0, 0.03, (2, 2000)), 4.85 + rng.normal(0, 0.03, (2, 2000))
    rows = pd.DataFrame(
        {"who": rng.integers(0, 300, 2000), "alat": lat[0], "alon": lon[0], "blat": lat[1], "blon": lon[1]}
    )
    rows.to_parquet(tmp_path / "trips.parquet")
    return TableInput(
        path=tmp_path / "trips.parquet", origin="alat,alon", destination="blat,blon", person="who", resolution=7
    )


def plan(table: TableInput, folder: Path, algorithms: str = "atg-joint,atg-soft", limit: float = 300) -> Plan:
    return Plan(table, cases(algorithms, "5,400", "persons", 0.1), folder, limit)


def test_coordinates_become_h3_cells(table: TableInput) -> None:
    loaded = table.load()
    assert all(h3.get_resolution(cell) == 7 for cell in loaded.tree.label[loaded.tree.tiles])
    assert loaded.matrices[None].volume == 2000


def test_every_case_has_one_row_and_a_refusal_is_a_result(
    table: TableInput, tmp_path: Path, run_here: Callable[[Plan], pd.DataFrame]
) -> None:
    compared = run_here(plan(table, tmp_path / "out"))
    assert compared[["algorithm", "k", "status"]].values.tolist() == [
        ["atg-joint", 5, "done"],
        ["atg-soft", 5, "done"],
        ["atg-joint", 400, "refused"],
        ["atg-soft", 400, "refused"],
    ]
    done = compared[compared["status"] == "done"]
    assert done[["Gbar", "E", "D", "C_DM", "C_AVG", "cpu_s", "peak_mb"]].notna().all().all()
    assert done["Gbar"].min() >= 2
    assert "fewer than k" in compared["message"].iloc[2]
    for name in ("flows.parquet", "zones.parquet", "release.json"):
        assert (tmp_path / "out" / "runs" / "atg-joint-k5-s0.1" / "release" / name).exists()


@pytest.mark.usefixtures("cases_here")
def test_finished_cases_are_not_run_again_unless_the_table_changed(table: TableInput, tmp_path: Path) -> None:
    planned = plan(table, tmp_path / "out", "atg-soft")
    first = list(run_plan(planned))
    assert sorted(result["status"] for result in first) == ["done", "refused"]
    stamps = [planned.result(case).stat().st_mtime_ns for case in planned.cases]
    assert sorted(map(str, run_plan(planned))) == sorted(map(str, first))
    assert [planned.result(case).stat().st_mtime_ns for case in planned.cases] == stamps
    pd.read_parquet(table.path).iloc[:1500].to_parquet(table.path)
    list(run_plan(planned))
    assert planned.result(planned.cases[0]).stat().st_mtime_ns > stamps[0]


def test_what_lies_under_a_table_is_a_part_of_it(table: TableInput, tmp_path: Path) -> None:
    for name in ("zones.gpkg", "zones.shp", "zones.dbf", "tree.csv"):
        (tmp_path / name).write_text("as it was")
    for changed, source in (
        ("zones.gpkg", replace(table, zones=tmp_path / "zones.gpkg")),
        ("zones.dbf", replace(table, zones=tmp_path / "zones.shp")),
        ("tree.csv", replace(table, hierarchy=str(tmp_path / "tree.csv"))),
    ):
        planned = plan(source, tmp_path / "out")
        before = planned.fingerprint(planned.cases[0])
        assert planned.fingerprint(planned.cases[0]) == before
        (tmp_path / changed).write_text("as it is")
        assert planned.fingerprint(planned.cases[0]) != before, changed


def test_a_case_beyond_the_time_limit_is_reported_and_tried_again(table: TableInput, tmp_path: Path) -> None:
    short = plan(table, tmp_path / "out", "atg-soft", limit=0.01)
    assert {result["status"] for result in run_plan(short)} == {"timed out"}
    longer = plan(table, tmp_path / "out", "atg-soft")
    assert {result["status"] for result in run_plan(longer)} == {"done", "refused"}


@pytest.mark.parametrize("late", [True, False])
def test_a_case_that_ends_after_its_release_was_written_leaves_none(
    table: TableInput, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """The time limit, or the system for want of memory, stops the process between the release and its figures."""

    def stopped(command: list[str], **_: object) -> CompletedProcess[str]:
        main(command[-1])
        Path(command[-1]).with_name("result.json").unlink()
        if late:
            raise TimeoutExpired(command, 300)
        return CompletedProcess(command, -9, "", "")

    monkeypatch.setattr(runner.subprocess, "run", stopped)
    planned = Plan(table, cases("uniform", "5", "persons", 0.1), tmp_path / "out", 300)
    compared = tidy(list(run_plan(planned)))
    assert compared["status"].tolist() == ["timed out" if late else "failed"]
    assert not planned.release(planned.cases[0]).exists()
    page = comparison_page(planned, compared, table.load())
    assert ("timed out: no result within 300 s" in page) is late
    tree = table.load().tree  # areas count all cells in them, of which the rows know a few
    assert f"hierarchy h3 of {tree.n_tiles.max():,} tiles, {tree.n_leaves} of them with trips" in page


def test_the_command_writes_the_tidy_table(table: TableInput, tmp_path: Path) -> None:
    options = ["--origin", "alat,alon", "--destination", "blat,blon", "--person", "who", "--resolution", "7"]
    wanted = ["--algorithms", "atg-joint", "--k", "5", "--out", str(tmp_path / "out")]
    tree = table.load().tree
    leaving = (
        pd.Series(table.load().matrices[None].pairs.origin).value_counts().reindex(range(tree.n_leaves), fill_value=0)
    )
    weights = pd.DataFrame({"tile": tree.label[tree.tiles], "people": leaving.to_numpy()})
    weights.to_csv(tmp_path / "weights.csv", index=False)
    read = ["--tile-weights", str(tmp_path / "weights.csv"), "--reading", "prior"]
    done = RUN.invoke(cli.main, ["compare", str(table.path), *options, *wanted, *read], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert len(pd.read_csv(tmp_path / "out" / "comparison.csv")) == 1
    compared = pd.read_parquet(tmp_path / "out" / "comparison.parquet").iloc[0]
    assert compared["S_share"] <= 0.1
    assert compared["E_prior"] < compared["E"]  # weights that have to do with the trips
    assert "by public weights (atg-joint)" in (tmp_path / "out" / "report.html").read_text()
    refused = RUN.invoke(cli.main, ["compare", str(table.path), *options, *wanted, "--reading", "prior"])
    assert "add --tile-weights FILE" in str(refused.exception) + refused.output


@pytest.mark.usefixtures("cases_here")
def test_a_segment_that_looks_like_a_formula_is_none_in_the_tidy_table(table: TableInput, tmp_path: Path) -> None:
    path = tmp_path / "teams.parquet"
    pd.read_parquet(table.path).assign(team="=1+1", w=2.0).to_parquet(path, index=False)
    options = ["--origin", "alat,alon", "--destination", "blat,blon", "--person", "who", "--resolution", "7"]
    survey = ["--weight", "w", "--protect", "participants,population", "--by", "team"]
    wanted = ["--algorithms", "oigh", "--k", "5", "--out", str(tmp_path / "out")]
    done = RUN.invoke(cli.main, ["compare", str(path), *options, *survey, *wanted], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "'=1+1" in pd.read_csv(tmp_path / "out" / "comparison.csv")["segment"].tolist()


def test_a_case_that_is_no_longer_released_is_no_longer_drawn(
    table: TableInput, tmp_path: Path, run_here: Callable[[Plan], pd.DataFrame]
) -> None:
    """The same folder, first with enough people, then with too few."""
    planned = Plan(table, cases("atg-soft", "5", "persons", 0.1), tmp_path / "out", 300)
    run_here(planned)
    assert planned.release(planned.cases[0]).exists()
    rows = pd.read_parquet(table.path)
    rows[rows["who"] < 4].to_parquet(table.path)
    compared = tidy(list(run_plan(planned)))
    assert compared["status"].tolist() == ["refused"]
    page = comparison_page(planned, compared, table.load())
    assert json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])["maps"] == []


def test_a_release_of_nothing_is_a_row_of_the_report(
    table: TableInput, tmp_path: Path, run_here: Callable[[Plan], pd.DataFrame]
) -> None:
    """Noise with a threshold that no flow reaches: everything is left out, and what divides by nothing is unknown."""
    planned = Plan(table, cases("user-dp", "200", "persons", 0.1), tmp_path / "out", 300)
    compared = run_here(planned)
    assert compared[["status", "flows", "S_share"]].values.tolist() == [["done", 0, 1]]
    assert compared[["Gbar", "density"]].isna().all(axis=None)
    page = comparison_page(planned, compared, table.load()).partition("<script")[0]
    assert "Published nothing: user-dp (k = 200)." in page
    assert page.count("Published nothing, so not here: user-dp.") == 3  # where people, sizes and maps are shown
    row = re.search(r"<tr[^>]*><td>[^<]*(?:<bdi>)?user-dp.*?</tr>", page)[0]
    assert "published nothing" in row
    assert "not verified" in row


@pytest.mark.usefixtures("cases_here")
def test_the_terminal_says_who_published_nothing(table: TableInput, tmp_path: Path) -> None:
    options = ["--origin", "alat,alon", "--destination", "blat,blon", "--person", "who", "--resolution", "7"]
    wanted = ["--algorithms", "user-dp", "--k", "200", "--out", str(tmp_path / "out")]
    done = RUN.invoke(cli.main, ["compare", str(table.path), *options, *wanted], catch_exceptions=False)
    assert "user-dp k=200: done, not verified, published nothing" in done.output
    assert done.stdout.count("published nothing") == 1  # the table's row


def test_what_nobody_can_verify_is_told_as_such_and_never_the_best(
    table: TableInput, tmp_path: Path, run_here: Callable[[Plan], pd.DataFrame]
) -> None:
    planned = Plan(table, cases("laplace,uniform", "5", "trips", 0.1), tmp_path / "out", 300)
    compared = run_here(planned)
    assert compared.set_index("algorithm")["verifier"].to_dict() == {"laplace": "not verified", "uniform": "passed"}
    page = comparison_page(planned, compared, table.load())
    assert "Not verified, since nobody can count their flows again: laplace." in page
    row = re.search(r"<tr[^>]*><td>[^<]*(?:<bdi>)?laplace.*?</tr>", page)
    assert row is not None
    assert '<strong class="unsafe">not verified</strong>' in row[0]
    assert 'class="best"' not in row[0]
    left_out = compared.set_index("algorithm").loc["laplace", "S_share"]  # which noise makes meaningless
    assert f">{every_figure()['S_share'].in_words(left_out)}<" not in row[0]


@pytest.mark.usefixtures("cases_here")
def test_the_terminal_says_what_is_not_verified(table: TableInput, tmp_path: Path) -> None:
    options = ["--origin", "alat,alon", "--destination", "blat,blon", "--person", "who", "--resolution", "7"]
    wanted = ["--algorithms", "laplace", "--k", "5", "--unit", "trips", "--out", str(tmp_path / "out")]
    done = RUN.invoke(cli.main, ["compare", str(table.path), *options, *wanted], catch_exceptions=False)
    assert "laplace k=5: done, not verified" in done.output
    assert pd.read_csv(tmp_path / "out" / "comparison.csv")["verifier"].tolist() == ["not verified"]
    head, row = (line for line in done.stdout.splitlines() if "algorithm" in line or "not verified" in line)
    assert head.split().index("S_share") == 4
    assert row.split()[5] == "–"  # "not verified" is two words; noise adds and removes trips, as the page says


def test_warming_up_leaves_table_and_tree_alone(table: TableInput) -> None:
    class Writes:
        """Changes whatever it is given."""

        def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> None:
            for array in (od.origin, od.trips, od.ground.origins.lat, origins.n_tiles, origins.parent):
                array[:] = 0

    loaded = table.load()
    before = copy.deepcopy(loaded.tree), copy.deepcopy(loaded.matrices[None])
    warm_up(Writes(), loaded.matrices, loaded)
    od, tree = loaded.matrices[None], loaded.tree
    assert np.array_equal(tree.n_tiles, before[0].n_tiles)
    assert np.array_equal(tree.parent, before[0].parent)
    assert np.array_equal(od.trips, before[1].trips)
    assert np.array_equal(od.ground.origins.lat, before[1].ground.origins.lat)


@pytest.mark.parametrize("error", [KeyError("person 7"), SystemExit(0)])
def test_what_fails_while_kernels_are_loaded_is_left_to_the_door(table: TableInput, error: BaseException) -> None:
    class Fails:
        def anonymize(self, *_: object) -> None:
            raise error

    loaded = table.load()
    warm_up(Fails(), loaded.matrices, loaded)


def test_a_case_named_twice_is_run_once() -> None:
    assert len(cases("atg-soft,atg-soft", "5,5", "persons", 0.1)) == 1


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"\x00\xff\xfe", "has no rows"),
        (b"alat,alon,blat,blon,who", "has no rows"),
        (b"alat,alon,blat,blon,who\ncanary,4,45,4,1", "1 of 1 rows have no usable value"),
        (b"alat,alon,blat,blon,who\n99,4,45,4,1", "latitude and longitude are swapped"),
    ],
)
def test_hostile_tables_are_answered_with_a_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "trips.csv"
    path.write_bytes(content)
    with pytest.raises(OdanonError, match=sentence) as told:
        TableInput(path=path, origin="alat,alon", destination="blat,blon", person="who").load()
    assert "canary" not in str(told.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--k", "ten"], "whole numbers"),
        (["--algorithms", "magic"], "no anonymize plugin"),
        (["--time-limit", "soon"], "a number with its unit"),
    ],
)
def test_mistakes_are_told_before_anything_runs(
    table: TableInput, tmp_path: Path, options: list[str], sentence: str
) -> None:
    columns = ["--origin", "alat,alon", "--destination", "blat,blon", "--person", "who"]
    failed = RUN.invoke(cli.main, ["compare", str(table.path), *columns, "--out", str(tmp_path / "out"), *options])
    assert isinstance(failed.exception, OdanonError)
    assert sentence in str(failed.exception)
    assert not (tmp_path / "out").exists()


def test_the_report_is_one_offline_page_that_shows_every_run(
    table: TableInput, tmp_path: Path, run_here: Callable[[Plan], pd.DataFrame]
) -> None:
    planned = plan(table, tmp_path / "out")
    compared = run_here(planned)
    page = comparison_page(planned, compared, table.load())
    assert page == comparison_page(planned, compared, table.load())
    for word in ("atg-joint", "atg-soft", "refused", "2,000 trips", "busiest flows"):
        assert word in page
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", page)
    data = json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    assert [release["algorithm"] for release in data["maps"]] == ["atg-joint", "atg-soft"]
    flows = pd.read_parquet(tmp_path / "out" / "runs" / "atg-joint-k5-s0.1" / "release" / "flows.parquet")
    assert sum(data["maps"][0]["flows"]["trips"]) == flows["trips"].sum()
