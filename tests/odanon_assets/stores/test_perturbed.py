"""`publish.perturb: cell-key` through the whole pipeline and both stores: true tables, noisy numbers, and a gate that knows."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gate_town as gate
import pandas as pd
import pytest
from gate_town import DAY, days, people, publish, published, town, visible
from typer.testing import CliRunner

from odanon import cli
from odanon.errors import OdanonError
from odanon.model.perturbation import TABLE
from odanon.product import Product
from odanon.risk.bands import rounded
from odanon_assets.derived.months import make_month, month_folder
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.platform.metadata import stage_metadata
from odanon_assets.publisher import act
from odanon_assets.publisher import bundle as bundles
from odanon_assets.stores.bundle import Bundle
from odanon_assets.stores.choice import open_store

pytestmark = pytest.mark.stores_in_turn

MAKE = bundles.make_bundle
FLOW = ["time_start", "segment", "origin_zone", "destination_zone"]
BY_SEX = {"person": "person", "segment": "sex"}
EMBEDDED = pytest.mark.parametrize("noisy", ["embedded"], indirect=True)  # where the store has no say


@pytest.fixture(params=["embedded", "postgis"])
def noisy(request: pytest.FixtureRequest, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a product file says under `publish`, for each store; the people of two hours are there."""
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    target: dict[str, Any] = {"store": request.param, "perturb": "cell-key"}
    if request.param == "postgis":
        monkeypatch.setenv("ODANON_DB_URL", request.getfixturevalue("database"))
        target["url"] = "${ODANON_DB_URL}"
    gate.write(workspace, people(1500, hours=(8, 9)))
    return target


def true_flows(product: Product) -> pd.DataFrame:
    """The flows of the working area as they would be shown without noise."""
    lake = Lake(default_root())
    exact = product.model_copy(update={"publish": product.publish.model_copy(update={"perturb": None})})
    parameters = lake.figures(product.product, "anonymized", DAY)["parameters"]
    return bundles.public_flows(exact, lake, DAY, "", parameters)


def manifest(product: Product) -> dict[str, Any]:
    store = open_store(product)
    return json.loads(store.manifest_text(str(store.released(product.product, DAY))))


def test_published_numbers_carry_noise_and_the_tables_stay_true(workspace: Path, noisy: dict[str, Any]) -> None:
    product = town(workspace, publish=noisy)
    published(product)
    shown, true = visible(product), true_flows(product)
    both = shown.merge(true, on=FLOW, suffixes=("", "_true"), validate="1:1")
    assert len(both) == len(shown) == len(true)
    noise = both["trips"] - both["trips_true"]
    assert noise.any()
    assert (shown["trips"] >= 10).all()
    assert set(shown["persons_band"]) <= {"10-19", "20-49", "50-99", "100+"}
    # The rows of the town are those that the exact numbers add up to.
    rows = people(1500, hours=(8, 9))
    suppressed = pd.read_parquet(Lake(default_root()).read("town", "anonymized", DAY) / "assignment.parquet")
    lost = suppressed.loc[suppressed["flow"] < 0, "trips"].sum()
    assert true["trips"].sum() + lost == rows["trips"].sum()


def test_manifest_report_terminal_and_sql_say_so(workspace: Path, noisy: dict[str, Any]) -> None:
    product = town(workspace, publish=noisy, file_in=workspace / "pipelines")
    published(product)
    told, store = manifest(product), open_store(product)
    assert told["perturb"] == {
        "method": "cell-key", "table": "odanon-1", "k": 10, "variance": 3, "largest": 5, "sentence": TABLE.sentence,
    }  # fmt: skip
    assert told["figures"]["noise_variance"]["label"] == "variance of the noise"
    noise = store.query("select value from metrics where name = 'noise_variance'")["value"]
    assert noise.tolist() == [3]
    assert TABLE.sentence in store.report(str(store.released("town", DAY)))
    terminal = CliRunner().invoke(cli.main, ["summary", "town"])
    assert TABLE.sentence in terminal.output
    total = visible(product)["trips"].sum()
    asked = CliRunner().invoke(cli.main, ["sql", "select sum(trips) as n from flows", "--product", "town"])
    assert str(total) in asked.output
    assert "some releases are perturbed" in asked.output


