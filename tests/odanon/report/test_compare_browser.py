"""The comparison report in a real browser: 17 algorithms at three k stay legible, nothing is fetched or complained about."""

import re

import geopandas
import numpy as np
import pandas as pd
import pytest
from compared_runs import made_up_runs

from odanon.report.compare import render_comparison
from odanon.report.compare_maps import CaseTables
from odanon.report.compared_tables import runs_tables

NAMES = [f"method-{i:02d}" for i in range(17)]
KS = (5, 10, 20)
NOISY = NAMES[-1]
PROBE = """setTimeout(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const select = document.getElementById("profile-flow");
  const bars = () => document.querySelector("#profiles svg").getAttribute("aria-label");
  const before = bars();
  select.value = "1"; select.dispatchEvent(new Event("change"));
  const place = document.querySelectorAll("#maps canvas")[3].getBoundingClientRect();
  const at = {clientX: place.left + place.width / 2, clientY: place.top + place.height / 2, pointerId: 1, bubbles: true};
  for (const kind of ["pointermove", "pointerdown", "pointerup"]) all("#maps canvas")[3].dispatchEvent(new PointerEvent(kind, at));
  setTimeout(() => {
    const colours = all("#maps canvas").map((canvas) => (
      new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size));
    const seen = {
      overflow: document.documentElement.scrollWidth - innerWidth,
      maps: colours, sizes: all("#sizes svg").length, profiles: all("#profiles svg").length,
      looks: all("#tradeoff-key li svg > *").map((mark) => mark.tagName + mark.getAttribute("d")?.length + mark.getAttribute("fill")),
      plots: ["gbar-e", "gbar-s", "gbar-k", "gbar-cpu"].map((id) => all(`#${id} [data-series]`).length),
      rows: all("details table")[0].tBodies[0].rows.length, moved: before !== bars(),
      text: document.getElementById("maps-text").textContent,
      legends: all("#maps .legend, #maps-legend").map((legend) => legend.textContent),
      noisy: document.getElementById("plots-text").textContent,
      widest: Math.max(...all("#gbar-s svg text").map((node) => parseFloat(node.textContent)).filter((value) => value === value)),
    };
    document.body.append(Object.assign(document.createElement("pre"), {id: "probe", textContent: JSON.stringify(seen)}));
  }, 900);
}, 900);"""

LATE = """setTimeout(() => {
  const seen = {
    notes: document.querySelectorAll("#gbar-e .note, #gbar-s .note, #gbar-k .note, #gbar-cpu .note").length,
    maps: document.getElementById("maps-text").textContent, sections: document.querySelectorAll("section[hidden]").length,
  };
  document.body.append(Object.assign(document.createElement("pre"), {id: "probe", textContent: JSON.stringify(seen)}));
}, 300);"""


@pytest.fixture(scope="module")
def page(small_release) -> str:
    flows, zones, _ = small_release
    summed = flows.groupby(["origin_zone", "destination_zone"], as_index=False)[["trips", "spread"]].sum()
    tables = summed.rename(columns={"origin_zone": "origin", "destination_zone": "destination"})
    placed = geopandas.GeoDataFrame(zones, geometry="geometry", crs="EPSG:4326")
    hours = [f"{hour:02d}:00" for hour in range(24)]
    profiles = pd.DataFrame(
        [
            {"time": hour, "origin": pair, "destination": pair, "original": float(n), **dict.fromkeys(NAMES, n / 2)}
            for pair in ("a", "b")
            for n, hour in enumerate(hours)
        ]
    )
    profiles.loc[profiles["origin"] == "b", NAMES] = 1.0
    west, south, east, north = placed.total_bounds
    facts = {
        "byline": "",
        "summary": "",
        "map_k": 10,
        "bins": hours,
        "extent": [west, south, east, north],
    }
    return render_comparison(
        "Anonymising", compared(), compared(), [CaseTables(name, tables, placed) for name in NAMES], profiles, facts
    )


def compared() -> pd.DataFrame:
    """A tidy table with made-up figures; one run is refused, one timed out, and one method adds noise."""
    table = made_up_runs(NAMES, KS)
    table.loc[3, ["status", "message", "Gbar"]] = [
        "refused",
        "a long reason that says what to do about it " * 4,
        np.nan,
    ]
    table.loc[5, ["status", "Gbar"]] = ["timed out", np.nan]
    table.loc[table["algorithm"] == NOISY, ["verifier", "S_share"]] = ["not verified", -24.0]
    return table


