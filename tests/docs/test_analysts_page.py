"""The guide for analysts and its notebook: every block is run on published taxi trips, and all ways to ask give one answer."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import gate_town as gate
import geopandas
import green_taxis as taxis
import matplotlib
import numpy as np
import pandas as pd
import pytest
from bundles import accept
from repository import REPOSITORY
from sqlalchemy.engine import make_url
from store_databases import as_role, renamed, run_sql

from odanon_assets.stores import schema
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Store
from odanon_assets.stores.postgis import PostgisStore

PAGE = (REPOSITORY / "docs" / "analysts.md").read_text()
NOTEBOOK = REPOSITORY / "docs" / "examples" / "analyst.ipynb"
DATABASE = "odanon_analysts"
EVERY = 3  # of the trips are published, which saves seconds
NUMBERS = ["low", "estimate", "high", "trips"]
NOT_RUN = os.environ.get("ODANON_STRESS", "") == ""
_SECTION = re.compile(r"^### (\d+)\. .*?$(.*?)(?=^### |^## |\Z)", re.MULTILINE | re.DOTALL)
QUESTIONS = {int(number): text for number, text in _SECTION.findall(PAGE)}


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def days(first: date, number: int) -> list[date]:
    return [first + timedelta(days=n) for n in range(number)]


@dataclass(frozen=True)
class Desk:
    """A folder with `areas.geojson` and the published store, and the same in a database."""

    folder: Path
    url: str

    @cached_property
    def stores(self) -> dict[str, Store]:
        return {"embedded": EmbeddedStore(self.folder / "odanon_data"), "postgis": PostgisStore(self.url)}

    @cached_property
    def areas(self) -> geopandas.GeoDataFrame:
        return geopandas.read_file(self.folder / "areas.geojson").set_index("name")

    def sql(self, store: str, number: int) -> pd.DataFrame:
        (query,) = blocks(QUESTIONS[number], "sql")
        return self.stores[store].query(query, None, self.areas)


@pytest.fixture(scope="module")
def desk(
    shared_data: Path, postgis_url: str, attacked: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("analysts")
    for part in ("odanon_data", "pipelines"):
        (folder / part).mkdir()
    shutil.copytree(attacked, folder / "odanon_data" / "work" / ".membership")
    run_sql(postgis_url, f"CREATE DATABASE {DATABASE}")
    url = renamed(postgis_url, DATABASE)
    schema.init(url)
    taxis.drawn_areas(shared_data).to_file(folder / "areas.geojson", driver="GeoJSON")
    found = Desk(folder, as_role(url, "odanon_reader"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            **gate.SECRET,
            "ODANON_ROOT": str(folder / "odanon_data"),
            "ODANON_PRODUCTS": str(folder / "pipelines"),
        }.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        for name, some, window, od in (
            ("green-taxi", days(date(2023, 2, 14), 33), "month", taxis.MONTHS),
            ("green-taxi-weeks", days(date(2023, 1, 9), 14), "week", taxis.WEEKS),
        ):
            trips = taxis.trips(shared_data, some, EVERY)
            for bundle in taxis.bundles(taxis.product(trips, shared_data, folder, name, some, window, od), some):
                for store in (found.stores["embedded"], PostgisStore(url)):
                    store.publish(bundle, accept)
        yield found
    run_sql(postgis_url, f"DROP DATABASE {DATABASE} WITH (FORCE)")


@pytest.fixture(scope="module")
def in_python(desk: Desk) -> dict[int, Any]:
    """What the Python of every question calls its answer."""
    (setup, *_), names, found = blocks(PAGE, "python"), {}, {}
    exec(compile(setup, "analysts.md", "exec"), names)
    for number, text in QUESTIONS.items():
        (code,) = blocks(text, "python")
        exec(compile(code, f"analysts.md, question {number}", "exec"), names)
        found[number] = names["answer"]
    return found


def numbers(answer: Any) -> pd.DataFrame:
    """The numbers that all ways of asking have in common."""
    table = pd.DataFrame([answer._asdict()]) if hasattr(answer, "_asdict") else answer
    return table[[name for name in NUMBERS if name in table]].astype(float).reset_index(drop=True)


def same(one: Any, other: Any) -> None:
    told, again = numbers(one), numbers(other)
    assert len(told)
    assert told.shape == again.shape
    assert np.allclose(told, again, rtol=1e-6, atol=1e-6), f"{told}\n{again}"


def test_there_are_ten_questions_and_each_is_answered_in_four_ways() -> None:
    assert [*QUESTIONS] == [*range(1, 11)]
    for text in QUESTIONS.values():
        assert "*Page:*" in text
        assert [len(blocks(text, language)) for language in ("sql", "python", "r")] == [1, 1, 1]


@pytest.mark.parametrize("number", range(1, 11))
def test_sql_in_the_database_and_python_on_files_answer_alike(
    desk: Desk, in_python: dict[int, Any], number: int
) -> None:
    same(desk.sql("postgis", number), in_python[number])


@pytest.mark.parametrize(
    "number", [2, 4, *(pytest.param(number, marks=pytest.mark.thorough) for number in (1, 3, 5, 6, 7, 8, 9, 10))]
)
def test_the_same_sql_runs_on_the_embedded_store(desk: Desk, in_python: dict[int, Any], number: int) -> None:
    same(desk.sql("embedded", number), in_python[number])


def test_the_answers_are_what_was_published(desk: Desk, in_python: dict[int, Any], shared_data: Path) -> None:
    """Against the trips themselves, of which all but the suppressed ones are told."""
    trips = taxis.trips(shared_data, days(date(2023, 2, 14), 33), EVERY)
    trips = trips[trips["departure"].dt.month == 3]
    inside = {name: set(zones) for name, zones in taxis.AREAS.items()}
    pairs = in_python[7].set_index(["origin", "destination"])
    left_out = len(trips) - pairs.loc[("City", "City"), "low"]
    assert 0 <= left_out < 0.01 * len(trips)
    for origin, destination in pairs.index.drop([pair for pair in pairs.index if "City" in pair]):
        truth = (trips["origin"].isin(inside[origin]) & trips["destination"].isin(inside[destination])).sum()
        low, high = pairs.loc[(origin, destination), ["low", "high"]]
        assert low <= truth <= high + left_out


@pytest.mark.skipif(NOT_RUN, reason="runs R with its packages sf and RPostgreSQL: set ODANON_STRESS=1")
def test_r_answers_alike(desk: Desk, in_python: dict[int, Any], tmp_path: Path) -> None:
    if shutil.which("Rscript") is None:
        pytest.skip("run deploy/setup/r.sh")
    setup, without_database, *_ = blocks(PAGE, "r")
    parts = [setup, without_database]
    for number, text in QUESTIONS.items():
        (code,) = blocks(text, "r")
        parts.append(f"{code}\nwrite.csv(answer, '{tmp_path}/{number}.csv', row.names = FALSE)\n")
    (query,) = blocks(QUESTIONS[7], "sql")
    parts.append(f"write.csv(ask_store({json.dumps(query.strip())}), '{tmp_path}/store.csv', row.names = FALSE)\n")
    (tmp_path / "page.R").write_text("\n".join(parts))
    place = make_url(desk.url)
    told = {"PGHOST": place.host, "PGPORT": str(place.port), "PGDATABASE": place.database, "PGUSER": place.username}
    command = Path(sys.executable).parent
    settings = {**os.environ, **told, "PGOPTIONS": "-c role=odanon_reader", "PATH": f"{command}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["Rscript", str(tmp_path / "page.R")], env=settings, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    for number in QUESTIONS:
        same(pd.read_csv(tmp_path / f"{number}.csv"), in_python[number])
    same(pd.read_csv(tmp_path / "store.csv"), in_python[7])


def test_the_notebook_runs_and_is_stored_without_output(desk: Desk) -> None:
    """Cell by cell in this process: a kernel of Jupyter would cost twenty packages to run plain Python."""
    matplotlib.use("agg")
    told, names, shown = json.loads(NOTEBOOK.read_text()), {}, []
    assert (told["nbformat"], told["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in told["cells"]}) == len(told["cells"])
    for cell in (cell for cell in told["cells"] if cell["cell_type"] == "code"):
        assert (cell["outputs"], cell["execution_count"]) == ([], None)
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, NOTEBOOK.name, "exec"), names)
        if last is not None:
            shown.append(eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names))
    assert {type(each).__name__ for each in shown} >= {"DataFrame", "Axes"}
    assert list(names["published"]) == ["green-taxi", "green-taxi-weeks"]
    matplotlib.pyplot.close("all")
