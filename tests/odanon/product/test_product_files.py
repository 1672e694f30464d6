"""Product files: what is accepted, and how a mistake reads."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from repository import REPOSITORY

from odanon import registry
from odanon.errors import OdanonError
from odanon.product import load_named, load_product, load_products, product_paths
from odanon.product.choices import Stranger
from odanon.product.schema import product_schema

DEMO = REPOSITORY / "pipelines" / "demo.yaml"


def write(folder: Path, **changes: Any) -> Path:
    """The demo product with top-level keys replaced (None removes one)."""
    content = {**yaml.safe_load(DEMO.read_text()), **changes}
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in content.items() if value is not None}))
    return path


def message(path: Path) -> str:
    with pytest.raises(OdanonError) as caught:
        load_product(path)
    return str(caught.value)


def test_every_product_in_the_repository_loads() -> None:
    loaded = load_products(product_paths(REPOSITORY / "pipelines"))
    assert {product.product for product in loaded.products} >= {"demo"}
    assert loaded.broken == {}


def test_defaults_are_filled_in(tmp_path: Path) -> None:
    product = load_product(write(tmp_path, engine=None, checks=None, trips=None))
    assert product.engine.plugin == "local"
    assert [metric.plugin for metric in product.metrics] == ["generalisation", "reconstruction", "areas"]
    assert product.anonymize.parameters["k"] == 10


@pytest.mark.parametrize("source", [{"plugin": "trips", "path": "x"}, {"plugin": "od", "path": "x", "person": "p"}])
def test_ready_rows_need_no_stay_points_and_traces_do(tmp_path: Path, source: dict[str, Any]) -> None:
    path = write(tmp_path, source=source, staypoints=None)
    assert load_product(path).source.instance.enters == source["plugin"]
    plain = json.loads(json.dumps(yaml.safe_load(path.read_text()), default=str))
    jsonschema.validate(plain, json.loads(product_schema()))
    assert "staypoints" in message(write(tmp_path, staypoints=None))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"end": "2020-01-01"}, "end 2020-01-01 lies before start"),
        ({"od": {"day_types": "working"}}, "are for windows of several days; set publish.window"),
        ({"publish": {"missing_days": 1}}, "are for windows of several days; set publish.window"),
        ({"publish": {"window": "year"}}, "publish.window"),
        (
            {"start": "2026-03-02", "publish": {"window": "month"}},
            "start 2026-03-02 is not the first day of a month, and part of one is not published",
        ),
        (
            {"start": "2026-03-02", "end": "2026-03-14", "publish": {"window": "week"}},
            "end 2026-03-14 is not the last day of a week",
        ),
        ({"start": "2026-03-02", "publish": {"window": "week", "missing_days": 3}}, "fewer than half of its days"),
        ({"calendar": {"country": "XX"}}, "knows no XX; list the dates under calendar.holidays"),
        ({"anonymize": {"plugin": "atg-joint", "k": 1}}, "mine.yaml: anonymize.k = 1: too small; give 2 or more"),
        (
            {"anonymize": {"plugin": "atg-joint", "suppression": 1.5}},
            "anonymize.suppression = 1.5: too large; give less than 1",
        ),
        ({"anonymize": {"plugin": "atg-jiont"}}, "did you mean 'atg-joint'?"),
        ({"anonymize": {"plugin": "atg-joint", "kk": 3}}, "anonymize.kk = 3: there is no such key here"),
        ({"anonymize": {"plugin": "atg-joint", "max_tile": 3}}, "did you mean 'max_tiles'?"),
        (
            {"metrics": [{"plugin": "reconstruction", "distence": 3}]},
            "metrics.0.distence = 3: there is no such key here",
        ),
        (
            {"publish": {"retension": "2d"}},
            "publish.retension = '2d': there is no such key here; did you mean 'retention'?",
        ),
        ({"trips": {"home_work": {"min_day": 2}}}, "did you mean 'min_days'?"),
        ({"titel": "x"}, "did you mean 'title'?"),
        ({"anonymize": "nonsense-name"}, "no anonymize plugin is called 'nonsense-name'; installed are:"),
        ({"anonymize": 12}, "anonymize = 12: name a plugin here"),
        ({"anonymize": {"plugin": "atg-joint", "unit": "trips"}}, "does not protect persons; use unit: persons"),
        ({"zoning": None}, "zoning: this key is missing; add it"),
        ({"colour": "red"}, "colour = 'red': there is no such key here"),
        ({"timezone": "Mars/Base"}, "timezone = 'Mars/Base': use an IANA time zone"),
        ({"od": {"bin": "7h"}}, "od.bin = '7h': a time bin must divide a day evenly"),
        ({"od": {"bin": 60}}, "od.bin = 60: write a number with its unit"),
        ({"product": "Not A Name"}, "product = 'Not A Name'"),
        ({"schedule": {"cron": "daily"}}, "schedule.cron = 'daily': a cron expression has five fields"),
        ({"publish": {"store": "postgis"}}, "store postgis needs a url; write url: ${ODANON_DB_URL}"),
    ],
)
def test_a_mistake_gets_one_sentence_with_file_key_value_and_remedy(
    tmp_path: Path, changes: dict[str, Any], expected: str
) -> None:
    text = message(write(tmp_path, **changes))
    assert expected in text
    assert str(tmp_path / "mine.yaml") in text
    assert "\n" not in text


def test_public_weights_come_with_the_zoning_and_are_read_at_once(tmp_path: Path) -> None:
    weights, zoning = tmp_path / "weights.csv", {"plugin": "h3", "resolution": 8}
    told = message(write(tmp_path, zoning={**zoning, "weights": str(weights)}))
    assert "zoning" in told
    assert f"{weights} cannot be read as a table of weights; give a Parquet or CSV file" in told
    weights.write_text("tile,residents,jobs\n881f9400b5fffff,3,4\n")
    path = write(tmp_path, zoning={**zoning, "weights": str(weights)})
    found = load_product(path).zoning
    assert found.weights == weights
    assert found.model_dump() == load_product(write(tmp_path, zoning=zoning)).zoning.model_dump()  # tables are the same
    plain = json.loads(
        json.dumps({**yaml.safe_load(path.read_text()), "zoning": {**zoning, "weights": "x"}}, default=str)
    )
    jsonschema.validate(plain, json.loads(product_schema()))


def test_several_mistakes_are_counted(tmp_path: Path) -> None:
    assert "(1 more mistakes in this file)" in message(write(tmp_path, colour="red", timezone="Mars/Base"))


def test_broken_yaml_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("product: demo\nsource: {plugin: simulated\n")
    assert "broken.yaml: line 3" in message(path)


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x]\n"
        + "".join(f"{c}: &{c} [*{b}, *{b}, *{b}, *{b}]\n" for b, c in pairwise("abcdefghijklmnopqrstuvwxyz")),
        "product: &name town\n",
        "product: town\nbase: &base {k: 3}\nanonymize:\n  <<: *base\n",
        "a: &a [*a]\n",
    ],
    ids=["laughs", "anchor", "merge", "itself"],
)
def test_anchors_and_aliases_are_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "laughs.yaml"
    path.write_text(text)
    said = message(path)
    assert said.startswith(f"{path}: line ")
    assert "has an anchor (&) or an alias (*), which are not read; write the value out" in said


@pytest.mark.parametrize("text", ["a: " + "[" * 3000, "start: 2026-02-30\n", f"a: {'9' * 5000}\n"])
def test_values_that_no_program_can_hold_are_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "endless.yaml"
    path.write_text(text)
    assert message(path).startswith(f"{path}: ")


def test_variables_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, publish={"store": "postgis", "url": "${MY_DB}"})
    monkeypatch.delenv("MY_DB", raising=False)
    assert "publish.url needs the environment variable MY_DB, which is not set" in message(path)
    monkeypatch.setenv("MY_DB", "postgresql+psycopg2://me:hidden@db/x")
    product = load_product(path)
    assert product.publish.url is not None
    assert product.publish.url.get_secret_value().endswith("@db/x")
    assert "hidden" not in repr(product)


def test_secrets_in_the_file_are_refused_and_not_repeated(tmp_path: Path) -> None:
    text = message(write(tmp_path, publish={"store": "postgis", "url": "postgresql://me:hidden@db/x"}))
    assert "holds a secret in plain text" in text
    assert "hidden" not in text


def test_two_files_cannot_claim_one_name(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "other.yaml").write_text((tmp_path / "mine.yaml").read_text())
    loaded = load_products(product_paths(tmp_path))
    assert len(loaded.products) == 1
    assert "other.yaml: product = 'demo' is taken by another file" in loaded.broken[tmp_path / "other.yaml"]
    with pytest.raises(OdanonError, match="is taken by another file"):
        load_named(tmp_path, "demo")


BROKEN = {
    "colon.yaml": ("product: colon\ntitle: a: b\n", "colon", "line 2"),
    "list.yaml": ("- product\n", "list", "is a mapping"),
    "latin.yaml": ("product: latin\ntitle: caf\xe9\n", "latin", "not UTF-8"),
    "plugin.yaml": (f"{DEMO.read_text()}\nengine: {{plugin: nowhere}}\n", "demo", "nowhere"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_breaks_no_other(tmp_path: Path, name: str) -> None:
    write(tmp_path, product="mine")
    text, claimed, sentence = BROKEN[name]
    (tmp_path / name).write_text(text, encoding="latin-1")
    loaded = load_products(product_paths(tmp_path))
    assert [product.product for product in loaded.products] == ["mine"]
    assert sentence in loaded.broken[tmp_path / name]
    assert load_named(tmp_path, "mine").product == "mine"
    with pytest.raises(OdanonError, match=sentence):
        load_named(tmp_path, claimed)


def test_a_plugin_that_raises_when_it_is_made_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Any) -> None:
        raise RuntimeError("may quote data")

    monkeypatch.setattr(registry.Plugin, "create", lambda self, parameters: fails(self))
    assert "a plugin of this file fails with RuntimeError when it is made" in message(write(tmp_path))


def test_the_schema_in_the_repository_is_current_and_accepts_the_demo() -> None:
    schema = json.loads((REPOSITORY / "pipelines" / "product.schema.json").read_text())
    assert schema == json.loads(product_schema()), "run `make schema`"
    demo = json.loads(json.dumps(yaml.safe_load(DEMO.read_text()), default=str))
    jsonschema.Draft202012Validator(schema).validate(demo)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**demo, "anonymize": {"plugin": "atg-joint", "k": 1}}, schema)


def test_where_no_plugin_of_others_runs_a_parameter_is_not_taken_for_what_one_can_do() -> None:
    stranger = Stranger({"timed": False, "verifiable": False, "level": 3})
    assert (stranger.timed, stranger.verifiable, stranger.level) == (True, True, 3)


def test_a_demand_file_is_found_from_the_product_file_and_is_no_product(tmp_path: Path) -> None:
    path = write(tmp_path, demand="mine-demand.yaml")
    (tmp_path / "mine-demand.yaml").write_text("# travellers\ndemand: mine\nseed: 7\n")
    (tmp_path / "broken.yaml").write_text("title: of no product\n")
    assert load_product(path).demand == tmp_path / "mine-demand.yaml"
    loaded = load_products(product_paths(tmp_path))
    assert [product.product for product in loaded.products] == ["demo"]
    assert [broken.name for broken in loaded.broken] == ["broken.yaml"]
