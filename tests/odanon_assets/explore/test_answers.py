"""The answers of the explorer against what the client says, and against the form that OpenAPI promises."""

import json
from typing import Any

import geopandas
import jsonschema
import pandas as pd
import pytest
from shapely import box
from shapely.geometry import mapping
from starlette.testclient import TestClient

import odanon
from odanon_assets.explore.answers import mapped
from odanon_assets.explore.models import WhenAsked
from odanon_assets.explore.openapi import QUESTIONS, described

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


def twin(place: str, when: dict[str, str]) -> tuple[dict[tuple[str, str, int], float], float]:
    """What the map shows, row by row: trips by outlines and kind, with the share of each row's time."""
    product = odanon.open(place)["town"]
    since, until = (
        pd.Timestamp(when.get(name, day), tz=product.timezone)
        for name, day in zip(("since", "until"), ("2026-01-01", "2027-01-01"), strict=True)
    )
    found: dict[tuple[str, str, int], float] = {}
    for window in product.windows:
        outline = {row.zone_id: row.geometry.wkb_hex for row in product.zones(window).itertuples()}
        for row in product.flows(window).itertuples():
            inside = min(row.time_end, until) - max(row.time_start, since)
            share = max(inside / (row.time_end - row.time_start), 0.0)
            if share and when.get("segment") in (None, row.segment):
                key = (outline[row.origin_zone], outline[row.destination_zone], int(row.kind == "rest"))
                found[key] = found.get(key, 0.0) + row.trips * share
    return found, sum(found.values())


@pytest.mark.parametrize(
    "when",
    [{}, DAY, {"since": "2026-03-02T01:00:30"}, {"segment": "cars"}, {"since": "2027-01-01", "until": "2027-02-01"}],
    ids=["all", "day", "cut", "segment", "nothing"],
)
def test_the_map_adds_up_rows_by_outline(client: TestClient, place: str, when: dict[str, str]) -> None:
    told = answered(client, "flows", params=when)
    expected, total = twin(place, when)
    assert sorted(told["flows"]["trips"]) == pytest.approx(sorted(expected.values()), abs=0.05)
    assert told["trips"] == pytest.approx(total, abs=0.05)
    assert told["left_out"] == 0
    assert sum(told["flows"]["rest"]) == sum(rest for _, _, rest in expected)
    ends = {*told["flows"]["o"], *told["flows"]["d"]}
    assert ends == set(range(len(told["zones"]["id"])))
    assert len(told["zones"]["id"]) == len({end for o, d, _ in expected for end in (o, d)})


def test_the_largest_flows_are_sent_and_the_others_counted(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    published = odanon.open(place)
    every = mapped.flows(published, {"product": "town"}, WhenAsked())
    monkeypatch.setattr(mapped, "FLOWS", 4)
    some = mapped.flows(published, {"product": "town"}, WhenAsked())
    assert some["flows"]["trips"] == every["flows"]["trips"][:4]
    assert (some["left_out"], some["trips"]) == (len(every["flows"]["o"]) - 4, every["trips"])


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
    far = json.loads(json.dumps(AREAS).replace("0.5", "0.4"))
    nowhere = {"since": "2027-01-01", "until": "2027-01-02"}
    empty = answered(client, "matrix", json={"areas": far, "when": nowhere})
    assert (empty["cells"], "nothing that is published" in empty["note"]) == ([], True)


def test_the_profile_is_that_of_the_client(client: TestClient, place: str) -> None:
    told = answered(client, "profile", json=PROFILE | {"when": {"since": "2026-03-02", "until": "2026-03-05"}})
    expected = odanon.open(place)["town"].profile(HALF, REST, "2026-03-02", "2026-03-05", step="1d")
    assert [step["estimate"] for step in told["steps"]] == pytest.approx(expected["estimate"].tolist(), abs=1e-3)
    assert [step["start"] for step in told["steps"]] == [f"2026-03-0{day}T00:00" for day in (2, 3, 4)]
    assert told["note"] is None
