"""The page of the explorer in a real browser: areas drawn by hand, bounds read, files, links, keys, phones."""

import json
import math
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import geopandas
import pandas as pd
import pytest
from chromium import Page, chromium
from explored_town import NAMES, filled
from explorer_server import serving
from pmtiles.tile import Compression, TileType, zxy_to_tileid
from pmtiles.writer import Writer

import odanon
from odanon_assets.explore.basemap import BaseMap
from odanon_assets.stores.embedded import EmbeddedStore

DAY = {"since": "2026-03-04", "until": "2026-03-05"}  # the last one, with which the page begins
WAIT = "new Promise((done) => setTimeout(done, 400))"  # until the address has been written
IDLE = "!document.querySelector('[aria-busy]') && document.querySelectorAll('#table tbody tr').length"
MATRIX = "!document.querySelector('[aria-busy]') && document.querySelectorAll('#matrix .cell').length"
CELLS = "[...document.querySelectorAll('#matrix .cell')].map((cell) => cell.innerText)"
AREAS = "odanon.shapes.collection(odanon.state.areas)"
KNOWN = {
    (120, 480, 910): ["≈ 500", "100 – 1,000"],
    (1519, 4120, 8125): ["≈ 4,000", "1,000 – 9,000"],
    (0, 3, 40): ["≈ 3", "0 – 40"],
    (0, 0.2, 60): ["under 10", "0 – 60"],
    (45.25, 45.25, 45.25): ["45.3", "exact"],
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("looked_at")
    filled(EmbeddedStore(folder))
    return folder


@pytest.fixture(scope="module")
def address(root: Path) -> Iterator[str]:
    with serving(str(root)) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with chromium() as page:
        yield page


@pytest.fixture
def look(browser: Page, address: str) -> Iterator[Callable[..., Page]]:
    """Opens the page; at the end of a test nobody has complained and no request has left the server."""
    browser.resize(1440, 1000)
    browser.requests.clear()
    browser.complaints.clear()

    def opened(hash_: str = "product=town") -> Page:
        browser.open(f"{address}#{hash_.removeprefix('#')}")
        browser.until(IDLE)
        return browser

    yield opened
    assert browser.complaints == []
    assert [asked for asked in browser.requests if not asked.startswith((address, "about:", "data:", "blob:"))] == []


def lined(path: Path) -> Path:
    """White tiles around the town, with a red line on the first meridian."""
    zoom = 8
    with path.open("wb") as file:
        writer = Writer(file)
        for x in range(126, 131):
            for y in range(126, 130):
                at = int((1 + 180) / 360 * 2**zoom * 256) - 256 * x
                row = b"".join(b"\xff\0\0" if i == at else b"\xff\xff\xff" for i in range(256))
                writer.write_tile(zxy_to_tileid(zoom, x, y), png(256, 256, row))
        facts = {"tile_type": TileType.PNG, "tile_compression": Compression.NONE, "min_zoom": zoom, "max_zoom": zoom}
        box = {"min_lon_e7": -(10**8), "min_lat_e7": -(10**8), "max_lon_e7": 10**8, "max_lat_e7": 10**8}
        middle = {"center_zoom": zoom, "center_lon_e7": 0, "center_lat_e7": 0}
        writer.finalize({**facts, **box, **middle}, {"attribution": "Lines"})
    return path


def png(width: int, height: int, row: bytes) -> bytes:
    """A picture whose rows are all the same."""

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + part(b"IDAT", zlib.compress((b"\0" + row) * height)) + part(b"IEND", b"")


def on_map(page: Page, lon: float, lat: float) -> list[float]:
    """The pixel of a place: the view that the address keeps is told in degrees."""
    x, y, width, height = page.run(
        "(({x, y, width, height}) => [x, y, width, height])(document.querySelector('#map canvas').getBoundingClientRect())"
    )
    view = page.run("odanon.state.view")
    metres = 111320 * view["scale"]  # at the equator
    return [x + width / 2 + (lon - view["lon"]) * metres, y + height / 2 - (lat - view["lat"]) * metres]


def rectangle(page: Page, west: float, south: float, east: float, north: float) -> None:
    page.press("[data-tool=rectangle]")
    before = page.run("odanon.state.areas.length")
    start, end = on_map(page, west, north), on_map(page, east, south)
    page.drag([start, [(start[0] + end[0]) / 2, (start[1] + end[1]) / 2], end])
    page.until(f"odanon.state.areas.length > {before}", 5)


def answered(root: Path, page: Page) -> pd.DataFrame:
    """What the client says of the areas on the page."""
    features = page.run(AREAS)["features"]
    areas = geopandas.GeoDataFrame.from_features(features, crs="EPSG:4326")
    areas.index = pd.Index(range(len(areas)))
    table = odanon.open(root)["town"].matrix(areas, **DAY)
    return table.set_index(["origin", "destination"])


def test_two_drawn_areas_show_what_the_client_answers(look, root):
    page = look("product=town&map=1.5,0.5,0.0014")
    rectangle(page, -0.2, -0.2, 0.98, 1.2)  # most of the first zone
    rectangle(page, 1.02, -0.2, 3.6, 1.2)
    page.until(f"({MATRIX}) === 4")
    told = answered(root, page)
    for i in range(2):
        for j in range(2):
            cell, expected = page.run(f"odanon.matrix.shown().cell({i}, {j}).first"), told.loc[(i, j)]
            assert [cell[name] for name in ("low", "estimate", "high")] == pytest.approx(
                expected[["low", "estimate", "high"]].tolist(), abs=1e-3
            )
            estimate, bounds = page.run(CELLS)[2 * i + j].split("\n")[:2]
            low, high = (float(each.replace(",", "")) for each in bounds.split(" – "))
            assert low <= expected["low"] <= expected["high"] <= high
            unit = 10 ** math.floor(math.log10((expected["high"] - expected["low"]) / 5))
            assert float(re.sub(r"[^\d.]", "", estimate)) == pytest.approx(expected["estimate"], abs=unit / 2 + 1e-6)


def test_a_published_area_taken_as_ones_own_is_exact(look, root):
    page = look("product=town&map=1.5,0.5,0.0014")
    page.press("[data-tool=zone]")
    for lon, lat in ((0.5, 0.5), (1.5, 0.5)):
        count = page.run("odanon.state.areas.length")
        page.drag([on_map(page, lon, lat)])
        page.until(f"odanon.state.areas.length > {count}")
    page.press("#finish")
    page.until(f"({MATRIX}) === 4")
    assert page.run("odanon.state.areas.map((area) => area.name)") == ["z1", "z2"]
    told = answered(root, page)
    exact = [f"{round(row.estimate):,}\nexact" if row.high else "–\nnothing published" for row in told.itertuples()]
    assert page.run(CELLS) == exact
    assert "exact" in exact[1]


def test_a_link_restores_the_whole_view(look, browser):
    page = look("product=town&map=1.5,0.5,0.0014&measure=trips&side=destination")
    rectangle(page, 0.3, -0.2, 1.6, 0.7)
    rectangle(page, 1.7, 0.1, 2.9, 1.2)
    page.until(f"({MATRIX}) === 4")
    page.press("[data-pair='1,0']")
    page.press("[data-panel=published]")
    page.run(WAIT)
    link, cells, areas = page.run("location.hash"), page.run(CELLS), page.run(AREAS)
    page = look(link)
    page.until(f"({MATRIX}) === 4")
    assert page.run(CELLS) == cells
    assert page.run(AREAS) == areas
    assert page.text("#pair-title") == "Area 2 → Area 1"
    chosen = page.run("[...document.querySelectorAll('[aria-pressed=true]')].map((each) => each.innerText)")
    assert {"Arrivals", "Trips"} <= set(chosen)
    page.run(WAIT)
    assert page.run("location.hash") == link


def test_a_bad_file_is_answered_with_a_sentence_and_a_good_one_with_its_areas(look, tmp_path):
    page = look()
    bad, good = tmp_path / "bad.geojson", tmp_path / "good.geojson"
    bad.write_text('{"type": "FeatureCollection", "features": [{"type": "Feature"')
    page.choose_file("#upload", bad)
    said = page.until("document.querySelector('#hint.problem')?.innerText")
    assert "bad.geojson" in said
    assert page.run("odanon.state.areas.length") == 0
    page.complaints.clear()  # the browser notes that the server refused
    hostile = "<img src=x onerror=alert(1)>"
    square = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]}
    feature = {"type": "Feature", "properties": {"name": hostile}, "geometry": square}
    good.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    page.choose_file("#upload", good)
    page.until(f"({MATRIX}) === 1")
    assert page.run("document.querySelector('.areas input').value") == hostile
    assert hostile in page.text("#matrix")
    below = "document.querySelector('#matrix .cell').getBoundingClientRect().bottom > innerHeight"
    page.resize(1400, 700)
    assert page.run(below)  # on a low screen the numbers are out of sight, and a button leads to them
    page.press("#areas-between")
    assert not page.run(below)


