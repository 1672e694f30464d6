"""The release report in a real browser: scripts run without a complaint, views can be clicked and linked."""

import re
from datetime import date
from urllib.parse import urlencode

import h3
import pytest
from rested import rested_bundle

from odanon.report.release import render_release

# Runs `act`, waits for the page to draw, then leaves what a reader would see in the page itself.
PROBE = """setTimeout(() => {
  const press = (node, kind, x, y) => (
    node.dispatchEvent(new PointerEvent(kind, {clientX: x, clientY: y, pointerId: 1, bubbles: true})));
  %s
  setTimeout(() => {
    const all = (selector) => [...document.querySelectorAll(selector)];
    const text = (selector) => document.querySelector(selector).textContent;
    const canvas = document.querySelector("canvas");
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const seen = {
      title: text("#panel-title"), text: text("#panel-text"), when: text("#when"), tip: text(".tip"),
      heads: all("#table th").map((head) => head.textContent),
      rows: all("#table tbody tr").map((row) => [...row.cells].map((cell) => cell.textContent)),
      hash: location.hash, plots: all(".plot svg").length,
      colours: new Set(new Uint32Array(pixels.data.buffer)).size,
      overflow: document.documentElement.scrollWidth - innerWidth,
    };
    const note = Object.assign(document.createElement("pre"), {id: "probe", textContent: JSON.stringify(seen)});
    document.body.append(note);
  }, 500);
}, 500);"""


@pytest.fixture
def look(small_release, probe):
    def open_page(hash_: dict | None = None, act: str = "", release=small_release) -> dict:
        return probe(render_release(*release), PROBE % act, urlencode(hash_ or {}))

    return open_page


def busiest(flows, column="origin_zone"):
    totals = flows.groupby(column)["trips"].sum()
    return totals.idxmax(), int(totals.max())


def test_the_overview_lists_the_busiest_origin_first(look, small_release):
    flows, _, _ = small_release
    zone, trips = busiest(flows)
    seen = look()
    assert seen["title"] == f"All day: {flows['origin_zone'].nunique()} origin areas"
    assert seen["rows"][0][:2] == [zone, f"{trips:,}"]
    assert seen["when"] == f"All day: {flows['trips'].sum():,} trips"
    assert seen["plots"] == 4
    assert seen["colours"] > 20
    assert seen["overflow"] <= 0


def test_a_linked_origin_and_bin_show_the_destinations_of_that_bin(look, small_release):
    flows, _, _ = small_release
    row = flows.sort_values("trips").iloc[-1]
    stamp = row["time_start"].strftime("%Y-%m-%dT%H:%MZ")
    seen = look({"origin": row["origin_zone"], "bin": stamp})
    same = flows[(flows["origin_zone"] == row["origin_zone"]) & (flows["time_start"] == row["time_start"])]
    assert seen["title"] == f"From {row['origin_zone']}"
    assert len(seen["rows"]) == min(200, len(same))
    assert seen["rows"][0][:2] == [row["destination_zone"], f"{row['trips']:,}"]
    assert seen["rows"][0][3] == row["persons_band"]


def test_a_linked_destination_shows_its_origins(look, small_release):
    flows, _, _ = small_release
    zone, trips = busiest(flows, "destination_zone")
    seen = look({"destination": zone})
    assert seen["title"] == f"To {zone}"
    assert f"{trips:,} trips from" in seen["text"]
    assert seen["heads"][0] == "Origin"


def test_a_click_on_the_map_chooses_the_area_there_and_the_address_remembers_it(look, small_release):
    middle = """
      const canvas = document.querySelector("canvas"), box = canvas.getBoundingClientRect();
      const x = box.left + box.width / 2, y = box.top + box.height / 2;
      press(canvas, "pointermove", x, y); press(canvas, "pointerdown", x, y); press(canvas, "pointerup", x, y);
      press(canvas, "pointermove", x, y);"""
    seen = look(act=middle)
    zone = seen["title"].removeprefix("From ")
    assert zone in set(small_release[0]["origin_zone"])
    assert seen["hash"] == f"#origin={zone}"
    assert "people per time bin" in seen["tip"]


@pytest.mark.parametrize(("presses", "descending"), [(1, False), (2, True)])
def test_pressing_a_heading_sorts_and_turns(look, presses, descending):
    press = 'document.querySelectorAll("#table th button")[1].click();'
    trips = [int(row[1].replace(",", "")) for row in look(act=press * presses)["rows"]]
    assert trips == sorted(trips, reverse=descending)


