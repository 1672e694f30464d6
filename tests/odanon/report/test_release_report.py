"""The release report is one safe, offline, deterministic page that holds exactly the published tables."""

import copy
import json
import re
from html.parser import HTMLParser
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from odanon.errors import OdanonError
from odanon.metrics.declared import OF_TABLES
from odanon.report.encode import encode_bins, encode_zones, rings_of
from odanon.report.release import SCRIPTS, render_release

HOSTILE = "</script><script>alert('x')</script>\"'&<!--\u202eسلام\u0000;"
VOID = {"meta", "link", "input", "br"}


class Page(HTMLParser):
    """Checks that elements nest, and keeps attributes, ids and the text of scripts and of the heading."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []
        self.heading = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"]:
            self.scripts[-1] += data
        if "h1" in self.open:
            self.heading += data

    @property
    def data(self) -> dict:
        return json.loads(self.scripts[0])


@pytest.fixture(scope="module")
def page(small_release) -> str:
    return render_release(*small_release)


def decoded_flows(data: dict) -> pd.DataFrame:
    flows, zone = data["flows"], np.array(data["zones"]["id"])
    start = np.array([item["start"] for item in data["bins"]])
    return pd.DataFrame(
        {
            "time_start": pd.to_datetime(start[flows["bin"]], utc=True),
            "segment": np.array(data["segments"])[flows["segment"]],
            "origin_zone": zone[flows["o"]],
            "destination_zone": zone[flows["d"]],
            "trips": flows["trips"],
            "persons_band": np.array(data["bands"])[flows["band"]],
        }
    )


def test_the_page_is_well_formed_with_unique_ids(page):
    ids = [value for name, value in Page(page).attributes if name == "id"]
    assert len(ids) == len(set(ids)) > 10
    assert page.startswith("<!doctype html>")


def test_nothing_on_the_page_points_outside(page):
    attributes = Page(page).attributes
    assert not [value for name, value in attributes if name in {"src", "srcset", "action", "data", "poster"}]
    assert {value for name, value in attributes if name == "href"} == {"data:,", "#explore"}
    assert not re.search(r"https?://|url\(|@import|fetch\(|XMLHttpRequest|WebSocket|sendBeacon|import\(", page)
    assert ("http-equiv", "Content-Security-Policy") in attributes
    assert "default-src 'none'" in page


def test_the_embedded_tables_equal_the_input(page, small_release):
    flows, zones, release = small_release
    data = Page(page).data
    expected = flows[list(decoded_flows(data).columns)]
    keys = ["time_start", "segment", "origin_zone", "destination_zone"]
    pd.testing.assert_frame_equal(
        decoded_flows(data).astype(object).sort_values(keys, ignore_index=True),
        expected.astype(object).sort_values(keys, ignore_index=True),
    )
    assert data["release"] == release
    by_id = zones.set_index("zone_id").loc[data["zones"]["id"]]
    assert data["zones"]["tiles"] == by_id["n_tiles"].tolist()
    assert data["zones"]["level"] == by_id["level"].tolist()
    assert data["zones"]["km2"] == pytest.approx(by_id["area_km2"].tolist(), rel=1e-3)


def test_outlines_are_kept_to_a_hundred_thousandth_of_a_degree(page, small_release):
    zones = small_release[1].set_index("zone_id")
    encoded = Page(page).data["zones"]
    for zone, rings in zip(encoded["id"], encoded["rings"], strict=True):
        corners = np.cumsum(np.reshape(rings[0], (-1, 2)), axis=0) / 1e5
        expected = shapely.get_coordinates(zones.loc[zone, "geometry"])[:-1]
        assert np.abs(corners - expected).max() <= 0.51e-5


def test_holes_parts_and_missing_outlines():
    ring = shapely.box(0, 0, 1, 1).difference(shapely.box(0.4, 0.4, 0.6, 0.6))
    zones = pd.DataFrame(
        {
            "zone_id": ["two parts, one hole", "no outline"],
            "level": [1, 0],
            "n_tiles": [3, 9],
            "area_km2": [1.0, 2.0],
            "geometry": [shapely.MultiPolygon([ring, shapely.box(2, 2, 3, 3)]), None],
        }
    )
    assert [len(rings) for rings in encode_zones(zones)["rings"]] == [3, 0]


def test_rings_are_those_of_outlines_one_by_one() -> None:
    holed = shapely.Polygon([(0, 0), (3, 0), (3, 3)], [[(1, 0.5), (2, 0.5), (2, 1)]])
    shapes = [
        shapely.MultiPolygon([shapely.box(5, 5, 6, 7), holed]),
        None,
        shapely.box(-1, -1, 1, 1),
        shapely.Polygon(),
    ]

    def literal(shape: Any) -> list[list[int]]:
        told = []
        for part in getattr(shape, "geoms", [shape]) if shape is not None and not shape.is_empty else []:
            for ring in (part.exterior, *part.interiors):
                at, steps = (0, 0), []
                for x, y in ring.coords[:-1]:
                    here = round(x * 1e5), round(y * 1e5)
                    steps += [here[0] - at[0], here[1] - at[1]]
                    at = here
                told.append(steps)
        return told

    assert rings_of(np.array(shapes, dtype=object)) == [literal(shape) for shape in shapes]
    assert rings_of(np.array([None, shapely.Polygon()], dtype=object)) == [[], []]
    assert rings_of(np.array([], dtype=object)) == []


def test_equal_inputs_give_equal_bytes_in_any_row_order_and_frame_type(page, small_release):
    flows, zones, release = small_release
    shuffled = gpd.GeoDataFrame(zones.sample(frac=1, random_state=1), geometry="geometry", crs=4326)
    assert render_release(flows.sample(frac=1, random_state=2), shuffled, copy.deepcopy(release)) == page


def test_zones_without_flows_stay_out(page, small_release):
    flows, zones, release = small_release
    extra = zones.iloc[:1].assign(zone_id="never used")
    assert render_release(flows, pd.concat([zones, extra]), release) == page


def rename(small_release, name: str):
    flows, zones, release = small_release
    old = flows["origin_zone"].iloc[0]
    return (
        flows.assign(segment=name).replace({"origin_zone": {old: name}, "destination_zone": {old: name}}),
        zones.replace({"zone_id": {old: name}}),
        {**release, "title": name, "owner": name, "licence": name},
    )


def check_name_is_only_data(small_release, name: str) -> None:
    parsed = Page(render_release(*rename(small_release, name)))
    assert len(parsed.scripts) == 1 + len(SCRIPTS)
    assert parsed.heading == name
    assert parsed.data["release"]["title"] == name
    assert parsed.data["segments"] == [name]
    assert name in parsed.data["zones"]["id"]


def test_hostile_names_are_data(small_release):
    check_name_is_only_data(small_release, HOSTILE)
    check_name_is_only_data(small_release, "x" * 10_000)
    check_name_is_only_data(small_release, "$title ${body}")


@given(name=st.text(min_size=1).filter(lambda s: s.strip() and "\r" not in s))
def test_any_name_is_data(small_release, name):
    check_name_is_only_data(small_release, name)


def test_the_summary_says_k_and_its_limits(page):
    assert "at least <strong>10 different people</strong>" in page
    assert "k-anonymity alone does not" in page
    assert "Not person-anonymous" not in page


def test_what_went_in_is_told_as_rounded_and_what_came_out_is_not(small_release):
    flows, zones, release = small_release
    page = render_release(flows, zones, {**release, "input_counts": {"trips": 3200}})
    assert "<li>about <strong><bdi>3,200</bdi></strong> trips</li>" in page
    assert f"<li><strong><bdi>{release['metrics']['flows']:,}</bdi></strong> published flows</li>" in page


def test_a_threshold_on_trips_is_called_what_it_is(small_release):
    flows, zones, release = small_release
    counted = {**release, "parameters": {**release["parameters"], "unit": "trips"}}
    page = render_release(flows.assign(persons_band=None), zones, counted)
    assert "Not person-anonymous" in page
    assert Page(page).data["bands"] == []
    assert set(Page(page).data["flows"]["band"]) == {-1}


def test_vehicles_are_not_called_people(small_release):
    flows, zones, release = small_release
    page = render_release(flows, zones, {**release, "parameters": {**release["parameters"], "unit": "vehicles"}})
    assert "says how many trips vehicles made" in page
    assert "<strong>Vehicles behind a flow</strong>" in page
    assert "</strong> vehicles</li>" in page  # what went in


def test_a_table_of_several_days_is_told_by_its_first_and_last(small_release):
    flows, zones, release = small_release
    page = render_release(flows, zones, {**release, "window_start": "2026-03-10", "window_end": "2026-05-08"})
    told = re.sub(r"</?bdi[^>]*>", "", page)
    assert "of the days from 2026-03-10 to 2026-05-08" in told
    assert "2026-03-10 – 2026-05-08" in told


def test_a_zone_of_times_is_told_only_where_there_are_such_times(small_release):
    flows, zones, release = small_release
    said = "that set out during its time bin"

    def told(flows: pd.DataFrame, release: dict) -> str:
        return re.sub(r"</?bdi[^>]*>", "", render_release(flows, zones, release).partition("<script")[0])

    assert f"{said} (Europe/Paris)." in told(flows, release)
    no_zone = {name: value for name, value in release.items() if name != "window_start"}
    assert f"{said}." in told(flows, no_zone)  # hours of any clock
    untimed = flows[flows["time_start"] == flows["time_start"].min()]
    assert said not in told(untimed, {**no_zone, "bin_names": ["all trips"]})


@pytest.mark.parametrize("band", ["10-19", ""])
def test_figures_that_nobody_knows_have_no_card(small_release, band: str):
    flows, zones, release = small_release
    figures = {**release["figures"], **{figure.public: figure.declaration for figure in OF_TABLES}}
    metrics = {**release["metrics"], "persons_min_band": band}
    page = render_release(flows, zones, {**release, "metrics": metrics, "figures": figures}).partition("<script")[0]
    assert ("people, at the fewest" in page) == bool(band)
    assert "<td><bdi></bdi></td>" not in page


def test_not_a_number_and_dates_become_plain_json(small_release):
    flows, zones, release = small_release
    metrics = {**release["metrics"], "reconstruction_loss": float("nan"), "flows": np.int64(7)}
    day = pd.Timestamp("2026-03-10").date()
    data = Page(render_release(flows, zones, {**release, "metrics": metrics, "window_start": day})).data["release"]
    assert data["metrics"]["reconstruction_loss"] is None
    assert data["metrics"]["flows"] == 7
    assert data["window_start"] == "2026-03-10"


def test_bins_are_labelled_in_local_time_even_when_an_hour_repeats():
    day = pd.date_range("2026-10-25", periods=25, freq="h", tz="Europe/Paris").tz_convert("UTC")
    bins = encode_bins(day, "Europe/Paris")
    assert bins[0] == {"start": "2026-10-24T22:00Z", "label": "00:00"}
    assert [item["label"] for item in bins[2:4]] == ["02:00 (UTC+0200)", "02:00 (UTC+0100)"]
    assert len({item["label"] for item in bins}) == 25


def test_bins_of_several_days_carry_the_day():
    days = pd.date_range("2026-03-09", periods=3, freq="D", tz="Europe/Paris").tz_convert("UTC")
    assert [item["label"] for item in encode_bins(days, "Europe/Paris")] == ["09 Mar", "10 Mar", "11 Mar"]


@pytest.mark.parametrize(
    ("zone", "day"),
    [("Africa/Cairo", "2026-04-24"), ("America/Havana", "2026-11-01"), ("Atlantic/Azores", "2026-10-25")],
)
def test_days_without_a_midnight_and_with_two_have_labels(zone, day):
    noon = pd.Timestamp(f"{day}T12:00", tz=zone)
    hours = pd.date_range(noon - pd.Timedelta(hours=9), periods=20, freq="h").tz_convert("UTC")
    assert len({item["label"] for item in encode_bins(hours, zone)}) == 20


def test_tables_that_do_not_belong_together_are_refused(small_release):
    flows, zones, release = small_release
    with pytest.raises(OdanonError, match="1 zones of the flows are missing"):
        render_release(flows, zones[zones["zone_id"] != flows["origin_zone"].iloc[0]], release)
    with pytest.raises(OdanonError, match="names a zone twice"):
        render_release(flows, pd.concat([zones, zones]), release)
    with pytest.raises(OdanonError, match="no flows"):
        render_release(flows.iloc[:0], zones, release)


def test_twenty_thousand_flows_stay_far_below_five_megabytes(make_release):
    flows, zones, release = make_release(trips=120_000, bins=6, radius=30)
    many = pd.concat([flows] * (20_000 // len(flows) + 1))
    assert len(many) >= 20_000
    assert len(render_release(many, zones, release).encode()) < 2_000_000