def test_an_area_can_be_drawn_and_a_day_chosen_with_keys_alone(look):
    page = look("product=town")
    for _ in range(60):
        page.keys("Tab")
        if page.run("document.activeElement.dataset.tool === 'polygon'"):
            break
    page.keys("Enter")
    assert page.run("document.activeElement.tagName") == "CANVAS"
    page.keys("Enter", *["ArrowRight"] * 6, "Enter", *["ArrowDown"] * 5, "Enter", *["ArrowLeft"] * 3, "Enter", "Enter")
    page.until("odanon.state.areas.length === 1", 5)
    assert page.run("odanon.shapes.corners(odanon.state.areas[0]).length") == 4
    page.until(f"({MATRIX}) === 1")
    page.run("document.querySelector('.day[tabindex=\"0\"]').focus()")
    page.keys("ArrowLeft", "Enter")
    page.until("odanon.state.a.since === '2026-03-03'", 5)
    page.until(MATRIX)
    assert page.run("document.activeElement.dataset.day") == "2026-03-03"


def test_a_corner_is_moved_and_an_area_renamed_and_removed(look):
    page = look("product=town&map=1.5,0.5,0.0014")
    rectangle(page, 0.1, 0.1, 0.9, 0.9)
    page.run("document.querySelector('.areas input').value = 'Harbour'")
    page.run("document.querySelector('.areas input').dispatchEvent(new Event('change'))")
    page.press("[aria-label='Edit the outline of Harbour']")
    page.run(WAIT)
    corner = page.run(AREAS)["features"][0]["geometry"]["coordinates"][0][0]
    page.drag([on_map(page, *corner), on_map(page, corner[0] - 0.1, corner[1] + 0.05), on_map(page, -0.2, 1.1)])
    page.press("#finish")
    moved = page.run(AREAS)["features"][0]
    assert moved["properties"]["name"] == "Harbour"
    assert moved["geometry"]["coordinates"][0][0] == pytest.approx([-0.2, 1.1], abs=0.02)
    page.press("[aria-label='Remove Harbour']")
    page.until("odanon.state.areas.length === 0", 5)
    assert page.run("document.querySelector('#between').hidden")


