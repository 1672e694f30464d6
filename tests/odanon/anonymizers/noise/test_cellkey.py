"""Cell-key noise: unbiased, small, never below k, and the same for the same people wherever they are counted."""

import numpy as np
import pandas as pd
import pytest
from cell_key_perturbation.create_perturbed_table import create_perturbed_table
from hypothesis import given
from hypothesis import strategies as st
from repository import REPOSITORY

from odanon.anonymizers.noise.cellkey import cell_keys, noise_of, perturbed
from odanon.gate.noise import with_noise
from odanon.model.perturbation import KEYS, TABLE

NOON, ONE = (pd.Timestamp(f"2026-03-02T{hour}:00Z") for hour in (12, 13))
STEPS = np.arange(-TABLE.largest, TABLE.largest + 1)
CELL = ["time_bin", "segment", "origin", "destination"]


def window(cells: dict[str, list[int]], at: pd.Timestamp = NOON, trips: int = 1) -> tuple[pd.DataFrame, ...]:
    """What is shown, rows, flows and assignment of a time bin: people by tile of origin, each an area of its own."""
    flows = pd.DataFrame({"time_bin": at, "origin": [f"area {o}" for o in cells], "destination": "there"})
    flows["trips"] = [trips * len(people) for people in cells.values()]
    flows["persons"] = [len(set(people)) for people in cells.values()]
    assignment = pd.DataFrame({"time_bin": at, "origin": list(cells), "destination": "x", "flow": range(len(cells))})
    pairs = [(origin, person) for origin, people in cells.items() for person in people]
    rows = pd.DataFrame(pairs, columns=["origin", "person"])
    rows = rows.assign(time_bin=at, segment="all", destination="x", trips=trips)
    return flows.assign(segment="all"), rows, flows, assignment


def crowd(n: int, rng: np.random.Generator) -> list[int]:
    return rng.integers(0, 2**63 - 1, n).tolist()


@pytest.mark.parametrize("row", range(len(TABLE.counts)))
def test_every_row_of_the_table_is_unbiased_and_as_wide_as_it_says(row: int) -> None:
    counts = np.array(TABLE.counts[row])
    assert counts.sum() == KEYS
    assert (counts * STEPS).sum() == 0
    assert (counts * STEPS**2).sum() == (KEYS * TABLE.variance if row else 0)
    assert not counts[: TABLE.largest - row].any()  # nobody falls below k


def test_the_privacy_page_shows_the_table() -> None:
    page = (REPOSITORY / "docs" / "privacy.md").read_text()
    lines = page[page.index(f"Table `{TABLE.name}`") :].split("\n\n")[1].splitlines()[2:]
    assert [tuple(map(int, line.strip("| ").split(" | ")[1:])) for line in lines] == list(TABLE.counts)


def test_noise_is_unbiased_over_many_cells() -> None:
    rng = np.random.default_rng(5)
    cells = {str(number): crowd(int(rng.integers(10, 40)), rng) for number in range(20_000)}
    shown, *rest = window(cells)
    noise = perturbed(shown, *rest, k=10)["trips"] - shown["trips"]
    roomy = shown["persons"] > 10
    assert abs(noise.mean()) < 4 * np.sqrt(TABLE.variance / len(noise))
    assert noise[roomy].var() == pytest.approx(TABLE.variance, rel=0.05)
    assert (noise[~roomy] == 0).all()
    assert (noise.abs() <= TABLE.largest).all()


@pytest.mark.parametrize("k", [2, 10])
def test_nothing_is_published_below_k(k: int) -> None:
    persons, keys = (each.ravel() for each in np.meshgrid(np.arange(k, k + 20), np.arange(KEYS)))
    assert (persons + noise_of(persons, keys, k)).min() == k
    rng = np.random.default_rng(6)
    cells = {str(number): crowd(int(rng.integers(k, k + 9)), rng) for number in range(2_000)}
    for trips in (1, 3):
        made = perturbed(*window(cells, trips=trips), k=k)
        assert made["persons"].min() == k
        assert (made["trips"] >= made["persons"]).all()


