"""`odanon.open`: both stores with the rights of a reader, without a pipeline, against what the store itself answers."""

import doctest
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import geopandas
import matplotlib
import pandas as pd
import pytest
from bundles import accept, bundle
from shapely import box
from store_databases import as_role

import odanon
from odanon.api import Publications
from odanon.client import publications
from odanon.errors import OdanonError
from odanon.model.when import When
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Store
from odanon_assets.stores.postgis import PostgisStore

DAYS = [date(2026, 3, 2), date(2026, 3, 3)]
HALF, REST = box(0, 0, 0.5, 1), box(1, 0, 3, 1)
AREAS = geopandas.GeoDataFrame(index=["half", "rest"], geometry=[HALF, REST], crs="EPSG:4326")


@pytest.fixture(params=["embedded", "postgis"])
def town(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Store, str]:
    """A store with two days, and where readers find it."""
    if request.param == "embedded":
        store, place = EmbeddedStore(tmp_path), str(tmp_path)
    else:
        url = request.getfixturevalue("database")
        store, place = PostgisStore(url), as_role(url, "odanon_reader")
    for day in DAYS:
        store.publish(bundle(day=day, rows=9, timezone="Europe/Paris"), accept)
    return store, place


@pytest.fixture
def published(town: tuple[Store, str]) -> Publications:
    return odanon.open(town[1])


def test_local_times_that_clocks_leave_out_or_have_twice_are_times(town: tuple[Store, str]) -> None:
    store, place = town
    store.publish(bundle(product="nile", day=date(2026, 4, 24), timezone="Africa/Cairo"), accept)  # begins at 01:00
    nile = odanon.open(place)["nile"]
    assert nile.flow(HALF, REST) == nile.flow(HALF, REST, "2026-04-24", "2026-04-25")
    assert nile.when().since == pd.Timestamp("2026-04-23T22:00Z")
    turned = odanon.open(place)["town"].when("2026-03-29 02:30", "2026-10-25 02:30")
    assert (turned.since, turned.until) == (pd.Timestamp("2026-03-29T01:30Z"), pd.Timestamp("2026-10-25T00:30Z"))


def test_times_that_are_none_are_one_sentence(published: Publications) -> None:
    product = published["town"]
    with pytest.raises(OdanonError, match="'soon' is no date and no time; write 2026-03-02"):
        product.flow(HALF, REST, "soon")
    with pytest.raises(OdanonError, match="'soon' is no date"):
        product.flows("soon")
    with pytest.raises(OdanonError, match="'a while' is no length of time; write a step such as 1h"):
        product.profile(HALF, REST, step="a while")


def test_the_catalogue_and_the_tables(town: tuple[Store, str], published: Publications) -> None:
    store, _ = town
    assert list(published) == ["town"]
    assert published.products["windows"].tolist() == [2]
    product = published["town"]
    assert product.windows == DAYS
    assert "town" in repr(published)
    assert repr(product) == "<town: 2 windows from 2026-03-02 to 2026-03-03>"
    last = store.released("town", DAYS[1])
    assert product.manifest()["release_id"] == last
    rows = product.flows()
    assert sorted(rows["trips"]) == sorted(store.flows(last)["trips"])
    assert (rows["local_start"] - rows["time_start"].dt.tz_localize(None) == pd.Timedelta(hours=1)).all()
    assert product.flows("2026-03-02")["release_id"].unique().tolist() == [store.released("town", DAYS[0])]
    zones = product.zones().set_index("zone_id").geometry
    assert zones.geom_equals(store.zones(last).set_index("zone_id").geometry.loc[zones.index]).all()
    assert zones.crs == "EPSG:4326"
    assert published.sql("select count(*) as n from flows")["n"].tolist() == [18]


def test_estimates_are_those_of_the_store(town: tuple[Store, str], published: Publications) -> None:
    store, product = town[0], published["town"]
    span = pd.Timestamp("2026-03-02", tz="Europe/Paris"), pd.Timestamp("2026-03-03", tz="Europe/Paris")
    found = product.flow(HALF, REST, "2026-03-02", "2026-03-03")
    assert found == store.flow("town", HALF, REST, When(*span))
    assert 0 <= found.low <= found.estimate <= found.high
    both = product.flow(HALF, REST)
    assert both.high == pytest.approx(2 * found.high)
    areas = geopandas.GeoDataFrame(index=["half", "rest"], geometry=[HALF, REST], crs="EPSG:4326")
    table = product.matrix(areas.to_crs("EPSG:3857")).set_index(["origin", "destination"])
    assert table.loc[("half", "rest"), "estimate"] == pytest.approx(both.estimate, rel=1e-6)
    assert product.flow(areas.loc[["half"]].to_crs("EPSG:3857"), REST).estimate == pytest.approx(
        both.estimate, rel=1e-6
    )
    hours = product.profile(HALF, REST, "2026-03-02", "2026-03-04", step="12h")
    assert hours["estimate"].sum() == pytest.approx(both.estimate)
    assert hours["local_start"].tolist()[:2] == [pd.Timestamp("2026-03-02"), pd.Timestamp("2026-03-02 12:00")]