def test_two_periods_are_compared_and_the_page_says_what_the_bounds_leave_open(look):
    page = look("product=town&map=1.5,0.5,0.0014&since2=2026-03-02&until2=2026-03-03")
    rectangle(page, -0.2, -0.2, 0.5, 1.2)
    page.until(f"({MATRIX}) === 1")
    assert "minus first" in page.text("#matrix-text")
    assert "within the bounds" in page.run(CELLS)[0]
    assert page.run("odanon.known.change({low: 3, estimate: 5, high: 9}).verdict") == "more for sure"
    assert page.run("odanon.known.change({low: -9, estimate: -5, high: -3}).verdict") == "fewer for sure"


def test_compared_periods_lie_at_their_own_days_and_files_say_what_they_show(look):
    two_days, one = "since=2026-03-02&until=2026-03-04", "since2=2026-03-04&until2=2026-03-05"
    page = look(f"product=town&map=1.5,0.5,0.0014&{two_days}&{one}&fold=week")
    rectangle(page, -0.2, -0.2, 3.6, 1.2)
    page.until(f"({MATRIX}) === 1")
    page.press("#matrix .cell")
    chart = page.until("!document.querySelector('[aria-busy]') && document.querySelector('#profile svg')?.ariaLabel")
    steps = dict(re.findall(r"(\w+day) 00:00: .*?2026 [\d,.]+ \(.*?\), .*?2026 ([\d,.]+) \(", chart))
    assert [*steps] == ["Monday", "Tuesday", "Wednesday"]
    assert [number == "0" for number in steps.values()] == [True, True, False]  # the second period is a Wednesday
    page.press("[data-which=b]")
    page.run("odanon.save.map = (map, title, source) => { window.told = source; }")
    page.press("#png")
    assert page.run("told").startswith("4 Mar 2026.")
    head = page.run("""(async () => {
      const {createObjectURL} = URL;
      let saved;
      URL.createObjectURL = (blob) => { saved = blob; return createObjectURL.call(URL, blob); };
      odanon.save.matrix();
      URL.createObjectURL = createObjectURL;
      return (await saved.text()).split("\\n")[0];
    })()""")
    assert head.startswith("origin,destination,first_per_day_low,")


