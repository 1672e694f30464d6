"""`odanon simulate --demand`: census, survey, phones and truth of one city agree with each other."""

import json
from datetime import date
from pathlib import Path

import geopandas as gpd
import pandas as pd
import pytest
import typer
import yaml
from typer.testing import CliRunner

from odanon.commands.simulate import simulate
from odanon.demand.agendas import filter_agendas
from odanon.simulate.demand import STARTS, TRUTH, write_demand_set
from odanon.simulate.source import Simulated

PEOPLE, SHARE, ZONES = 1200, 0.1, 40
DAY = date(2026, 3, 3)
TABLES = ("census", "survey_people", "survey_trips", "phones", "commute", "od", "truth", "weights")
Tables = dict[str, pd.DataFrame]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("demand") / "city"
    write_demand_set(Simulated(people=PEOPLE, seed=11), DAY, out, SHARE, zones=ZONES)
    return out


@pytest.fixture(scope="module")
def tables(folder: Path) -> Tables:
    return {name: pd.read_parquet(folder / f"{name}.parquet") for name in TABLES}


@pytest.fixture(scope="module")
def zones(folder: Path) -> gpd.GeoDataFrame:
    return gpd.read_parquet(folder / "zones.parquet")


def contents(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def test_writing_again_gives_the_same_bytes_and_another_seed_asks_other_people(tmp_path: Path) -> None:
    small = Simulated(people=600, seed=3)
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        write_demand_set(small, DAY, tmp_path / name, SHARE, seed, zones=12)
    first, same, other = (contents(tmp_path / name) for name in "abc")
    assert first == same
    differ = {name for name in first if first[name] != other[name]}
    assert differ == {"survey_people.parquet", "survey_trips.parquet", "phones.parquet", "city.json"}


def test_the_census_is_everybody_and_the_survey_the_share_asked_for(tables: Tables) -> None:
    census, survey = tables["census"], tables["survey_people"]
    assert census["person"].is_unique
    assert census["weight"].sum() == PEOPLE
    assert len(survey) == PEOPLE * SHARE
    assert survey["weight"].sum() == pytest.approx(PEOPLE)
    shared = ["person", "age", "gender", "occupation", "car", "home_status"]
    both = survey[shared].merge(census[shared], on=shared)
    assert len(both) == len(survey)


def test_phones_are_those_of_all_others(tables: Tables) -> None:
    asked = set(tables["survey_people"]["person"])
    travelled = tables["truth"].groupby("person").size()
    phones = tables["phones"].groupby("person").size()
    pd.testing.assert_series_equal(phones, travelled[~travelled.index.isin(asked)], check_names=False)
    assert set(travelled.index) <= set(tables["census"]["person"])


def test_every_trip_of_the_matrices_is_somebodys_and_every_trip_of_somebody_is_there(tables: Tables) -> None:
    key = ["step", "origin", "destination"]
    added_up = tables["truth"].groupby(key).size().astype("float64")
    pd.testing.assert_series_equal(
        tables["od"].set_index(key)["trips"], added_up, check_names=False, check_index_type=False
    )


def test_everybody_sets_out_from_home_and_each_trip_from_where_the_last_one_ended(tables: Tables) -> None:
    truth = tables["truth"]
    assert list(truth.columns) == TRUTH
    first = truth[truth["seq"] == 0].merge(tables["census"], on="person")
    assert (first["origin"] == first["home_zone"]).all()
    follows = truth["person"].eq(truth["person"].shift())
    assert truth["seq"].eq(truth["seq"].shift() + 1)[follows].all()
    assert truth["origin"].eq(truth["destination"].shift())[follows].all()
    ends = truth.groupby("person").last()
    assert (ends["purpose"] == "home").all()


def test_steps_are_those_of_the_clock(tables: Tables) -> None:
    truth = tables["truth"]
    ends = [*STARTS[1:], 24 * 60]
    starts_at = truth["leave_min"] % (24 * 60)
    assert (starts_at >= truth["step"].map(dict(enumerate(STARTS)))).all()
    assert (starts_at < truth["step"].map(dict(enumerate(ends)))).all()


def test_the_survey_filtered_as_phones_would_show_it_is_the_truth_of_those_who_were_asked(tables: Tables) -> None:
    columns = ["person", "seq", "purpose", "leave_min", "mode", "distance_m"]
    trips, truth = tables["survey_trips"], tables["truth"]
    found = filter_agendas(trips)[columns]
    true = truth[truth["person"].isin(tables["survey_people"]["person"])].sort_values(["person", "seq"])[columns]
    assert len(trips) > len(found)  # there were stops
    pd.testing.assert_frame_equal(found, true.reset_index(drop=True), check_dtype=False)


def test_primary_purposes_have_one_zone_a_person(tables: Tables) -> None:
    for purpose in ("home", "work", "study"):
        there = tables["truth"][tables["truth"]["purpose"] == purpose]
        assert (there.groupby("person")["destination"].nunique() == 1).all()


def test_zones_lie_in_communes_and_these_in_cantons(tables: Tables, zones: gpd.GeoDataFrame) -> None:
    assert len(zones) == ZONES
    assert (zones.groupby("commune")["canton"].nunique() == 1).all()
    assert zones["canton"].nunique() < zones["commune"].nunique() < ZONES
    named = {*tables["census"]["home_zone"], *tables["truth"]["origin"], *tables["truth"]["destination"]}
    assert named <= set(zones["zone"])
    assert zones.geometry.is_valid.all()
    middles = gpd.GeoSeries(gpd.points_from_xy(zones["lon"], zones["lat"]), crs=zones.crs)
    assert zones.geometry.contains(middles).all()
    phones = gpd.GeoSeries(gpd.points_from_xy(tables["phones"]["o_lon"], tables["phones"]["o_lat"]), crs=zones.crs)
    assert phones.within(zones.geometry.union_all()).mean() > 0.99


def test_commuters_and_weights_count_everybody(tables: Tables, zones: gpd.GeoDataFrame) -> None:
    jobs = ("farmer", "independent", "executive", "intermediate", "employee", "worker")
    census = tables["census"].merge(zones[["zone", "commune"]], left_on="home_zone", right_on="zone")
    workers = census[census["occupation"].isin(jobs)].groupby("commune").size()
    by_home = tables["commute"].groupby("home_commune")["persons"].sum()
    pd.testing.assert_series_equal(by_home, workers, check_names=False)
    assert tables["weights"]["residents_and_jobs"].sum() >= PEOPLE


def test_attributes_go_with_the_day(tables: Tables) -> None:
    days = tables["truth"].merge(tables["census"], on="person")
    work = days[days["purpose"] == "work"].groupby("person").first()
    odd = (work["leave_min"] < 390) | (work["leave_min"] > 570)
    workers = work["occupation"] == "worker"
    assert odd[workers].mean() > odd[~workers].mean() + 0.05
    assert (days.query("purpose == 'study'")["occupation"] == "student").all()
    assert not ((days["mode"] == "car") & (days["car"] == "no")).any()
    assert not ((days["age"] == "0-17") & (days["car"] == "yes")).any()


def test_the_command_writes_the_set_and_its_file(tmp_path: Path) -> None:
    out = tmp_path / "set"
    options = ["--demand", "--people", "300", "--zones", "8", "--survey-share", "0.05", "--start", "2026-03-03"]
    app = typer.Typer()
    app.command()(simulate)
    told = CliRunner().invoke(app, ["--out", str(out), *options])
    assert told.exit_code == 0, told.output
    assert "survey_people" in told.output
    manifest = json.loads((out / "city.json").read_text())
    assert manifest["rows"]["survey_people.parquet"] == 15
    settings = yaml.safe_load((out / "demand.yaml").read_text())
    assert all((out / name).exists() for name in settings["inputs"].values())
