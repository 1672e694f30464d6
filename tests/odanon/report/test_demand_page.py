"""The page of a demand: its sums against plain counting, and what a real browser shows of it."""

import re
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
import shapely

from odanon.errors import OdanonError
from odanon.report.demand import FIGURES, demand_page
from odanon.report.demand_tables import DemandTables, demand_tables, trips_of

STEPS = [
    "00:00",
    "02:00",
    "05:00",
    "07:00",
    "08:00",
    "09:00",
    "10:00",
    "12:00",
    "14:00",
    "16:00",
    "17:00",
    "18:00",
    "19:00",
    "20:00",
    "22:00",
]
SIDE = 8
LICENCE = "Survey <2015>, for research & teaching only"
WHOLE = "agents as whole people"
PROBE = """setTimeout(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const shades = () => {
    const canvas = document.querySelector("#map canvas");
    return new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size;
  };
  const before = document.getElementById("panel-text").textContent;
  const purpose = document.getElementById("purpose");
  purpose.value = "work"; purpose.dispatchEvent(new Event("change"));
  setTimeout(() => {
    const work = document.getElementById("panel-text").textContent;
    document.querySelector("#table tbody button").click();
    const seen = {
      overflow: document.documentElement.scrollWidth - innerWidth, before, work,
      series: all("#hours polyline").map((line) => line.dataset.series), steps: all("#hours svg :not(polyline)[data-series]").length,
      dots: ["pairs", "profiles", "lengths"].map((id) => all(`#${id} svg [data-series]`).length > 5),
      diagonals: all("[stroke-dasharray]").length, shades: shades(), cards: all(".cards li").length, others: all("#others tr").length,
      purposes: all("#purpose option").map((each) => each.textContent), rows: all("#table tbody tr").length,
      picked: document.getElementById("panel-text").textContent, title: document.getElementById("panel-title").textContent,
    };
    document.body.append(Object.assign(document.createElement("pre"), {id: "probe", textContent: JSON.stringify(seen)}));
  }, 600);
}, 600);"""