def test_a_time_of_which_nothing_is_published_has_a_sentence_and_no_old_numbers(look):
    page = look("product=town&zone=z1")
    page.run("odanon.choose({a: {since: '2027-01-01', until: '2027-01-02'}})")
    told = page.until("document.querySelector('#panel-text.problem')?.innerText")
    assert told.startswith("Nothing of town is published in that time; its windows begin between 2026-03-02")
    page.complaints.clear()  # the browser notes that the server refused
    page.press("[data-side=destination]")
    page.press("[data-measure=density]")
    assert page.text("#panel-text").startswith("Nothing of town is published in that time")
    left = "['#table', '#panel-title', '#map .legend'].map((each) => document.querySelector(each).innerText)"
    assert page.run(left) == ["", "", ""]
    page.press("#everything")
    page.until(IDLE)
    assert page.text("#panel-title").endswith("destination areas")


def test_numbers_tell_no_more_than_is_known(look):
    page = look()
    for cell, said in KNOWN.items():
        told = json.dumps(dict(zip(("low", "estimate", "high"), cell, strict=True)))
        assert page.run(f"[odanon.known.estimate({told}), odanon.known.range({told})]") == said


def test_what_is_shown_can_be_saved(look, root, tmp_path):
    page = look("product=town&map=1.5,0.5,0.0014")
    page.told("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    rectangle(page, -0.2, -0.2, 1.5, 1.2)
    rectangle(page, 1.6, -0.2, 3.6, 1.2)
    page.until(f"({MATRIX}) === 4")
    names = ["town-matrix.csv", "town-profile.csv", "town-areas.geojson", "town-map.png"]
    for button in ("#matrix-csv", "#profile-csv", "[data-panel=areas]", "#areas-geojson", "#png"):
        page.press(button)
    for _ in range(100):
        if all((tmp_path / name).exists() for name in names):
            break
        page.run("new Promise((done) => setTimeout(done, 50))")
    saved = pd.read_csv(tmp_path / "town-matrix.csv")
    told = answered(root, page)
    assert saved["estimate"].tolist() == pytest.approx(told["estimate"].tolist(), abs=1e-3)
    assert geopandas.read_file(tmp_path / "town-areas.geojson")["name"].tolist() == ["Area 1", "Area 2"]
    assert len(pd.read_csv(tmp_path / "town-profile.csv")) == 8
    assert (tmp_path / "town-map.png").read_bytes().startswith(b"\x89PNG")


def test_a_phone_scrolls_in_one_direction_only(look):
    page = look("product=town&map=1.5,0.5,0.0014")
    rectangle(page, -0.2, -0.2, 1.5, 1.2)
    rectangle(page, 1.6, -0.2, 3.6, 1.2)
    page.until(f"({MATRIX}) === 4")
    page.resize(390, 844, phone=True)
    page.run(WAIT)
    assert page.run("document.documentElement.scrollWidth") == 390
    assert (
        page.run("Math.min(...[...document.querySelectorAll('#map canvas')].map((each) => each.clientHeight))") == 400
    )


def test_the_calendar_tells_what_was_withdrawn(look):
    page = look("product=gone")
    days = page.run(
        "Object.fromEntries([...document.querySelectorAll('.day[data-day]')].map((d) => [d.dataset.day, d.className]))"
    )
    assert "withdrawn" in days["2026-03-02"]
    assert "published" in days["2026-03-03"]
    assert "nothing" in days["2026-03-04"]


def test_an_area_without_a_number_hides_no_larger_one_that_has_one(look):
    """On the map that the page shares with the reports."""
    page = look()
    pixel = page.run("""(async () => {
      const square = (index, r) => ({index, id: `${index}`, km2: r, rings: [Float64Array.of(-r, -r, r, -r, r, r, -r, r)],
        box: [-r, -r, r, r], x: 0, y: 0});
      const host = odanon.el("div", {class: "map"});
      document.body.append(host);
      const map = odanon.map(host, [square(0, 1000), square(1, 300)], {hover() {}, pick() {}});
      map.show({fills: new Map([[0, "rgb(10, 20, 200)"]]), lines: [], chosen: -1, asked: -1});
      await new Promise((done) => setTimeout(done, 300));
      const {canvas} = map;
      const seen = canvas.getContext("2d").getImageData(canvas.width / 2, canvas.height / 2, 1, 1);
      host.remove();
      return [...seen.data];
    })()""")
    assert pixel == [10, 20, 200, 255]


def test_a_spoilt_link_opens_what_can_be_read_of_it(look):
    page = look(
        "product=town&areas=%25%25&since=2026-99-99&until=2026-99-100&pair=9,9&map=a,b&lines=zz&fold=no&zone=nobody"
    )
    assert "cannot be read" in page.text("#hint")
    assert "Nothing is published for nobody" in page.text("#panel-text")
    assert page.run("odanon.state.a") == DAY
    assert page.run("odanon.state.fold") == "day"


def test_places_are_called_by_their_names_where_zones_have_some(look):
    page = look("product=gone")
    cells = "[...document.querySelectorAll('#table tbody td:first-child')].map((each) => each.innerText)"
    assert sorted(page.run(cells)) == sorted(["Harbour", "z2", NAMES[2]])  # marks of a name are text
    label = "odanon.names.paint(document.createElement('canvas').getContext('2d'), odanon.ground.map.view(), odanon.ground.map.view().size, odanon.published.shown())"
    assert page.run(label) == 2  # on the map, too
    assert page.run("document.querySelector('#find-choice').hidden") is False
    assert (
        look().run("document.querySelector('#find-choice').hidden") is True
    )  # of zones without names nobody knows the ids


def test_a_place_is_found_by_a_part_of_its_name_with_the_keyboard(look):
    page = look("product=gone")
    find = "document.querySelector('#find')"
    page.run(f"{find}.focus(); {find}.value = 'óLD'; {find}.dispatchEvent(new Event('input'))")
    assert page.run("[...document.querySelectorAll('#places option')].map((each) => each.value)") == [NAMES[2]]
    page.run(f"{find}.dispatchEvent(new KeyboardEvent('keydown', {{key: 'Enter'}}))")
    assert page.run("odanon.state.zone") == "z3"
    assert page.text("#panel-title") == f"From {NAMES[2]}"
    page.run(f"{find}.value = 'nowhere'; {find}.dispatchEvent(new KeyboardEvent('keydown', {{key: 'Enter'}}))")
    assert "No area that is published at this time is called “nowhere”" in page.text("#hint")
    assert page.run("odanon.state.zone") == "z3"


def test_a_base_map_lies_where_the_ground_is(root, browser, tmp_path):
    """A red line on the first meridian of the tiles meets the edge between the first two zones, at a latitude below them."""
    with serving(str(root), BaseMap.open(lined(tmp_path / "lines.pmtiles"))) as address:
        browser.resize(1440, 1000)
        browser.open(f"{address}#product=town&map=1.0,0.2,0.0014&lines=0")
        browser.until(IDLE)
        browser.run(WAIT)
        red = """(() => {
          const canvas = document.querySelector("#map canvas");
          const {size} = odanon.ground.map.view();
          const row = canvas.getContext("2d").getImageData(0, Math.round(size.height * 0.9), canvas.width, 1).data;
          return Array.from({length: canvas.width}, (_, i) => i).filter((i) => row[4 * i] > 180 && row[4 * i + 1] < 200);
        })()"""
        found = browser.until(f"({red}).length && {red}")
        middle = browser.run("odanon.ground.map.view().size.width / 2")
        assert middle - 2 <= min(found) <= max(found) <= middle + 2
        assert "Base map: Lines." in browser.text("#foot")


def test_an_overtaken_question_is_given_up_and_a_failed_one_asked_again(look):
    page = look()
    before = page.given_up
    first, second = ({"since": f"2026-03-0{day}", "until": f"2026-03-0{day + 1}"} for day in (2, 3))
    page.run(f"odanon.choose({{a: {json.dumps(first)}}}); odanon.choose({{a: {json.dumps(second)}}})")
    page.until(IDLE)
    assert page.text("#panel-text").startswith("3 Mar 2026: ")
    assert page.given_up > before
    speed = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.told("Network.emulateNetworkConditions", offline=True, **speed)
    page.run(f"odanon.choose({{a: {json.dumps(first)}}})")
    assert "does not answer" in page.until("document.querySelector('#panel-text.problem')?.innerText")
    page.told("Network.emulateNetworkConditions", offline=False, **speed)
    page.complaints.clear()  # the browser notes that there is no network
    page.press("#panel-text button")
    page.until(IDLE)
    assert page.text("#panel-text").startswith("2 Mar 2026: ")