def test_questions_of_months_days_clocks_and_segments(town: tuple[Store, str], published: Publications) -> None:
    store, product = town[0], published["town"]
    assert (product.segments(), product.months()) == (["all"], ["2026-03"])
    assert product.month("2026-03")["trips"].sum() == 2 * store.flows(store.released("town", DAYS[0]))["trips"].sum()
    both = product.flow(HALF, REST)
    assert product.flow(HALF, REST, month="2026-03", days="working", clock="01:00-02:00", segment="all") == both
    assert product.flow(HALF, REST, days="monday").high == pytest.approx(both.high / 2)
    assert product.flow(HALF, REST, clock="02:00-01:00").high == 0  # rows are of the minutes after one
    assert published.sql("select count(*) as n from matrix('areas', days => 'monday')", AREAS)["n"].item() > 0


def test_profiles_are_laid_over_each_other_as_means_of_days(published: Publications) -> None:
    product = published["town"]
    both = product.flow(HALF, REST)
    day = product.profile(HALF, REST, step="6h", fold="day")
    assert day["clock"].tolist() == ["00:00", "06:00", "12:00", "18:00"]
    assert day["days"].tolist() == [2, 2, 2, 2]
    assert day.loc[0, ["low", "estimate", "high"]].tolist() == pytest.approx([value / 2 for value in both[:3]])
    week = product.profile(HALF, REST, step="1d", fold="week", clock="00:30-02:00")
    assert week["clock"].tolist() == ["Monday 00:00", "Tuesday 00:00"]
    assert week["days"].tolist() == [1, 1]
    assert week["estimate"].sum() == pytest.approx(both.estimate)
    for fold, step in (("month", "1h"), ("day", "7h"), ("day", "2d")):
        with pytest.raises(OdanonError, match=r"fold is none of|no whole number of such steps"):
            product.profile(HALF, REST, step=step, fold=fold)


def test_plots_show_zones_and_bounds(published: Publications, tmp_path: Path) -> None:
    matplotlib.use("agg")
    product = published["town"]
    ax = product.plot()
    assert len(ax.collections) == 1
    ax.figure.savefig(tmp_path / "map.png")
    ax = product.plot_profile(HALF, REST, "2026-03-02", "2026-03-04", step="6h")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["possible", "estimate"]
    ax.figure.savefig(tmp_path / "profile.png")


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda all_: all_["town"].flow(HALF, REST, since="2030-01-01"), "between 2026-03-02 and 2026-03-03"),
        (lambda all_: all_["town"].flow(HALF, REST, until="2020-01-01"), "nothing of town is published in that time"),
        (lambda all_: all_["town"].flow(HALF, REST, month="9999-12"), "too early or too late for clocks"),
        (lambda all_: all_["town"].flow(HALF, REST, month="0000-12"), "too early or too late for clocks"),
        (lambda all_: all_["town"].flow(HALF, REST, since="0001-01-01"), "too early or too late for clocks"),
        (lambda all_: all_["twon"], "there is no published product 'twon'; there is town"),
        (lambda all_: all_["town"].flows("2026-03-09"), "no published window that starts on 2026-03-09"),
        (lambda all_: all_["town"].flow(HALF, REST, "2026-03-03", "2026-03-02"), "give a later `until`"),
        (lambda all_: all_["town"].flow(HALF, REST, "2026-03-02", month="2026-03"), "stands for since and until"),
        (lambda all_: all_["town"].flow(HALF, REST, month="2026-04"), "nothing of town is published in that time"),
        (lambda all_: all_["town"].flow(HALF, REST, days="saturday"), "begin between 2026-03-02 and 2026-03-03"),
        (lambda all_: all_["town"].flow(HALF, REST, segment="tourists"), "no segment 'tourists'; there is all"),
        (lambda all_: all_["town"].matrix(AREAS, segment="tourists"), "no segment 'tourists'; there is all"),
        (lambda all_: all_["town"].matrix(AREAS, days="saturday"), "nothing of town is published in that time"),
        (lambda all_: all_["town"].profile(HALF, REST, month="2026-05", step="1d"), "nothing of town is published"),
        (lambda all_: all_["town"].profile(HALF, REST, segment="tourists"), "no segment 'tourists'; there is all"),
        (lambda all_: all_["town"].month("2026-04"), "no published window in '2026-04'"),
        (lambda all_: all_["town"].flow("downtown", REST), "an area is a shape of Shapely"),
        (lambda all_: all_.sql("drop table flows"), "quer|refused"),
    ],
)
def test_mistakes_are_one_sentence(published: Publications, ask, sentence: str) -> None:
    with pytest.raises(OdanonError, match=sentence):
        ask(published)


def test_a_place_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(OdanonError, match="has no folder 'published'"):
        odanon.open(tmp_path)
    with pytest.raises(OdanonError, match="not one of PostgreSQL"):
        odanon.open("mysql://somewhere/odanon")


def test_the_folder_of_published_tables_may_be_given_itself(tmp_path: Path) -> None:
    EmbeddedStore(tmp_path).publish(bundle(rows=9), accept)
    assert list(odanon.open(tmp_path / "published")) == ["town"]


def test_examples_and_no_pipeline(tmp_path: Path) -> None:
    """The examples in the module, in a process that loads no Dagster."""
    EmbeddedStore(tmp_path).publish(bundle(rows=9), accept)
    script = f"""
import doctest, sys, odanon
from odanon.client import publications
found = doctest.testmod(publications, extraglobs={{"odanon": odanon, "folder": {str(tmp_path)!r}}})
assert found.attempted and not found.failed, found
assert "dagster" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True, env=os.environ, capture_output=True, timeout=120)
    assert doctest.DocTestFinder().find(publications)