@EMBEDDED
def test_the_size_of_areas_is_told_of_the_numbers_shown(workspace: Path, noisy: dict[str, Any]) -> None:
    """Of a few flows, the mean over the true numbers would tell how these compare."""
    gate.write(workspace, people(200, hours=(8, 9)))
    product = town(workspace, publish=noisy)
    release = published(product)
    shown, tiles = visible(product), open_store(product).zones(release).set_index("zone_id")["n_tiles"]
    size = shown["origin_zone"].map(tiles) + shown["destination_zone"].map(tiles)
    assert size.nunique() > 1
    assert manifest(product)["metrics"]["gbar"] == rounded((shown["trips"] * size).sum() / shown["trips"].sum())
    figures = Lake(default_root()).figures("town", "metrics", DAY)
    assert "Gbar" in figures
    assert not {"Gbar", "min_people", "published"} & stage_metadata("metrics", figures, 10).keys()


def test_running_the_day_again_gives_the_same_bytes(workspace: Path, noisy: dict[str, Any]) -> None:
    product = town(workspace, publish=noisy)
    published(product)
    before, flows = manifest(product), visible(product)
    gate.write(workspace, people(1500, hours=(8, 9)).sample(frac=1, random_state=3))
    gate.made(product)
    assert publish(product)["fresh"] is False
    assert manifest(product) == before
    pd.testing.assert_frame_equal(visible(product), flows)


def one_more(bundle: Bundle) -> Bundle:
    first = bundle.flows.index == 0
    return replace(bundle, flows=bundle.flows.assign(trips=bundle.flows["trips"] + first))


def other_band(bundle: Bundle) -> Bundle:
    return replace(bundle, flows=bundle.flows.assign(persons_band="100+"))


@EMBEDDED
@pytest.mark.parametrize(
    "columns", [None, pytest.param(BY_SEX, marks=pytest.mark.thorough)], ids=["everybody", "by sex"]
)
@pytest.mark.parametrize("change", [one_more, other_band, None], ids=["trips", "people", "no noise"])
def test_the_gate_refuses_any_other_noise(
    workspace: Path,
    noisy: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Bundle], Bundle] | None,
    columns: dict[str, str] | None,
) -> None:
    product = town(workspace, columns=columns, publish=noisy)
    gate.made(product)
    if change is None:
        monkeypatch.setattr(bundles, "perturbed", lambda shown, *_: shown)
    else:
        monkeypatch.setattr(act, "make_bundle", lambda *arguments: change(MAKE(*arguments)))
    with pytest.raises(OdanonError, match="is not published: noise: published numbers"):
        publish(product)
    assert open_store(product).windows("town") == []


def test_parts_by_segment_are_cells_of_their_own(workspace: Path, noisy: dict[str, Any]) -> None:
    """Each part has its own noise; whoever adds up rows gets plain sums of what is shown."""
    product = town(workspace, columns=BY_SEX, publish=noisy)
    published(product)
    shown, true, store = visible(product), true_flows(product), open_store(product)
    both = shown.merge(true, on=FLOW, suffixes=("", "_true"), validate="1:1")
    noise = (both["trips"] - both["trips_true"]).groupby(both["segment"]).agg(lambda each: each.abs().sum())
    assert set(noise.index) == {"all", "F", "M"}
    assert (noise > 0).all()
    assert float(store.query("select sum(trips) as n from flows")["n"].iloc[0]) == shown["trips"].sum()
    page = store.report(str(store.released("town", DAY)))
    assert "so all rows add up" not in page
    assert store.problems(str(store.released("town", DAY))) == []


@EMBEDDED
def test_noise_is_no_excuse_for_what_the_auditor_refuses(workspace: Path, noisy: dict[str, Any]) -> None:
    """Other areas of the same people are refused as they are without noise."""
    published(town(workspace, publish=noisy))
    second = town(workspace, "again", publish=noisy, anonymize={"plugin": "atg-dual", "k": 10, "suppression": 0.1})
    gate.made(second, like="town")
    with pytest.raises(OdanonError, match=r"(nested|crossing|total)-difference|combination|bounds|unproven"):
        publish(second)


