"""What docs/one-table.md says of each algorithm, computed: from a comparison of all of them, and from the results page."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely
from repository import REPOSITORY

from odanon import registry
from odanon.compare.plan import Case, Plan
from odanon.model.release import REST
from odanon.tables.read import TableInput

K, BUDGET = 6, 0.1
NOISE = ("laplace", "user-dp")
UNLIKE = {"laplace": {"unit": "trips"}, "suppression": {"suppression": 0.95}}  # what their method asks for
SHARED = ("odkanon", "oigh", "datafly", "uniform")


def rows_of_readme() -> dict[str, str]:
    """Each algorithm of the table with what its row says."""
    rows = re.findall(r"^\| (`[a-z].*?) \|(.*)\|$", (REPOSITORY / "docs" / "one-table.md").read_text(), re.MULTILINE)
    return {name: told for names, told in rows for name in re.findall(r"`([a-z-]+)`", names)}


@dataclass(frozen=True)
class Compared:
    figures: pd.DataFrame
    plan: Plan

    def of(self, name: str) -> pd.Series:
        return self.figures.loc[name]

    def table(self, name: str, table: str) -> pd.DataFrame:
        case = next(case for case in self.plan.cases if label(case) == name)
        folder = self.plan.release(case)
        return (
            geopandas.read_parquet(folder / f"{table}.parquet")
            if table == "zones"
            else pd.read_parquet(folder / f"{table}.parquet")
        )

    def areas(self, name: str, side: str) -> list[list[str]]:
        """The areas of flows on one side, by time bin."""
        flows = self.table(name, "flows")
        return [sorted(set(part[side])) for _, part in flows[flows["kind"] != REST].groupby("time")]

    def lie_apart(self, name: str, areas: list[str]) -> bool:
        """Whether no two areas share ground."""
        shapes = self.table(name, "zones").set_index("zone_id")["geometry"].to_crs(6933).loc[areas]
        together = shapely.area(shapely.union_all(shapes.to_numpy()))
        return together == pytest.approx(shapes.area.sum(), rel=1e-3)


def label(case: Case) -> str:
    return f"{case.algorithm} tiles" if case.parameters else case.algorithm


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory, run_here: Callable[[Plan], pd.DataFrame]) -> Compared:
    """Every installed algorithm on two halves of a day between homes and a few busy places."""
    folder = tmp_path_factory.mktemp("claims")
    rng = np.random.default_rng(5)
    centres = np.column_stack([45.75 + rng.normal(0, 0.03, 6), 4.85 + rng.normal(0, 0.04, 6)])
    ends = [
        centres[rng.choice(6, 2000, p=[0.4, 0.2, 0.15, 0.1, 0.1, 0.05])] + rng.normal(0, 0.008, (2000, 2)) for _ in "od"
    ]
    columns = dict(zip(("alat", "alon", "blat", "blon"), np.hstack(ends).T, strict=True))
    trips = pd.DataFrame({**columns, "who": rng.integers(0, 400, 2000), "half": np.arange(2000) % 2})
    trips.to_parquet(folder / "trips.parquet")
    table = TableInput(
        path=folder / "trips.parquet",
        origin="alat,alon",
        destination="blat,blon",
        person="who",
        time="half",
        resolution=7,
        hierarchy_parameters={"steps": "fine"},
    )
    usual = {"k": K, "unit": "persons", "suppression": BUDGET}
    cases = [Case(name, **{**usual, **UNLIKE.get(name, {})}) for name in registry.names("anonymize")]
    tiles = Case("atg-lattice", **usual, parameters={"objective": "tiles", "rests": False})
    plan = Plan(table, (*cases, tiles), folder / "out", 300)
    figures = run_here(plan)
    figures.index = figures["algorithm"] + figures["parameters"].map(lambda told: " tiles" if told else "")
    assert (figures["status"] == "done").all(), figures["message"].dropna().tolist()
    return Compared(figures, plan)


@pytest.fixture(scope="module")
def rivals(compared: Compared) -> pd.DataFrame:
    """The others that keep the budget and whose flows can be counted again."""
    figures = compared.figures
    kept = figures[(figures["S_share"] <= BUDGET + 1e-9) & (figures["verifier"] == "passed")]
    return kept[kept["algorithm"] != "atg-lattice"]


def test_the_table_lists_what_is_installed() -> None:
    assert sorted(rows_of_readme()) == registry.names("anonymize")


def test_the_lattice_loses_least_and_tells_what_others_leave_out(compared: Compared, rivals: pd.DataFrame) -> None:
    lattice = compared.of("atg-lattice")
    assert lattice["E"] < rivals["E"].min()
    assert lattice["coarse_share"] > 0
    assert lattice["S_share"] < rivals.loc[["atg-joint", "atg-dual", "atg-homogeneous"], "S_share"].min()


def test_with_the_objective_tiles_it_has_the_fewest_of_all_that_keep_to_the_hierarchy(
    compared: Compared, rivals: pd.DataFrame
) -> None:
    boxes = ["mondrian", "glove", "glove-sk"]
    assert compared.of("atg-lattice tiles")["Gbar"] < rivals.drop(boxes)["Gbar"].min()
    assert compared.of("atg-lattice tiles")["Gbar"] < compared.of("atg-lattice")["Gbar"]


def test_areas_of_one_side_do_not_lie_inside_each_other_with_joint(compared: Compared) -> None:
    """Which side that is may differ from bin to bin; the lattice has areas inside areas on both."""
    sides = [compared.areas("atg-joint", side) for side in ("origin", "destination")]
    apart = [[compared.lie_apart("atg-joint", areas) for areas in bins] for bins in sides]
    assert all(map(any, zip(*apart, strict=True)))
    assert not all(map(all, zip(*apart, strict=True)))
    assert not any(compared.lie_apart("atg-lattice", areas) for areas in compared.areas("atg-lattice", "origin"))
    assert "or the reverse where that is finer" in rows_of_readme()["atg-joint"]


@pytest.mark.parametrize("side", ["origin", "destination"])
def test_homogeneous_has_one_partition_a_side_for_all_flows_and_bins(compared: Compared, side: str) -> None:
    everything = sorted({area for areas in compared.areas("atg-homogeneous", side) for area in areas})
    assert compared.lie_apart("atg-homogeneous", everything)


@pytest.mark.parametrize("name", SHARED)
def test_shared_areas_lie_apart_on_both_sides(compared: Compared, name: str) -> None:
    for side in ("origin", "destination"):
        assert all(compared.lie_apart(name, areas) for areas in compared.areas(name, side))


def test_uniform_areas_are_of_one_level(compared: Compared) -> None:
    levels = compared.table("uniform", "zones").set_index("zone_id")["level"]
    assert all(levels.loc[areas].nunique() == 1 for areas in compared.areas("uniform", "origin"))


@pytest.mark.parametrize("name", ["atg-dual", "atg-soft", "quadtree-knapsack"])
def test_origins_come_first_and_destinations_are_cut_for_each(compared: Compared, name: str) -> None:
    assert all(compared.lie_apart(name, areas) for areas in compared.areas(name, "origin"))
    assert not all(compared.lie_apart(name, areas) for areas in compared.areas(name, "destination"))


def test_soft_has_a_price_and_no_budget(compared: Compared) -> None:
    assert compared.of("atg-soft")["S_share"] != pytest.approx(BUDGET, abs=0.005)
    assert compared.of("atg-dual")["S_share"] == pytest.approx(BUDGET, abs=0.005)


def test_the_knapsack_reports_rests(compared: Compared) -> None:
    assert compared.table("quadtree-knapsack", "flows")["destination"].str.startswith("rest of ").any()


@pytest.mark.parametrize("name", ["mondrian", "glove", "glove-sk"])
def test_boxes_follow_the_flows_and_no_tree(compared: Compared, name: str) -> None:
    """Boxes overlap without lying inside each other, which areas of a tree cannot."""
    zones = compared.table(name, "zones").to_crs(6933)
    shared = zones.overlay(zones, how="intersection", keep_geom_type=True)
    partly = shared.area < 0.99 * np.minimum(*(shared[f"area_km2_{n}"] * 1e6 for n in (1, 2)))
    assert (partly & (shared.area > 1)).any()


def test_suppression_keeps_the_tiles_and_leaves_out_most(compared: Compared, rivals: pd.DataFrame) -> None:
    assert compared.of("suppression")["Gbar"] == 2
    assert compared.of("suppression")["S_share"] > rivals["S_share"].max()


@pytest.mark.parametrize("name", NOISE)
def test_noise_is_on_the_tiles_and_nobody_can_verify_it(compared: Compared, name: str) -> None:
    assert compared.of(name)["verifier"] == "not verified"
    assert set(compared.table(name, "zones")["n_tiles"]) <= {1}


@pytest.fixture(scope="module")
def results() -> dict[str, list[dict[str, str]]]:
    """The tables of the results page by the heading above them, those below one heading in a row."""
    found: dict[str, list[dict[str, str]]] = {}
    for part in re.split(r"^##+ ", (REPOSITORY / "docs" / "results.md").read_text(), flags=re.MULTILINE)[1:]:
        for block in re.findall(r"(?:^\|.*\|\n)+", part, re.MULTILINE):
            cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
            rows = [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]
            found.setdefault(part.splitlines()[0], []).extend(rows)
    return found


def number(cell: str) -> float:
    return float(cell.split()[0].replace(",", "").rstrip("%"))


def told(count: int) -> str:
    return "none one two three four five six seven eight nine ten eleven twelve thirteen".split()[count]  # noqa: SIM905


def test_the_words_below_the_table_are_those_of_the_results(results: dict[str, list[dict[str, str]]]) -> None:
    """On how many sets the lattice is best, and on how many it is not."""
    rows = results["Is ATG-Lattice the best choice?"]
    used = [row for row in rows if "steps" in row]
    words = (REPOSITORY / "docs" / "one-table.md").read_text()
    assert f"on the {told(len(used))} data sets compared its reconstruction loss is the least" in words
    assert all(number(row["E"]) <= number(row["least E of others"]) for row in used)
    near = [row["set"] for row in used if number(row["Ḡ"]) <= 1.15 * number(row["least Ḡ of others"])]
    assert f"within 15 % of the least on {told(len(near))} of them; on the other {told(len(used) - len(near))}" in words
    others = [row for row in rows if "steps" not in row]
    assert all(number(row["E lattice + rests"]) <= number(row["E"]) for row in others if number(row["S"]) <= 10)
    boxes = [row for row in others if row["method"] == "mondrian"]
    better = [row for row in boxes if number(row["E"]) < number(row["E lattice"])]
    assert f"Mondrian's boxes lose less on {told(len(better))} of the {told(len(boxes))} sets that have places" in words


def test_on_how_many_sets_the_objective_tiles_has_the_fewest(results: dict[str, list[dict[str, str]]]) -> None:
    """Among methods that keep the budget; noise and bare tiles do not compare."""
    apart = ("suppression", "laplace", "user-dp", "atg-soft", "atg-lattice, loss")
    beaten, sets = set(), 0
    for rows in results.values():
        size = "Ḡ" if "Ḡ" in rows[0] else "Ḡ ours"
        method = next((name for name in ("method", "solver", "algorithm") if name in rows[0]), "")
        known = {row[method]: row[size] for row in rows if method and size in row and re.match(r"[\d.]", row[size])}
        ours = [number(value) for name, value in known.items() if name.startswith("atg-lattice, tiles")]
        if not ours:
            continue
        sets += 1
        mine = {name: number(value) for name, value in known.items() if not name.startswith(apart)}
        beaten |= {name for name, value in mine.items() if value < min(ours)}
    assert sets >= 13
    assert beaten == {"glove"}
    assert "or, but for Glove's boxes, fewest tiles a trip (`tiles`)" in rows_of_readme()["atg-lattice"]
