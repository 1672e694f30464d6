"""Places: density clustering of a person's stays, and the kernel against a slow twin."""

from datetime import timedelta

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from short_traces import METRE, START, metres

from odanon.staypoints.places import PLACE_COLUMNS, Places, places
from odanon.testing.parameters import check_parameters


def stays_at(*north: float, person: int = 1) -> pd.DataFrame:
    """One stay of half an hour after the other, at these metres north, with 1, 2, 3, ... fixes."""
    start = START + pd.to_timedelta(np.arange(len(north)) * 3600.0, unit="s").as_unit("us")
    return pd.DataFrame(
        {
            "person": np.int64(person),
            "start": start,
            "end": start + timedelta(minutes=30),
            "lat": 45.0 + np.array(north, dtype=float) * METRE,
            "lon": 4.0,
            "fixes": np.arange(1, len(north) + 1),
        }
    )


def test_parameters_are_those_of_a_plugin() -> None:
    check_parameters(Places())


def test_places_are_numbered_by_first_visit() -> None:
    assert Places(radius_m=100).number(stays_at(5000, 0, 5040, 90, -3000)).tolist() == [0, 1, 0, 1, 2]


def test_stays_within_the_radius_of_a_common_neighbour_are_one_place() -> None:
    assert Places(radius_m=100).number(stays_at(0, 180, 90)).tolist() == [0, 0, 0]


def test_a_place_needs_enough_stays() -> None:
    regular = Places(radius_m=100, min_stays=3)
    assert regular.number(stays_at(0, 10, 20, 4000, 4010)).tolist() == [0, 0, 0, -1, -1]


def test_a_stay_beside_a_dense_one_belongs_to_its_place_but_does_not_extend_it() -> None:
    # Only the stay at 0 sees three others; the one at 95 is within its reach, the one at 185 is not.
    regular = Places(radius_m=100, min_stays=4)
    assert regular.number(stays_at(-80, -90, 0, 95, 185)).tolist() == [0, 0, 0, 0, -1]


def test_people_do_not_share_places() -> None:
    both = pd.concat([stays_at(0, 0, person=1), stays_at(0, 700, person=2)], ignore_index=True)
    assert Places(radius_m=100, min_stays=2).number(both).tolist() == [0, 0, -1, -1]


def test_no_stays_no_places() -> None:
    none = stays_at(0).iloc[:0]
    assert len(Places().number(none)) == 0
    assert tuple(places(none, Places().number(none)).columns) == PLACE_COLUMNS


def test_the_table_of_places() -> None:
    stays = stays_at(0, 4000, 60, 9000)
    table = places(stays, np.array([0, 1, 0, -1]))
    assert tuple(table.columns) == PLACE_COLUMNS
    assert table["place"].tolist() == [0, 1]
    assert metres(table) == [45.0, 4000.0]  # the stay at 60 metres has three times the fixes
    assert table["stays"].tolist() == [2, 1]
    assert table["stayed"].tolist() == [timedelta(hours=1), timedelta(minutes=30)]


def slow_places(north: list[int], radius: float, min_stays: int) -> list[int]:
    """DBSCAN by its definition on a line."""
    everyone = range(len(north))

    def near(a: int, b: int) -> bool:
        return abs(north[a] - north[b]) <= radius

    dense = [a for a in everyone if sum(near(a, b) for b in everyone) >= min_stays]
    cluster = {a: a for a in dense}
    for _ in dense:
        for a in dense:
            cluster[a] = min(cluster[b] for b in dense if near(a, b))
    belongs = []
    for a in everyone:
        hosts = [b for b in dense if near(a, b)]
        host = min(hosts, key=lambda b: (abs(north[a] - north[b]), b), default=None)
        belongs.append(-1 if host is None else cluster[a if a in cluster else host])
    numbers = {c: i for i, c in enumerate(dict.fromkeys(c for c in belongs if c >= 0))}
    return [numbers.get(c, -1) for c in belongs]


@given(st.lists(st.integers(0, 31), min_size=1, max_size=30), st.integers(1, 5))
def test_the_kernel_equals_the_definition(steps: list[int], min_stays: int) -> None:
    # Binary digits read in base 3: no place lies midway between two others, where rounding would choose the nearer.
    north = [3 * int(f"{step:b}", 3) for step in steps]
    assert Places(radius_m=100.5, min_stays=min_stays).number(stays_at(*north)).tolist() == slow_places(
        north, 100.5, min_stays
    )
