"""The maps of a comparison: every release is drawn whatever its size, nothing is counted twice, and the page stays small."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
import shapely
from compared_runs import made_up_runs
from hypothesis import given
from hypothesis import strategies as st

from odanon.report.compare import MOST_BYTES, render_comparison
from odanon.report.compare_maps import CaseTables, encode_maps
from odanon.report.compare_squares import in_squares

EXTENT = [2.0, 48.0, 3.0, 48.8]
LOOK = """setTimeout(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const seen = {
    captions: all("#maps figcaption").map((caption) => caption.textContent), overflow: document.documentElement.scrollWidth - innerWidth,
    colours: all("#maps canvas").map((canvas) => (
      new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size)),
    legend: document.getElementById("maps-legend").querySelectorAll("li").length,
  };
  document.body.append(Object.assign(document.createElement("pre"), {id: "probe", textContent: JSON.stringify(seen)}));
}, 1500);"""


def squares(side: int, at: tuple[float, float] = (2.0, 48.0), name: str = "z") -> pd.DataFrame:
    """A grid of zones over the extent; some have an outline of many points."""
    column, row = (axis.ravel() for axis in np.meshgrid(np.arange(side), np.arange(side)))
    west, south = at[0] + column / side, at[1] + 0.8 * row / side
    shapes = np.asarray(shapely.box(west, south, west + 1 / side, south + 0.8 / side), dtype=object)
    shapes[::50] = shapely.buffer(shapely.centroid(shapes[::50]), 0.4 / side, quad_segs=200)
    ids = [f"{name}{i}" for i in range(side * side)]
    return pd.DataFrame({"zone_id": ids, "n_tiles": 1, "level": 0, "area_km2": 6000 / side**2, "geometry": shapes})


def release(algorithm: str, zones: pd.DataFrame, flows: int, seed: int = 1) -> CaseTables:
    rng = np.random.default_rng(seed)
    ids = zones["zone_id"].to_numpy()
    pairs = pd.DataFrame({"origin": rng.choice(ids, flows), "destination": rng.choice(ids, flows)}).drop_duplicates()
    trips = rng.integers(10, 500, len(pairs))
    return CaseTables(algorithm, pairs.assign(trips=trips, spread=trips - 0.25), zones)


@pytest.fixture(scope="module")
def large() -> list[CaseTables]:
    """Two small releases, and five of 60,000 flows between 6,400 zones."""
    zones = [squares(80, (2.0 + n / 1000, 48.0), f"large{n}-") for n in range(2)]
    small = [release(f"small-{n}", squares(6), 100, n) for n in range(2)]
    return [*small, *(release(f"large-{n}", zones[n % 2], 60_000, n) for n in range(5))]


@pytest.fixture(scope="module")
def page(large: list[CaseTables]) -> str:
    """As of a comparison that also has hundreds of runs, and a flow through a year of hours."""
    names = [each.algorithm for each in large]
    compared = made_up_runs(names, range(5, 105))
    hours = [f"2026-{n:05d}" for n in range(8760)]
    pairs = [{"origin": f"o{n}", "destination": f"d{n}"} for n in range(12)]
    profiles = pd.concat(
        [pd.DataFrame({"time": hours, **pair, **dict.fromkeys(["original", *names], 1.5)}) for pair in pairs]
    )
    facts = {"byline": "", "summary": "", "map_k": 10, "bins": hours, "extent": EXTENT}
    return render_comparison("Large", compared, compared, large, profiles, facts)


def data_of(page: str) -> dict[str, Any]:
    return json.loads(page.partition('id="data">')[2].partition("</script>")[0])


def test_a_page_of_any_size_stays_below_its_limit_and_draws_every_release(page: str, large: list[CaseTables]) -> None:
    assert 0.5 * MOST_BYTES < len(page.encode()) <= MOST_BYTES  # room is used
    data = data_of(page)
    assert [each["algorithm"] for each in data["maps"]] == [each.algorithm for each in large]
    for drawn, whole in zip(data["maps"], large, strict=True):
        assert sum(drawn["from"]["trips"]) == whole.flows["trips"].sum()
        assert sum(drawn["from"]["spread"]) == pytest.approx(whole.flows["spread"].sum())
        kept = sum(drawn["flows"]["trips"])
        assert drawn["share"] == pytest.approx(kept / whole.flows["trips"].sum())
        assert set(drawn["from"]["area"]) == set(drawn["flows"]["o"])  # every origin has a flow to show
    assert [drawn["share"] for drawn in data["maps"]][:2] == [1, 1]
    assert [len(drawn["areas"]) for drawn in data["maps"]][:2] == [36, 36]  # small releases are drawn as they are
    assert len(data["areas"]["id"]) < sum(len(drawn["areas"]) for drawn in data["maps"])  # outlines stand once


def test_a_flow_through_a_year_of_hours_is_told_in_as_many_bins_as_can_be_seen(page: str) -> None:
    profiles = data_of(page)["profiles"]
    assert len(profiles["bins"]) == 166
    assert profiles["bins"][0] == "2026-00000 to 2026-00052"
    assert sum(profiles["flows"][0]["original"]) == pytest.approx(1.5 * 8760)


def test_a_table_of_hundreds_of_runs_says_where_the_others_are(page: str) -> None:
    assert "400 more in comparison.csv" in page


def test_large_releases_are_simplified_and_say_so(page: str, probe) -> None:
    seen = probe(page, LOOK, wait_ms=6000)
    assert seen["overflow"] <= 0
    assert min(seen["colours"]) > 6
    assert seen["legend"] >= 2
    assert "drawn" not in seen["captions"][0]
    assert "6,400 areas drawn as" in seen["captions"][2]
    assert "of the trips" in seen["captions"][2]


def test_a_release_that_finds_room_is_drawn_flow_by_flow() -> None:
    whole = release("small", squares(6), 300)
    drawn = encode_maps([whole], EXTENT, 1_000_000)
    names = [drawn["areas"]["id"][number] for number in drawn["maps"][0]["areas"]]
    flows = pd.DataFrame(drawn["maps"][0]["flows"])
    told = zip(
        flows["o"].map(names.__getitem__),
        flows["d"].map(names.__getitem__),
        flows["trips"],
        flows["spread"],
        strict=True,
    )
    assert sorted(told) == sorted(whole.flows.itertuples(index=False, name=None))


@given(st.integers(0, 100), st.sampled_from([2, 5, 16]))
def test_squares_hold_every_zone_once_at_its_place(seed: int, across: int) -> None:
    """Zones of all sizes, one without a place: few areas, nothing lost, and each middle in the square that it went into."""
    rng = np.random.default_rng(seed)
    west, south, size = rng.uniform(2, 3, 400), rng.uniform(48, 48.8, 400), 10 ** rng.uniform(-4, 0.2, 400)
    shapes = np.asarray(shapely.box(west, south, west + size, south + size), dtype=object)
    shapes[-1] = None
    middle = shapely.centroid(shapes)
    zones = pd.DataFrame(
        {"zone_id": np.arange(400), "n_tiles": rng.integers(1, 9, 400), "area_km2": 1.0, "geometry": shapes}
    )
    areas = in_squares(zones, EXTENT, across)
    assert len(areas.table) <= (across + 1) ** 2 * 4 / 3 + 8
    assert areas.table["tiles"].sum() == zones["n_tiles"].sum()
    drawn = areas.table["geometry"].to_numpy(object)[areas.of_zone]
    assert (shapely.dwithin(drawn[:-1], middle[:-1], 1e-9)).all()
    assert drawn[-1] is None
    alone = np.bincount(areas.of_zone)[areas.of_zone] == 1
    assert shapely.equals(drawn[alone][:-1], shapes[alone][:-1]).all()


def test_an_outline_of_many_islands_is_drawn_with_few_points_and_without_the_sea() -> None:
    rng = np.random.default_rng(3)
    places = shapely.points(np.column_stack([rng.uniform(2, 3, 400), rng.uniform(48, 48.8, 400)]))
    islands = shapely.union_all([shapely.box(2.1, 48.1, 2.5, 48.5), *shapely.buffer(places, 0.003)])
    drawn = encode_maps([release("islands", squares(1).assign(geometry=[islands]), 1)], EXTENT, 100_000)
    rings = drawn["areas"]["rings"][0]
    assert 200 <= sum(map(len, rings)) <= 800
    corners = [np.cumsum(np.array(ring).reshape(-1, 2), axis=0) / 1e5 for ring in rings]
    land = shapely.union_all([shapely.polygons(ring) for ring in corners])
    assert shapely.area(land) == pytest.approx(shapely.area(islands), rel=0.1)
    assert shapely.area(shapely.difference(land, islands)) < 0.01 * shapely.area(islands)