@EMBEDDED
@pytest.mark.parametrize(("first", "second"), [(True, False), pytest.param(False, True, marks=pytest.mark.thorough)])
def test_the_same_people_are_not_shown_with_and_without_noise(
    workspace: Path, noisy: dict[str, Any], first: bool, second: bool
) -> None:
    exact = {name: value for name, value in noisy.items() if name != "perturb"}
    published(town(workspace, publish=noisy if first else exact))
    twin = town(workspace, "twin", publish=noisy if second else exact)
    gate.made(twin, like="town")
    with pytest.raises(OdanonError, match=r"is not published: perturb: .* which would tell the noise"):
        publish(twin)


@EMBEDDED
def test_the_same_flows_of_two_products_show_the_same_numbers(workspace: Path, noisy: dict[str, Any]) -> None:
    one, two = town(workspace, publish=noisy), town(workspace, "twin", publish=noisy)
    published(one)
    gate.made(two, like="town")
    publish(two)
    columns = [*FLOW, "trips", "persons_band"]
    pd.testing.assert_frame_equal(visible(one)[columns], visible(two)[columns])


@EMBEDDED
def test_months_are_sums_of_the_published_numbers(workspace: Path, noisy: dict[str, Any]) -> None:
    product = town(workspace, publish=noisy)
    shown = []
    for day in days(2):
        gate.write(workspace, people(1500, day=day), day)
        published(product, day)
        shown.append(visible(product, day))
    make_month(product, DAY.replace(day=1), open_store(product))
    month = pd.read_parquet(month_folder(product, DAY.replace(day=1)) / "flows.parquet")
    expected = pd.concat(shown).groupby(["origin_zone", "destination_zone"])["trips"].sum()
    pd.testing.assert_series_equal(
        month.groupby(["origin_zone", "destination_zone"])["trips"].sum(), expected, check_dtype=False
    )
    # The same people have other keys on another day: what did not change still shows other numbers.
    both = shown[0].merge(shown[1], on=["origin_zone", "destination_zone"])
    assert (both["trips_x"] != both["trips_y"]).any()


def test_without_the_word_nothing_changes(workspace: Path, noisy: dict[str, Any]) -> None:
    """Numbers are exact, and neither the release id nor the manifest knows of noise."""
    exact = {name: value for name, value in noisy.items() if name != "perturb"}
    product = town(workspace, publish=exact)
    release = published(product)
    pd.testing.assert_series_equal(visible(product)["trips"], true_flows(product)["trips"], check_dtype=False)
    assert "perturb" not in manifest(product)
    assert "noise" not in json.dumps(manifest(product))
    assert MAKE(town(workspace, publish=noisy), Lake(default_root()), DAY).release_id != release


@pytest.mark.parametrize(
    "promise", [{"unit": "trips"}, {"unit": "population", "k_population": 50}], ids=["trips", "population"]
)
def test_a_product_that_does_not_count_people_cannot_ask_for_it(workspace: Path, promise: dict[str, Any]) -> None:
    with pytest.raises(OdanonError, match=r"publish\.perturb makes noise of whole people and anonymize\.unit"):
        town(
            workspace,
            anonymize={"plugin": "atg-joint", "k": 10, **promise},
            publish={"perturb": "cell-key", "accept_unit_trips": True},
        )


@EMBEDDED
def test_noise_hides_no_fault_of_the_tables(workspace: Path, noisy: dict[str, Any]) -> None:
    """What the verifier refuses it refuses by name, whatever the noise would have made of it."""
    product = town(workspace, publish=noisy)
    gate.made(product)
    path = Lake(default_root()).read("town", "anonymized", DAY) / "flows.parquet"
    flows = pd.read_parquet(path)
    flows.loc[0, "persons"] = 1
    flows.to_parquet(path, index=False)
    with pytest.raises(OdanonError, match="is not published: people: flows with a wrong number of people"):
        publish(product)