def test_the_tables_need_no_scripts_and_the_best_of_each_k_is_marked(page: str) -> None:
    body = page[: page.index('<script type="application/json"')]
    first = re.search(r"<details open>.*?</details>", body, re.DOTALL)[0]
    assert first.count("<tr") == 1 + len(NAMES) * len(KS)
    assert "a long reason" in first
    assert first.count('class="best"') >= 6 * len(KS)
    assert not best_left_out(first)  # little is left out where much is told coarsely
    assert "Measured in people" in body
    assert "Measured for the population" in body
    assert body.count("GDM m") == 4  # in the legend too  # in trips, in people and by weights


def best_left_out(tables: str) -> list[float]:
    """What is marked of S: beside it, nothing that is marked is in per cent."""
    return [float(share) for share in re.findall(r'class="best"><bdi>([\d.]+) %', tables)]


def test_the_best_leaves_out_least_within_its_budget_where_nothing_is_told_coarsely() -> None:
    best = best_left_out(runs_tables(compared().assign(coarse_share=0.0)).partition("Measured in people")[0])
    assert len(best) == len(KS)
    assert max(best) <= 50  # a run beyond its budget wins nothing


def test_who_published_nothing_is_never_the_best() -> None:
    table = compared()
    empty = table["algorithm"] == NAMES[0]
    table.loc[empty, ["flows", "E", "S_share"]] = [0.0, 0.0, 0.4]
    rows = re.findall(r"<tr[^>]*>.*?</tr>", runs_tables(table))
    mine = [row for row in rows if NAMES[0] in row]
    assert len(mine) == 3 * len(KS)
    assert all("published nothing" in row and "best" not in row for row in mine)
    best = [row for row in rows if 'class="best"' in row]
    assert best  # others win in their place


def test_what_tells_algorithms_apart_comes_first_and_in_words() -> None:
    head = re.search(r"<thead>.*?</thead>", runs_tables(compared()))[0]
    told = re.findall(r"<th[^>]*><bdi>([^<]+)</bdi>(?:<small><bdi>([^<]+)</bdi></small>)?", head)
    assert told[:6] == [
        ("algorithm", ""),
        ("k", ""),
        ("S", "of trips left out"),
        ("coarse", "of trips told coarsely"),
        ("E", "reconstruction loss"),
        ("Ḡ", "tiles per trip"),
    ]
    assert "publishing nothing scores 1" in head


def test_missing_figures_are_explained_beside_the_table() -> None:
    table = compared().assign(areas_error_30=1.0)
    table.loc[table["algorithm"] == NAMES[1], "areas_error_30"] = np.nan
    told = runs_tables(table).partition("<details")[0]
    assert f"without nesting, or fitted rows span several time bins: {NAMES[1]}." in told
    assert f"noise adds and removes trips: {NOISY}." in told


def test_a_run_that_timed_out_without_a_reason_gets_none(page: str) -> None:
    body = page[: page.index('<script type="application/json"')]
    assert "<bdi>timed out</bdi>" in body
    assert not re.search(r"\bnan\b", body, re.IGNORECASE)


def test_nothing_points_outside(page: str) -> None:
    assert not re.search(r"https?://|url\(|@import|fetch\(|XMLHttpRequest|WebSocket|sendBeacon|import\(", page)
    assert "default-src 'none'" in page


def test_seventeen_algorithms_are_drawn_apart_and_share_the_place_that_is_pressed(page: str, probe) -> None:
    seen = probe(page, PROBE, wait_ms=6000)
    assert seen["overflow"] <= 0
    assert len(set(seen["looks"])) == len(seen["looks"]) == 16
    assert seen["rows"] == len(NAMES) * len(KS)
    assert seen["sizes"] == seen["profiles"] == len(seen["maps"]) == 17
    assert min(seen["maps"]) > 10
    assert seen["plots"] == [
        46,
        46,
        46 + 16,
        46,
    ]  # two runs have no figures and three are noise; lines join the dots against k
    assert seen["moved"]
    assert "place you pressed" in seen["text"]
    assert len(seen["legends"]) == 1
    assert "Destinations, trips per km²" in seen["legends"][0]
    assert NOISY in seen["noisy"]
    assert 0 < seen["widest"] <= 100  # of the trips, in per cent


def test_plots_that_have_nothing_to_show_say_so(probe) -> None:
    """A set so large that no method is done in time."""
    late = compared().assign(status="timed out", verifier=None, Gbar=np.nan, S_share=np.nan, cpu_s=np.nan)
    facts = {"byline": "", "summary": "", "map_k": 10, "bins": [], "extent": [4.0, 45.0, 5.0, 46.0]}
    nothing = pd.DataFrame(columns=["time", "origin", "destination", "original"])
    seen = probe(render_comparison("Anonymising", late, late, [], nothing, facts), LATE)
    assert seen["notes"] == 4
    assert "no run" in seen["maps"]
    assert seen["sections"] == 2