def test_the_same_people_get_the_same_noise_in_every_table() -> None:
    """In another time bin, another order, with more rows a person and more trips: one noise in people."""
    rng = np.random.default_rng(7)
    cells = {str(number): crowd(int(rng.integers(10, 60)), rng) for number in range(500)}
    shown, rows, flows, assignment = window(cells)
    once = perturbed(shown, rows, flows, assignment, k=10)
    mixed = rows.sample(frac=1, random_state=1), flows, assignment.sample(frac=1, random_state=2)
    pd.testing.assert_frame_equal(perturbed(shown, *mixed, k=10), once)
    later = perturbed(*window(dict(reversed(cells.items())), ONE, trips=3), k=10)
    both = once.merge(later, on=["origin", "destination"])
    assert (both["persons_x"] == both["persons_y"]).all()
    few = perturbed(*window({name: cells[name] for name in ("3", "70", "400")}), k=10)
    assert few["persons"].tolist() == once["persons"].to_numpy()[[3, 70, 400]].tolist()  # beside fewer flows
    true = shown["trips"].to_numpy()
    noise = once["trips"].to_numpy() - true
    assert noise.any()
    assert (later["trips"].to_numpy()[::-1] - 3 * true == 3 * noise).all()


def test_one_person_less_gives_another_noise() -> None:
    """Whether somebody is in a cell does not follow from its number: the key of all others is as good as random."""
    rng = np.random.default_rng(8)
    cells = {str(number): crowd(30, rng) for number in range(5_000)}
    whole, less = (perturbed(*window(each), k=10)["trips"] for each in (cells, {n: c[1:] for n, c in cells.items()}))
    noise = whole - 30, less - 29
    assert abs(np.corrcoef(*noise)[0, 1]) < 0.05


def test_a_part_by_segment_is_a_cell_of_its_own() -> None:
    rng = np.random.default_rng(9)
    shown, rows, flows, assignment = window({"a": crowd(40, rng)})
    rows["segment"] = np.where(np.arange(40) < 25, "F", "M")
    parts = pd.concat([shown, shown.assign(segment="F"), shown.assign(segment="M")])
    whole, women, men = cell_keys(parts, rows, flows, assignment)
    assert whole == (women + men) % KEYS
    assert women == sum(person >> 55 for person in rows["person"][:25]) % KEYS


@given(st.lists(st.lists(st.integers(0, 2**63 - 1), min_size=2, max_size=12, unique=True), min_size=1, max_size=8))
def test_the_gate_works_out_the_same_numbers_on_its_own(crowds: list[list[int]]) -> None:
    shown, rows, flows, assignment = window({str(n): people for n, people in enumerate(crowds)}, trips=2)
    people = pd.DataFrame({"flow": rows["origin"].astype(int), "person": rows["person"]})
    made, expected = perturbed(shown, rows, flows, assignment, k=2), with_noise(shown, people, k=2)
    pd.testing.assert_frame_equal(made, expected, check_dtype=False)


def test_the_british_office_package_gives_the_same_counts() -> None:
    """Its program with our table: people in cells, keys of 0 to 255, the last row repeated for large cells."""
    k, rng = 10, np.random.default_rng(10)
    sizes = [*range(10, 30), 400, 750, 751, 2_000]
    cells = {str(size): crowd(size, rng) for size in sizes}
    shown, rows, flows, assignment = window(cells)
    ours = perturbed(shown, rows, flows, assignment, k)
    rooms = [min(max(count - k, 0), TABLE.largest) for count in range(1, 751)]
    table = pd.DataFrame(
        {
            "pcv": np.repeat(np.arange(1, 751), KEYS),
            "ckey": np.tile(np.arange(KEYS), 750),
            "pvalue": np.concatenate([np.repeat(STEPS, TABLE.counts[room]) for room in rooms]),
        }
    )
    people = rows.assign(record_key=(rows["person"] // 2**55).astype("int64"))
    theirs = create_perturbed_table(people, table, [], ["origin"], "record_key", threshold=k).set_index("origin")
    assert ours["trips"].tolist() == theirs.loc[[str(size) for size in sizes], "count"].tolist()
