"""`odanon compare --protect participants,population --by sex`: protecting one does not protect the other."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from odanon import cli
from odanon.compare.cross import below_thresholds, counted_by_weight, cross_table, recounted
from odanon.compare.page import comparison_page
from odanon.compare.plan import Case, Plan, cases, crossed
from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.tables.read import TableInput

RUN = CliRunner()
K = 5
COLUMNS = ("--origin", "alat,alon", "--destination", "blat,blon", "--person", "who", "--resolution", "7")


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """900 trips of 150 people, few of whom stand for very many."""
    rng = np.random.default_rng(3)
    n, people = 900, 150
    lat, lon = 45.75 + rng.normal(0, 0.03, (2, n)), 4.85 + rng.normal(0, 0.03, (2, n))
    who = rng.integers(0, people, n)
    weight, sex = rng.lognormal(3, 1.2, people).round(2), np.where(rng.random(people) < 0.4, "M", "F")
    rows = {"who": who, "alat": lat[0], "alon": lon[0], "blat": lat[1], "blon": lon[1], "w": weight[who]}
    path = tmp_path_factory.mktemp("survey") / "trips.csv"
    pd.DataFrame({**rows, "sex": sex[who]}).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def plan(survey: Path, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """The cases of the command."""
    where = {"origin": "alat,alon", "destination": "blat,blon", "person": "who", "weight": "w", "segment": "sex"}
    table = TableInput(path=survey, resolution=7, **where)
    segments = table.load().segments
    planned = crossed(cases("atg-joint", str(K), "persons", 0.1), "participants,population", 40.0, segments)
    return Plan(table, planned, tmp_path_factory.mktemp("crossed"), 60)


@pytest.fixture(scope="module")
def compared(plan: Plan, run_here: Callable[[Plan], pd.DataFrame]) -> pd.DataFrame:
    return run_here(plan)


@pytest.fixture(scope="module")
def table(compared: pd.DataFrame) -> pd.DataFrame:
    return cross_table(compared)


def test_every_segment_is_protected_four_ways_and_measured_on_both_views(table: pd.DataFrame) -> None:
    assert table["segment"].unique().tolist() == ["all", "F", "M"]
    assert len(table) == 3 * 4 * 2
    assert (table["status"] == "done").all()
    assert (
        table[["least", "cells_below", "origins", "destinations", "Gbar", "E", "S_share", "C_AVG"]].notna().all().all()
    )


def test_the_safe_promises_hold_and_the_single_thresholds_do_not(table: pd.DataFrame) -> None:
    people = table[table["measured_on"] == "participants"]
    safe = ~people["threshold"].str.contains("unsafe")
    assert (people.loc[safe, "least"] >= K).all()
    assert (people.loc[safe, "cells_below"] == 0).all()
    assert (people.loc[~safe, "cells_below"] > 0).any()
    weight = table[(table["measured_on"] == "population") & (table["protect"] == "population")]
    assert (weight["least"] >= weight["needed"] * (1 - 1e-9)).all()
    assert (weight["cells_below"] == 0).all()
    only_people = table[(table["measured_on"] == "population") & (table["threshold"] == "k persons")]
    assert (only_people["cells_below"] > 0).any()


def test_unsafe_cases_leave_figures_and_no_release(plan: Plan, compared: pd.DataFrame) -> None:
    for folder in (plan.folder / "runs").iterdir():
        unsafe = "-trips" in folder.name or "-weights" in folder.name
        assert (folder / "release").exists() != unsafe
        assert (folder / "result.json").exists()


def test_the_report_shows_the_cross_table_and_marks_what_is_unsafe(plan: Plan, compared: pd.DataFrame) -> None:
    page = comparison_page(plan, compared, plan.table.load())
    assert "Protect one, measured on the other" in page
    assert page.count('<strong class="unsafe">unsafe</strong>') == 1 + 3 * 2
    assert "Measured for the population" in page


@pytest.mark.usefixtures("cases_here")
def test_the_command_writes_the_cross_table(survey: Path, tmp_path: Path) -> None:
    wanted = ["--weight", "w", "--algorithms", "atg-soft", "--k", str(K), "--protect", "participants"]
    done = RUN.invoke(
        cli.main, ["compare", str(survey), *COLUMNS, *wanted, "--out", str(tmp_path)], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    assert pd.read_csv(tmp_path / "cross.csv")["threshold"].unique().tolist() == ["k persons", "k trips (unsafe)"]
    assert "Protect one" in (tmp_path / "report.html").read_text()


def test_weights_alone_are_counted_in_whole_units_and_told_in_people() -> None:
    """One person of weight 60 passes a threshold of 50 that k = 5 people stand for: the papers' leak."""
    tree = Hierarchy.from_parents(["all", "a", "b"], [-1, 0, 0], kind="pair")
    rows = pd.DataFrame({"origin": "a", "destination": ["b", "a"], "person": [1, 2], "trips": 1, "w": [60.0, 9.99]})
    od = ODMatrix.from_frame(rows, tree, tree, weight="w")
    case = Case("atg-joint", 5, "weights", 0.5, protect="population", k_population=50.0)
    counted = counted_by_weight(od, case.weight_unit)
    assert counted.trips.tolist() == [99, 600]  # a->a, a->b in tenths; fractions never help
    at = np.array([-1, int(tree.tiles[0])]), np.array([-1, int(tree.tiles[1])])
    release = recounted(od, Release.from_nodes(counted, tree, tree, *at, {"k": 500}))
    assert release.flows[["trips", "persons", "weight"]].values.tolist() == [[1, 1, 60.0]]
    assert below_thresholds(case, {None: od}, {None: release}) == {"cells_below": 1, "cells_below_population": 0}


def test_mistakes_are_told_before_anything_runs(survey: Path, tmp_path: Path) -> None:
    def refusal(*options: str) -> str:
        done = RUN.invoke(cli.main, ["compare", str(survey), *COLUMNS, "--out", str(tmp_path / "no"), *options])
        assert isinstance(done.exception, OdanonError)
        return str(done.exception)

    assert "--protect" in refusal("--by", "sex")
    assert "--person and --weight" in refusal("--protect", "participants")
    assert "participants, population" in refusal("--weight", "w", "--protect", "everybody")
    with pytest.raises(OdanonError, match="noise"):
        crossed(cases("laplace", "5", "trips", 0.1), "participants", 1.0, ())


def test_all_algorithms_are_planned_even_where_one_does_not_know_the_unit() -> None:
    planned = cases("all", "5,10,20", "trips", 0.1)
    assert {case.algorithm for case in planned} >= {"atg-joint", "mondrian", "user-dp"}
    with pytest.raises(OdanonError):
        cases("user-dp", "5", "trips", 0.1)
    with pytest.raises(OdanonError):
        cases("all", "1", "trips", 0.1)