def made_up(agents: int = 1500, outlines: bool = True, seed: int = 5) -> dict[str, Any]:
    """A town of squares, a survey of three kinds of days, agents that copy them, and matrices like their trips."""
    random = np.random.default_rng(seed)
    lon, lat = 4.8 + 0.012 * (np.arange(SIDE**2) % SIDE), 45.7 + 0.009 * (np.arange(SIDE**2) // SIDE)
    zones = pd.DataFrame({"zone": [f"z{i:02d}" for i in range(SIDE**2)], "lat": lat + 0.0045, "lon": lon + 0.006})
    zones = zones.assign(commune=[f"commune {i // 16}" for i in range(SIDE**2)], canton="one")
    if outlines:
        zones["geometry"] = shapely.box(lon, lat, lon + 0.012, lat + 0.009)
    pull = random.gamma(0.6, 1, SIDE**2)
    days = {
        0: [("work", "car", 3), ("home", "car", 11)],
        1: [("study", "public", 4), ("shopping", "foot", 9), ("home", "public", 10)],
        2: [("personal", "foot", 7), ("home", "foot", 8)],
        3: [],
    }
    rows, homes = [], random.choice(zones["zone"], agents)
    copies, kind = random.integers(0, 3, agents), random.integers(0, 4, agents)
    for agent in range(agents):
        for copy in range(copies[agent]):
            rows.append((agent, copy, 0, "home", "", -1, homes[agent]))
            for seq, (purpose, mode, step) in enumerate(days[int(kind[agent])], 1):
                place = homes[agent] if purpose == "home" else random.choice(zones["zone"], p=pull / pull.sum())
                rows.append((agent, copy, seq, purpose, mode, step, place))
    activities = pd.DataFrame(rows, columns=["agent", "copy", "seq", "purpose", "mode", "step", "zone"])
    people = pd.DataFrame(
        {
            "age": random.choice(["0-17", "18-29", "30-59", "60+"], agents),
            "gender": random.choice(["female", "male"], agents),
            "occupation": random.choice(["worker", "pupil", "retired"], agents),
            "car": random.choice(["yes", "no"], agents),
            "home_status": "owner",
            "home_zone": homes,
        }
    )
    od = trips_of(activities).groupby(["step", "origin", "destination"]).size().rename("trips").reset_index()
    od["trips"] = od["trips"] * random.gamma(2, 0.5, len(od))
    return {
        "evaluation": evaluation(activities, od, people.assign(copies=copies)),
        "activities": activities.sample(frac=1, random_state=1),
        "zones": zones,
        "od": od,
    }


def evaluation(activities: pd.DataFrame, od: pd.DataFrame, people: pd.DataFrame) -> dict[str, Any]:
    """The parts of evaluation.json that the page reads."""
    by_step = np.bincount(activities.loc[activities["step"] >= 0, "step"], minlength=len(STEPS)).astype(float)
    wanted = np.bincount(od["step"], od["trips"], len(STEPS))
    told = {"od": wanted, "survey": by_step**0.8, "agents before": by_step**0.9, "agents after": wanted, WHOLE: by_step}
    profile = people[["gender", "car", "occupation", "age"]].agg(" ".join, axis=1)
    profiles = people.groupby(profile)["copies"].agg(["size", "sum"]).reset_index()
    profiles.columns = pd.Index(["profile", "census", "agents"])
    shares = {name: (trips / trips.sum()).tolist() for name, trips in told.items()}
    return {
        "inputs": {"steps": STEPS},
        "calibration": {
            "share of trips by step": shares,
            "people by profile": profiles.assign(calibrated=profiles["census"]).to_dict("records"),
            "error_steps": 1e-5,
            "error_profiles": 31.2,
            "lost": 0.13,
            "sd": 0.43,
            "gini": None,
        },
        "places": {"od fit": {"r2": 0.63, "kl": 12.5, "kl_common": 0.4}},
    }


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    return made_up()


@pytest.fixture(scope="module")
def tables(told: dict[str, Any]) -> DemandTables:
    return demand_tables(**told)


@pytest.fixture(scope="module")
def page(tables: DemandTables) -> str:
    return demand_page("Demand of <town>", "seed 7 · raking · factor-graph", LICENCE, tables)


def test_trips_lead_from_one_activity_of_a_person_to_the_next(told: dict[str, Any]) -> None:
    counted: Counter[tuple[int, str, str]] = Counter()
    ordered = told["activities"].sort_values(["agent", "copy", "seq"])
    for _, day in ordered.groupby(["agent", "copy"]):
        where, steps = day["zone"].tolist(), day["step"].tolist()
        counted.update(zip(steps[1:], where, where[1:], strict=False))
    made = trips_of(told["activities"])
    assert Counter(made[["step", "origin", "destination"]].itertuples(index=False, name=None)) == counted


def test_shares_of_steps_are_those_of_the_evaluation(told: dict[str, Any], tables: DemandTables) -> None:
    theirs = told["evaluation"]["calibration"]["share of trips by step"]
    assert tables.shares.to_dict("list") == {name: each for name, each in theirs.items() if name != WHOLE}


def test_figures_are_what_their_meaning_says(told: dict[str, Any], tables: DemandTables) -> None:
    found, trips = tables.figures, trips_of(told["activities"])
    assert found["persons"] == (told["activities"]["seq"] == 0).sum()
    assert found["trips"] == len(trips)
    alone = told["activities"].groupby(["agent", "copy"]).size() == 1
    assert found["stay_home"] == pytest.approx(alone.mean())
    assert found["static_agents"] == pytest.approx((trips["origin"] == trips["destination"]).mean())
    gap = np.abs(tables.shares["agents before"] - tables.shares["od"]).sum() / 2
    assert (found["gap_before"], found["gap_after"]) == (pytest.approx(gap, abs=1e-6), 0)
    people = tables.profiles["agents"] / tables.profiles["agents"].sum(), tables.profiles["census"] / 1500
    assert found["gap_profiles"] == pytest.approx(np.abs(people[0] - people[1]).sum() / 2, abs=1e-6)
    assert set(found) == {figure.name for figure in FIGURES}
    assert np.isnan(found["gini"])


def test_pairs_that_only_agents_have_are_told_apart(told: dict[str, Any]) -> None:
    whole, part = demand_tables(**told), demand_tables(**told | {"od": told["od"].query("origin != 'z09'")})
    trips = trips_of(told["activities"])
    assert whole.figures["unseen"] == 0
    assert part.figures["unseen"] == pytest.approx((trips["origin"] == "z09").mean())


def test_curves_of_lengths_begin_with_trips_within_a_zone_and_rise(told: dict[str, Any], tables: DemandTables) -> None:
    for of in ("od", "agents"):
        curve = tables.lengths[tables.lengths["of"] == of]
        assert (curve["km"].iloc[0], curve["passed"].iloc[0]) == (0, pytest.approx(tables.figures[f"static_{of}"]))
        assert curve["km"].is_monotonic_increasing
        assert curve["passed"].is_monotonic_increasing
        assert curve["passed"].iloc[-1] == pytest.approx(0.99, abs=0.02)
    places = told["zones"].set_index("zone")
    trips = trips_of(told["activities"])
    east, north = (
        (places.loc[trips["destination"], c].to_numpy() - places.loc[trips["origin"], c].to_numpy())
        for c in ("lon", "lat")
    )
    km = np.hypot(east * 111.32 * np.cos(np.radians(45.735)), north * 111.32)
    curve = tables.lengths[tables.lengths["of"] == "agents"]
    for length, passed in curve[["km", "passed"]].iloc[:-1].itertuples(index=False):
        assert (km <= 0.98 * length).mean() - 1e-9 <= passed <= (km <= 1.02 * length).mean() + 1e-9


def test_zones_that_nobody_knows_are_a_sentence(told: dict[str, Any]) -> None:
    with pytest.raises(OdanonError, match="give the page all zones"):
        demand_tables(**told | {"zones": told["zones"].iloc[:9]})


def test_the_page_says_what_it_is_and_points_nowhere(page: str) -> None:
    assert page.count("not anonymous") == 2
    assert "Survey &lt;2015&gt;, for research &amp; teaching only" in page
    assert "Demand of &lt;town&gt;" in page
    assert "<town>" not in page
    assert not re.search(r"https?://|url\(|@import|fetch\(|XMLHttpRequest|WebSocket|sendBeacon|import\(", page)


def test_words_may_be_categories(told: dict[str, Any], page: str) -> None:
    packed = {
        "activities": told["activities"].astype({"zone": "category", "purpose": "category"}),
        "zones": told["zones"].astype({"zone": "category", "commune": "category"}),
        "od": told["od"].astype({"origin": "category", "destination": "category"}),
    }
    assert (
        demand_page("Demand of <town>", "seed 7 · raking · factor-graph", LICENCE, demand_tables(**told | packed))
        == page
    )


def test_the_same_tables_give_the_same_page_whatever_the_order_of_rows(told: dict[str, Any], page: str) -> None:
    mixed = {name: told[name].sample(frac=1, random_state=3) for name in ("activities", "od")}
    assert (
        demand_page("Demand of <town>", "seed 7 · raking · factor-graph", LICENCE, demand_tables(**told | mixed))
        == page
    )


def test_everything_is_drawn_and_the_map_follows_the_purpose(page: str, tables: DemandTables, probe) -> None:
    seen = probe(page, PROBE)
    assert seen["overflow"] <= 0
    assert seen["series"] == ["matrices", "survey", "agents before", "agents after"]
    assert seen["steps"] == 4 * len(STEPS)
    assert seen["dots"] == [True] * 3
    assert seen["diagonals"] == 2
    assert seen["shades"] > 20
    assert seen["cards"] + seen["others"] == len(tables.figures)
    assert seen["others"] == 6
    assert seen["purposes"] == ["all", "home", *sorted(seen["purposes"][2:], key=lambda p: -_number(tables, p))]
    assert f"{_number(tables, 'work'):,} activities in 64 zones" in seen["work"]
    assert seen["before"] != seen["work"]
    assert (seen["title"], seen["rows"]) == ("Activities: work", 64)
    assert re.match(r"z\d\d · commune \d · home: [\d,]+", seen["picked"])


def _number(tables: DemandTables, purpose: str) -> int:
    return int(tables.activities.query("purpose == @purpose")["number"].sum())


def test_without_outlines_there_is_a_table_and_no_map(probe) -> None:
    page = demand_page("Demand", "seed 7", LICENCE, demand_tables(**made_up(60, outlines=False)))
    seen = probe(
        page,
        """setTimeout(() => {
  const seen = {map: document.querySelector(".explorer").firstElementChild.textContent, rows: document.querySelectorAll("#table tbody tr").length,
    heads: document.querySelectorAll("#table th").length};
  document.body.append(Object.assign(document.createElement("pre"), {id: "probe", textContent: JSON.stringify(seen)}));
}, 300);""",
    )
    assert seen == {"map": "No map: the zones have no outlines.", "rows": 64, "heads": 2}
