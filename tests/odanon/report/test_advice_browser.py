"""The page of an advice in a real browser: every setting is a dot in four plots, and the present one has a ring."""

import re

import pytest

from odanon.advise.measure import FIGURES
from odanon.advise.runner import advice_table
from odanon.advise.settings import Grid, time_bins
from odanon.report.advice import render_advice

SETTINGS = Grid(("day", "week"), time_bins("3h,1d"), (False, True), (8, 7), (5, 10)).settings()
PROBE = """setTimeout(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const places = ["tiles-loss", "flows-loss", "tiles-out", "tiles-hours"];
  const key = () => all("#advice-key li").map((each) => each.textContent.trim());
  const before = key();
  const by = document.getElementById("by");
  by.value = "k"; by.dispatchEvent(new Event("change"));
  setTimeout(() => {
    const seen = {
      overflow: document.documentElement.scrollWidth - innerWidth, before, after: key(),
      dots: places.map((id) => all(`#${id} [data-series]`).length),
      rings: places.map((id) => all(`#${id} .ring:not(.edge)`).length),
    };
    document.body.append(Object.assign(document.createElement("pre"), {id: "probe", textContent: JSON.stringify(seen)}));
  }, 900);
}, 900);"""


@pytest.fixture(scope="module")
def page() -> str:
    told = [
        {"status": "done", **{figure.name: 0.1 + number / 50 for figure in FIGURES}} for number in range(len(SETTINGS))
    ]
    told[3] = {"status": "refused", "message": "too few travel <here>"}
    table = advice_table(list(zip(SETTINGS, told, strict=True)), SETTINGS[0])
    return render_advice("Advice on town", table, FIGURES, {"byline": "town", "summary": "some settings"})


def test_every_setting_is_drawn_and_the_present_one_is_marked(page: str, probe) -> None:
    seen = probe(page, PROBE, wait_ms=6000)
    assert seen["overflow"] <= 0
    assert seen["dots"] == [len(SETTINGS) - 1] * 4
    assert seen["rings"] == [1] * 4
    assert (seen["before"], seen["after"]) == (["day", "week"], ["k 5", "k 10"])


def test_the_page_says_that_it_is_restricted_and_points_nowhere(page: str) -> None:
    assert page.count("RESTRICTED: made from rows of people, not for publication") == 2
    assert "too few travel &lt;here&gt;" in page
    assert not re.search(r"https?://|url\(|@import|fetch\(|XMLHttpRequest|WebSocket|sendBeacon|import\(", page)
