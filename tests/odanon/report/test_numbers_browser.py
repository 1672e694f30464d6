"""Numbers and labels of the report pages in a real browser: exact totals, ticks that differ, labels apart."""

from itertools import pairwise

import pytest

from odanon.report.page import build_page

PROBE = """setTimeout(() => {
  const {number, axisNumber, percent, count, tickLabels} = odanon;
  const host = document.body.appendChild(odanon.el("div", {class: "plot", style: "width: 373px"}));
  const labels = [];
  for (let edge = 1; edge < 65536; edge *= 2) labels.push(edge < 2 ? "1" : `${number(edge)}–${number(2 * edge - 1)}`);
  const values = labels.map(() => 0.1);
  odanon.bars(host).show({
    name: "", x: "tiles in the area", labels, format: percent, tip: () => [],
    series: ["origins", "destinations"].map((name) => ({name, class: "fill-origin", values})),
  });
  const places = [...host.querySelectorAll("text")].filter((node) => labels.includes(node.textContent))
    .map((node) => node.getBoundingClientRect()).map(({left, right}) => [left, right]);
  const seen = {
    totals: [10004.000000001, 1234567.0000002, 23456.4, 999.9999999, 0.12345, 12.345].map((value) => number(value)),
    one: count(1.0000000001, "trip", "trips"),
    numbers: tickLabels([1.975, 1.98, 1.985, 1.99, 1.995, 2], number),
    shares: tickLabels([0.0975, 0.098, 0.0985, 0.099, 0.0995, 0.1], percent),
    apart: tickLabels([0, 0.05, 0.1], percent),
    thousands: tickLabels([10000, 10200, 10400], axisNumber),
    places,
  };
  document.body.append(Object.assign(document.createElement("pre"), {id: "probe", textContent: JSON.stringify(seen)}));
}, 300);"""


@pytest.fixture(scope="module")
def page() -> str:
    return build_page("Numbers", "<main></main>", {}, ("base.js", "plots.js"))


@pytest.fixture
def seen(page: str, probe):
    return probe(page, PROBE, wait_ms=2000)


def test_totals_keep_their_whole_digits_and_ticks_differ(seen) -> None:
    assert seen["totals"] == ["10,004", "1,234,567", "23,456", "1,000", "0.123", "12.3"]
    assert seen["one"] == "1 trip"
    assert seen["numbers"] == ["1.975", "1.98", "1.985", "1.99", "1.995", "2"]
    assert seen["shares"] == ["9.75 %", "9.80 %", "9.85 %", "9.90 %", "9.95 %", "10.00 %"]
    assert seen["apart"] == ["0 %", "5.0 %", "10 %"]
    assert seen["thousands"] == ["10,000", "10,200", "10,400"]


def test_labels_of_an_axis_stand_apart(seen) -> None:
    places = seen["places"]
    assert len(places) > 2
    assert all(right + 4 <= left for (_, right), (left, _) in pairwise(places))