def test_an_area_absent_in_a_bin_is_represented_by_another_and_the_page_says_so(look, small_release):
    flows, _, _ = small_release
    present = flows.groupby("origin_zone")["time_start"].unique()
    for zone, bins in present.items():
        absent = sorted(set(flows["time_start"]) - set(bins))
        if absent:
            seen = look({"origin": zone, "bin": absent[0].strftime("%Y-%m-%dT%H:%MZ")})
            assert "stands in for" in seen["text"] or "nothing is published here" in seen["text"]
            return
    pytest.fail("the generated release should have areas that differ between bins")


def test_hostile_names_and_one_bin_without_people_still_open(look, small_release):
    flows, zones, release = small_release
    first = flows[flows["time_start"] == flows["time_start"].max()].assign(persons_band=None)
    name = "</script><img src=x onerror=alert(1)>\u202e"
    old = busiest(first)[0]
    hostile = (
        first.replace({"origin_zone": {old: name}, "destination_zone": {old: name}}),
        zones.replace({"zone_id": {old: name}}),
        {**release, "title": name},
    )
    seen = look({"origin": name}, release=hostile)
    assert seen["title"] == f"From {name}"
    assert "People" not in seen["heads"]


def test_a_flow_is_followed_through_bins_that_have_other_areas(look, small_release):
    """The timeline of one flow: as published where its areas are, a share of larger areas elsewhere (000 appendix H)."""
    flows, zones, _ = small_release
    row = flows.sort_values("trips").iloc[-1]
    chosen = {"origin": row["origin_zone"], "with": row["destination_zone"]}
    read = 'document.title = document.querySelector("#trips-per-bin svg").getAttribute("aria-label");'
    seen = look(chosen, act=read + "document.querySelector('#when').textContent += document.title;")
    assert "follows the flow with" in seen["text"]
    said = [
        float(n.replace(",", "")) for n in re.findall(r"trips ([\d.,]+?)(?:;|$|[A-Z])", seen["when"].split("bin. ")[1])
    ]
    tiles = zones.set_index("zone_id")["n_tiles"]
    level = zones.set_index("zone_id")["level"]

    def share(zone: str, asked: str) -> float:
        inner, outer = (zone, asked) if level[zone] >= level[asked] else (asked, zone)
        if h3.cell_to_parent(inner, level[outer]) != outer:
            return 0.0
        return 1.0 if inner == zone else tiles[asked] / tiles[zone]

    expected = [
        sum(
            f.trips * share(f.origin_zone, row["origin_zone"]) * share(f.destination_zone, row["destination_zone"])
            for f in part.itertuples()
        )
        for _, part in flows.groupby("time_start")
    ]
    assert said == pytest.approx(expected, rel=0.02, abs=0.05)


def test_rests_are_told_coarsely_and_without_lines(look, small_release):
    made = rested_bundle(date(2026, 3, 10), 1)
    record = {**small_release[2], "metrics": {**small_release[2]["metrics"], "coarse_share": 0.3}}
    seen = look(release=(made.flows, made.zones, record))
    assert seen["heads"][:3] == ["Area", "Trips", "Coarse"]
    sums = made.flows.assign(coarse=made.flows["trips"].where(made.flows["kind"] == "rest", 0))
    sums = sums.groupby("origin_zone")[["trips", "coarse"]].sum()
    told = {row[0]: row[2] for row in seen["rows"]}
    assert set(told) == set(sums.index)
    assert all((told[zone] == "–") == (row.coarse == 0) for zone, row in sums.iterrows())
    assert seen["colours"] > 5
    inner = made.flows.loc[made.flows["origin_zone"].str.startswith("1:"), "origin_zone"].iloc[0]
    chosen = look({"origin": inner}, release=(made.flows, made.zones, record))
    assert "Larger areas around it tell" in chosen["text"]


def test_the_page_of_a_release_with_rests_says_what_they_are(small_release):
    made = rested_bundle(date(2026, 3, 10), 1)
    record = {**small_release[2], "metrics": {**small_release[2]["metrics"], "coarse_share": 0.3}}
    page = render_release(made.flows, made.zones, record)
    assert "about 30 % of the trips are told coarsely" in page
    assert page.index("of trips told coarsely") < page.index("of trips left out")
    assert "told coarsely, as rests" not in render_release(*small_release).split("<script")[0]
