"""The answers of the explorer against what the client says, and against the form that OpenAPI promises."""

import json
from pathlib import Path
from typing import Any

import geopandas
import jsonschema
import pandas as pd
import pytest
from bundles import accept, bundle
from explored_town import FACTS, NAMES
from shapely import box
from shapely.geometry import mapping
from starlette.testclient import TestClient

import odanon
from odanon_assets.explore.answers import mapped
from odanon_assets.explore.answers.catalogue import product
from odanon_assets.explore.models import WhenAsked
from odanon_assets.explore.openapi import QUESTIONS, described
from odanon_assets.stores.embedded import EmbeddedStore

pytestmark = pytest.mark.stores_in_turn
HALF, REST = box(0, 0, 0.5, 1), box(1, 0, 3, 1)
AREAS = {
    "type": "FeatureCollection",
    "features": [
        {"type": "Feature", "properties": {"name": name}, "geometry": mapping(shape)}
        for name, shape in (("half", HALF), ("the «rest»", REST))
    ],
}
PROFILE = {"origin": mapping(HALF), "destination": mapping(REST), "step": "1d"}
DAY = {"since": "2026-03-03", "until": "2026-03-04"}


def answered(client: TestClient, name: str, **given: Any) -> Any:
    """The answer to a question, which has the form that is promised."""
    question = next(each for each in QUESTIONS if each.name == name)
    path = question.path.replace("{product}", given.pop("product", "town"))
    response = client.request(question.method, path, **given)
    assert response.status_code == 200, response.text
    told = response.json()
    schemas = described()["components"]["schemas"]
    promised = {**described()["paths"][question.path][question.method.lower()]["responses"]["200"]}
    schema = promised["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator({**schema, "components": {"schemas": schemas}}).validate(told)
    return told


def test_the_catalogue_lists_products_and_what_is_left_of_them(client: TestClient) -> None:
    told = answered(client, "products")
    lines = {line["name"]: line for line in told["products"]}
    assert told["basemap"] is None
    assert (lines["town"]["windows"], lines["town"]["first"], lines["town"]["last"]) == (3, "2026-03-02", "2026-03-04")
    assert (lines["gone"]["windows"], lines["gone"]["first"]) == (1, "2026-03-03")


def test_zones_are_told_with_their_names_where_they_have_some(client: TestClient) -> None:
    told = answered(client, "flows", product="gone")["zones"]
    assert dict(zip(told["id"], told["name"], strict=True)) == {"z1": "Harbour", "z2": "", "z3": NAMES[2]}
    assert "name" not in answered(client, "flows")["zones"]
    for zone, name in (("z3", NAMES[2]), ("z2", "z2")):
        feature = answered(client, "zone", product="gone", params={"id": zone})
        assert feature["properties"]["name"] == name


def test_a_product_has_a_calendar_with_what_was_withdrawn(client: TestClient) -> None:
    town, gone = answered(client, "product"), answered(client, "product", product="gone")
    assert [window["status"] for window in gone["windows"]] == ["withdrawn", "published"]
    assert gone["windows"][0]["trips"] is None
    first = town["windows"][0]
    assert (first["start"], first["end"], first["trips"]) == ("2026-03-02", "2026-03-03", 400.0)
    assert town["promise"] == {"k": 10, "unit": "persons"}
    assert town["months"] == ["2026-03"]
    assert town["segments"] == ["cars"]
    assert town["box"] == [0.0, 0.0, 3.0, 1.0]


def twin(place: str, when: dict[str, str]) -> dict[tuple[str, str, int], float]:
    """What the map shows, second by second: trips by outlines and kind, with the share of each row's time."""
    product = odanon.open(place)["town"]
    since, until = when.get("since", "2026-01-01"), when.get("until", "2027-01-01")
    first, last = when.get("clock", "00:00-24:00").split("-")
    found: dict[tuple[str, str, int], float] = {}
    for window in product.windows:
        outline = {row.zone_id: row.geometry.wkb_hex for row in product.zones(window).itertuples()}
        for row in product.flows(window).itertuples():
            seconds = pd.date_range(row.local_start, row.local_end, freq="s", inclusive="left")
            asked = (seconds >= since) & (seconds < until)
            asked &= (seconds.strftime("%H:%M") >= first) & (seconds.strftime("%H:%M") < last)
            asked &= seconds.day_name().str.lower() == when.get("days", window.strftime("%A").lower())
            if asked.any() and when.get("segment") in (None, row.segment):
                key = (outline[row.origin_zone], outline[row.destination_zone], int(row.kind == "rest"))
                found[key] = found.get(key, 0.0) + row.trips * asked.mean()
    return found


@pytest.mark.parametrize(
    "when",
    [
        {},
        DAY,
        {"since": "2026-03-02T01:00:30"},
        {"segment": "cars"},
        {"days": "tuesday"},
        {"clock": "01:01-03:00", "until": "2026-03-04"},
    ],
    ids=["all", "day", "cut", "segment", "tuesday", "clock"],
)
def test_the_map_adds_up_rows_by_outline(client: TestClient, place: str, when: dict[str, str]) -> None:
    told = answered(client, "flows", params=when)
    expected = twin(place, when)
    assert sorted(told["flows"]["trips"]) == pytest.approx(sorted(expected.values()), abs=0.05)
    assert told["trips"] == pytest.approx(sum(expected.values()), abs=0.05)
    assert told["left_out"] == 0
    assert sum(told["flows"]["rest"]) == sum(rest for _, _, rest in expected)
    ends = {*told["flows"]["o"], *told["flows"]["d"]}
    assert ends == set(range(len(told["zones"]["id"])))
    assert len(told["zones"]["id"]) == len({end for o, d, _ in expected for end in (o, d)})


@pytest.mark.parametrize(
    ("when", "sentence"),
    [
        ({"segment": "tourists"}, "town has no segment 'tourists'; there is all, cars"),
        ({"since": "2027-01-01", "until": "2027-01-02"}, "nothing of town is published in that time"),
        ({"days": "sunday"}, "nothing of town is published in that time"),
    ],
)
def test_the_map_of_what_nobody_published_is_a_sentence(
    client: TestClient, when: dict[str, str], sentence: str
) -> None:
    told = client.get("/api/products/town/flows", params=when)
    assert (told.status_code, sentence in told.json()["error"]) == (422, True)


def test_of_a_week_the_days_that_are_asked_for_are_shown(tmp_path: Path) -> None:
    days = [("working", 5, "2026-03-02"), ("saturday", 1, "2026-03-07"), ("sunday_holiday", 1, "2026-03-08")]
    told = [
        {"time_bin": f"{at}T00:00:00+00:00", "time_end": f"{at}T23:00:00+00:00", "day_type": kind, "days": many}
        for kind, many, at in days
    ]
    bins = [{**each, "since": "00:00", "until": "23:00"} for each in told]
    made = bundle(rows=9, **FACTS | {"timezone": "UTC"}, window="week", days=7, missing_days=[], bins=bins)
    for column, name in (("time_start", "time_bin"), ("time_end", "time_end")):
        made.flows[column] = pd.to_datetime([told[row % 3][name] for row in range(9)], utc=True).as_unit("us")
    EmbeddedStore(tmp_path).publish(made, accept)
    published, trips = odanon.open(tmp_path), made.flows["trips"]
    for at, (kind, _, _) in enumerate(days):
        shown = mapped.flows(published, {"product": "town"}, WhenAsked(days=kind))
        assert shown["trips"] == trips[at::3].sum()
    half = mapped.flows(published, {"product": "town"}, WhenAsked(days="saturday", clock="00:00-11:30"))
    assert half["trips"] == trips[1::3].sum() / 2
    assert mapped.flows(published, {"product": "town"}, WhenAsked())["trips"] == trips.sum()


def test_the_calendar_of_a_week_tells_the_days_that_it_lacks(tmp_path: Path) -> None:
    bins = [{"time_bin": "2026-03-01T23:00:00Z", "day_type": "all", "since": "00:00", "until": "24:00", "days": 6}]
    told = {"window": "week", "missing_days": ["2026-03-04"], "bins": bins}
    EmbeddedStore(tmp_path).publish(bundle(**FACTS, **told), accept)
    found = product(odanon.open(tmp_path), {"product": "town", "at": str(tmp_path)})["windows"]
    assert [(each["end"], each["missing"]) for each in found] == [("2026-03-09", ["2026-03-04"])]


def test_many_releases_give_the_same_map(client: TestClient, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "_FEW", 0)
    many = mapped.flows(odanon.open(place), {"product": "town"}, WhenAsked())
    assert many == answered(client, "flows")


def test_the_largest_flows_are_sent_and_the_others_counted(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    published = odanon.open(place)
    every = mapped.flows(published, {"product": "town"}, WhenAsked())
    monkeypatch.setattr(mapped, "FLOWS", 4)
    some = mapped.flows(published, {"product": "town"}, WhenAsked())
    assert some["flows"]["trips"] == every["flows"]["trips"][:4]
    assert (some["left_out"], some["trips"]) == (len(every["flows"]["o"]) - 4, every["trips"])


NOWHERE = {"since": "2027-01-01", "until": "2027-01-02"}


def test_the_matrix_is_that_of_the_client(client: TestClient, place: str) -> None:
    told = answered(client, "matrix", json={"areas": AREAS, "when": DAY})
    areas = geopandas.GeoDataFrame(index=["half", "the «rest»"], geometry=[HALF, REST], crs="EPSG:4326")
    expected = odanon.open(place)["town"].matrix(areas, **DAY)
    assert told["areas"] == ["half", "the «rest»"]
    assert [(cell["origin"], cell["destination"]) for cell in told["cells"]] == list(
        zip(expected["origin"], expected["destination"], strict=True)
    )
    for name in ("low", "estimate", "high"):
        assert [cell[name] for cell in told["cells"]] == pytest.approx(expected[name].tolist(), abs=1e-3)
    assert told["reading"] == "even"
    ground = geopandas.GeoDataFrame({"name": ["far", "away"]}, geometry=[box(50, 50, 51, 51), box(60, 50, 61, 51)])
    empty = answered(client, "matrix", json={"areas": json.loads(ground.to_json(drop_id=True)), "when": DAY})
    assert (empty["cells"], "nothing that is published" in empty["note"]) == ([], True)
    unknown = client.request("POST", "/api/products/town/matrix", json={"areas": AREAS, "when": NOWHERE})
    assert (unknown.status_code, "nothing of town is published in that time" in unknown.text) == (422, True)


def test_the_profile_is_that_of_the_client(client: TestClient, place: str) -> None:
    told = answered(client, "profile", json=PROFILE | {"when": {"since": "2026-03-02", "until": "2026-03-05"}})
    expected = odanon.open(place)["town"].profile(HALF, REST, "2026-03-02", "2026-03-05", step="1d")
    assert [step["estimate"] for step in told["steps"]] == pytest.approx(expected["estimate"].tolist(), abs=1e-3)
    assert [step["start"] for step in told["steps"]] == [f"2026-03-0{day}T00:00" for day in (2, 3, 4)]
    assert told["note"] is None
    folded = answered(client, "profile", json=PROFILE | {"step": "3h", "fold": "day"})
    means = odanon.open(place)["town"].profile(HALF, REST, step="3h", fold="day")
    assert (folded["steps"][0]["label"], folded["steps"][0]["days"]) == ("00:00", 3.0)
    assert [step["estimate"] for step in folded["steps"]] == pytest.approx(means["estimate"].tolist(), abs=1e-3)


def test_a_folded_step_ends_after_its_own_length_also_where_the_next_one_is_not_asked_for(client: TestClient) -> None:
    night = {"when": {"clock": "22:00-02:00"}, "step": "1h", "fold": "day"}
    told = [(each["start"], each["end"]) for each in answered(client, "profile", json=PROFILE | night)["steps"]]
    assert told == [("00:00", "01:00"), ("01:00", "02:00"), ("22:00", "23:00"), ("23:00", "00:00")]
    week = [each["end"] for each in answered(client, "profile", json=PROFILE | {"fold": "week"})["steps"]]
    assert week == ["Tuesday 00:00", "Wednesday 00:00", "Thursday 00:00"]


def test_a_month_and_a_day_type_are_asked_as_the_client_asks_them(client: TestClient, place: str) -> None:
    when = {"month": "2026-03", "days": "monday", "segment": "cars", "clock": "00:00-01:01"}
    told = answered(client, "matrix", json={"areas": AREAS, "when": when})
    areas = geopandas.GeoDataFrame(index=told["areas"], geometry=[HALF, REST], crs="EPSG:4326")
    expected = odanon.open(place)["town"].matrix(areas, **when)
    assert [cell["high"] for cell in told["cells"]] == pytest.approx(expected["high"].tolist(), abs=1e-3)
    both = client.post("/api/products/town/matrix", json={"areas": AREAS, "when": {"month": "2026-03", **DAY}})
    assert (both.status_code, "a month stands for since and until" in both.json()["error"]) == (422, True)


def test_the_outline_of_a_zone_is_exact(client: TestClient, place: str) -> None:
    told = answered(client, "zone", params={"id": "z3"})
    assert told["geometry"] == json.loads(json.dumps(mapping(odanon.open(place)["town"].zones().geometry.iloc[2])))
    assert client.get("/api/products/town/zone?id=nowhere").status_code == 422
