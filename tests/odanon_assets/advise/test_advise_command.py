"""`odanon advise`: both doors, the page, and what it refuses."""

import json
from datetime import timedelta
from pathlib import Path

import gate_town as gate
import numpy as np
import pandas as pd
import pytest
from gate_town import DAY, people, town
from typer.testing import CliRunner

from odanon import cli
from odanon.door import release
from odanon.product import Product
from odanon_assets.advise.days import present_setting
from odanon_assets.chain.hierarchy import read_tree
from odanon_assets.chain.od import day_matrices
from odanon_assets.chain.stages import day_stages, run_stage
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root

RUN = CliRunner()
TUESDAY = DAY + timedelta(days=1)


@pytest.fixture
def folder(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    for number, day in enumerate((DAY, TUESDAY)):
        rows, rng = people(200, hours=(8, 17), day=day), np.random.default_rng(number)
        gate.write(workspace, rows[rng.random(len(rows)) < 0.7], day)
    return workspace


def made(product: Product) -> Lake:
    """The days of a product, and the tree and rows of its week."""
    weekend = [stage for stage in day_stages(product) if stage.name in ("traces", "staypoints", "trips", "od")]
    for day in (DAY, TUESDAY):
        for stage in weekend:
            run_stage(product, stage.name, day, {name: getattr(product, name).instance for name in stage.plugins})
    return Lake(default_root())


def weekly(folder: Path) -> Product:
    few = {"weekend": ["wednesday", "thursday", "friday", "saturday", "sunday"]}
    return town(folder, "weekly", od={"bin": "12h", "days": "working"}, calendar=few, publish={"window": "week"})


def advise(*words: str) -> str:
    told = RUN.invoke(cli.main, ["advise", *words])
    if told.exception is not None and not isinstance(told.exception, SystemExit):
        raise told.exception
    assert told.exit_code == 0, told.output
    return told.output


def test_the_present_setting_of_a_product_costs_what_its_release_does(folder: Path) -> None:
    product = weekly(folder)
    lake = made(product)
    for stage in ("window", "hierarchy"):
        plugins = ("zoning", "hierarchy") if stage == "hierarchy" else ()
        run_stage(product, stage, DAY, {name: getattr(product, name).instance for name in plugins})
    tree = read_tree(lake, product, DAY)
    matrices = dict(day_matrices(lake, product, DAY, tree))
    door = release(matrices, tree, product.anonymize.instance, product.anonymize.promise).figures
    shown = advise("weekly", "--k", "5", "--resolutions", "8,7", "--bins", "12h", "--out", str(folder / "advice"))
    table = pd.read_csv(folder / "advice" / "advice.csv")
    present = table[table["present"]].iloc[0]
    assert present["label"] == present_setting(product).label
    names = ["E", "Gbar", "S_share", "coarse_share", "flows"]
    assert present[names].to_dict() == pytest.approx({name: door[name] for name in names}, rel=0.006)
    assert set(table["window"]) == {"day", "week"}
    assert "RESTRICTED" in shown
    assert not [line for line in shown.splitlines() if "person " in line]
    page = (folder / "advice" / "advice.html").read_text()
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert {setting["label"] for setting in data["settings"]} == set(table.loc[table["status"] == "done", "label"])
    assert [setting["label"] for setting in data["settings"] if setting["present"]] == [present["label"]]
    assert page.count("RESTRICTED: made from rows of people, not for publication") == 2
    assert sorted(path.name for path in (folder / "advice").iterdir()) == [
        "RESTRICTED.txt", "advice.csv", "advice.html", "advice.parquet", "settings",
    ]  # fmt: skip


def test_a_table_is_tried_without_a_product(folder: Path) -> None:
    rows = pd.concat([pd.read_parquet(folder / f"{day}.parquet") for day in (DAY, TUESDAY)])
    rows.to_parquet(folder / "trips.parquet")
    columns = ["--count", "trips", "--person", "person", "--time", "time_bin"]
    few = ["--k", "5", "--bins", "12h,1d", "--times", "fixed", "--resolutions", "7"]
    shown = advise(str(folder / "trips.parquet"), *columns, *few, "--out", str(folder / "advice"))
    table = pd.read_parquet(folder / "advice" / "advice.parquet")
    assert sorted(table["label"]) == [
        f"{window} · {bin_} fixed · H3 7 · k 5" for window in ("day", "week") for bin_ in ("12h", "1d")
    ]
    assert not table["present"].any()
    assert all(label in shown for label in table.loc[table["edge"], "label"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--windows", "month"], "people have a new pseudonym every week"),
        (["--bins", "1h"], "none is split; try longer ones"),
        (["--times", "adaptive"], "--times adaptive: needs atg-lattice"),
        (["--algorithm", "oigh"], "--algorithm is for tables; a product's file says it"),
        (["--from", "2027-01-01"], "no trips of these days are there"),
    ],
)
def test_what_cannot_be_tried_is_refused_in_a_sentence(folder: Path, words: list[str], sentence: str) -> None:
    made(weekly(folder))
    told = RUN.invoke(cli.main, ["advise", "weekly", *words, "--out", str(folder / "advice")])
    assert sentence in str(told.exception)


def test_advice_is_not_written_where_readers_look(folder: Path) -> None:
    out = default_root() / "published" / "advice"
    told = RUN.invoke(cli.main, ["advise", "weekly", "--out", str(out)])
    assert "which readers see, and advice is restricted" in str(told.exception)
    assert not out.exists()
