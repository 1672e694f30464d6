"""The stages on a small town: what is left out is told, rare days are given to nobody, and nothing depends on parts or the order of rows."""

from collections import Counter
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import pytest
from demand_town import RARE, STEPS, census, commute, inputs, od, survey, tables

from odanon import registry
from odanon.demand.calibrators.raking import Raking
from odanon.demand.calibrators.result import Calibrated
from odanon.demand.calibrators.system import System
from odanon.demand.contracts import checked
from odanon.demand.placers.forward import NaiveForward
from odanon.demand.placers.linked import FactorGraph
from odanon.demand.stages import (
    Calibration,
    Matching,
    Placement,
    Prepared,
    calibrated,
    evaluated,
    matched,
    placed,
    prepare,
)
from odanon.demand.stages.evaluate import made_matrices
from odanon.errors import OdanonError
from odanon.protocols import Placer

SEED = 7


def town(**changed: pd.DataFrame) -> Prepared:
    return prepare(inputs(**changed), SEED, STEPS)


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return town()


@pytest.fixture(scope="module")
def matching(prepared: Prepared) -> Matching:
    return matched(prepared, SEED, min_matches=5)


@pytest.fixture(scope="module")
def calibration(prepared: Prepared, matching: Matching) -> Calibration:
    return calibrated(prepared, matching, Raking(), SEED)


@pytest.fixture(scope="module")
def placement(prepared: Prepared, matching: Matching, calibration: Calibration) -> Placement:
    return placed(prepared, matching, calibration, FactorGraph(), SEED)


def holders(prepared: Prepared) -> Counter[Any]:
    """How many respondents have each agenda, counted person by person."""
    days = {
        at: tuple(map(tuple, rows[["purpose", "mode", "step"]].values.tolist()))
        for at, rows in prepared.agendas.groupby("agenda")
    }
    return Counter(days.get(at, ()) for at in prepared.respondents["agenda"])


def test_a_census_row_becomes_as_many_agents_as_it_stands_for(prepared: Prepared) -> None:
    counted = prepared.agents.groupby(["home_zone", "gender", "occupation"], observed=True).size()
    assert set(counted) == {10, 11}
    assert prepared.figures["census"]["agents"] == len(prepared.agents) == pytest.approx(24 * 10.5, abs=12)
    assert prepared.agents["canton"].eq("south").eq(prepared.agents["home_zone"] >= 4).all()


def test_what_is_left_out_is_told() -> None:
    people, trips = survey()
    lived = census()
    lived.loc[0, "home_zone"], lived.loc[1, "age"] = "elsewhere", None
    people.loc[3, "occupation"] = None
    on_the_way = trips.copy()
    on_the_way.loc[on_the_way["person"] == "s000", "purpose"] = "roaming"
    on_the_way.loc[on_the_way["person"] == "s001", "arrive_min"] = 5
    on_the_way.loc[on_the_way["person"] == "s004", "distance_m"] = -1
    on_the_way = pd.concat([on_the_way, trips.tail(1).assign(person="nobody")])
    flows = pd.concat([od(), pd.DataFrame({"step": [1], "origin": ["z9"], "destination": ["a1"], "trips": [2.0]})])
    told = town(census=lived, survey_people=people, survey_trips=on_the_way, od=flows).figures
    assert told["census"]["left_out"] == {"age": 1, "home_zone that is not in zones": 1}
    assert told["survey"]["left_out"] == {
        "occupation": 1,
        "roaming jobs": 1,
        "days with a trip that cannot be used": 1,
        "days whose times contradict each other": 1,
    }
    assert told["survey"]["trips of nobody in survey_people"] == 1
    assert told["od"]["left_out"] == {"zones that are not in zones": 1}
    assert told["od"]["share outside"] == pytest.approx(2 / 1234)
    assert told["od"]["steps without trips"] == [0]


def test_agendas_that_too_few_respondents_have_are_given_to_nobody(prepared: Prepared) -> None:
    held = holders(prepared)
    rare = tuple((purpose, mode, {9: 1, 12: 2, 22: 3}[hour]) for purpose, mode, hour in RARE)
    assert held[rare] == 1
    for least in (1, 2, 5, 10, 11):
        found = matched(prepared, SEED, min_matches=1, min_donors=least)
        numbers = prepared.respondents["agenda"].value_counts()
        assert numbers[found.agents["agenda"].unique()].min() >= least
        out = sum(number for number in held.values() if number < least)
        assert found.figures["respondents left out"] == out
        kept = prepared.respondents["agenda"].map(numbers) >= least
        share = prepared.respondents.loc[~kept, "weight"].sum() / prepared.respondents["weight"].sum()
        assert found.figures["share of weight left out"] == pytest.approx(share)
        mean = found.figures["activities of a person"]
        lengths = prepared.respondents["agenda"].map(prepared.agendas["agenda"].value_counts()).fillna(0)
        for name, some in (("respondents", slice(None)), ("donors", kept)):
            assert mean[name] == pytest.approx(np.average(lengths[some], weights=prepared.respondents["weight"][some]))
        donors = prepared.respondents["agenda"].to_numpy()[found.agents["respondent"]]
        assert (donors == found.agents["agenda"]).all()
    with pytest.raises(
        OdanonError, match=r"no agenda of the survey is held by 99 respondents.*lower match\.min_donors"
    ):
        matched(prepared, SEED, min_matches=1, min_donors=99)
    with pytest.raises(OdanonError, match="give 1 or more"):
        matched(prepared, SEED, min_donors=0)


def test_the_same_day_by_another_mode_is_another_agenda() -> None:
    trips = survey()[1]
    trips.loc[trips["person"] == "s000", "mode"] = "public"
    assert matched(town(survey_trips=trips), SEED, 5).figures["respondents left out"] == 2


def test_words_that_census_and_survey_do_not_share_are_a_mistake() -> None:
    lived = census().assign(gender=lambda rows: rows["gender"].map({"male": "1", "female": "2"}))
    with pytest.raises(OdanonError, match=r"no common value of gender \(census: 1, 2; survey: female, male\)"):
        matched(town(census=lived), SEED, 5)
    found = matched(town(census=lived), SEED, 5, keys=("age", "occupation"))
    assert found.figures["share of agents by keys"] == {"age": 1.0, "occupation": 1.0}
    lived = census().assign(car=lambda rows: rows["car"].mask(rows.index < 4, "two"))
    assert matched(town(census=lived), SEED, 5).figures["agents with a value that no donor has"]["car"] >= 4 * 10


def test_trips_lie_in_the_steps_of_the_matrices_after_calibration(prepared: Prepared, calibration: Calibration) -> None:
    shares = calibration.figures["share of trips by step"]
    assert shares["od"] == pytest.approx([0, 4 / 11, 2 / 11, 5 / 11])
    assert shares["agents after"] == pytest.approx(shares["od"], abs=1e-6)
    assert shares["agents before"] != pytest.approx(shares["od"], abs=1e-2)
    for each in calibration.figures["people by profile"]:
        assert each["calibrated"] == pytest.approx(each["census"], rel=1e-6)
    assert calibration.agents["copies"].sum() == pytest.approx(len(prepared.agents), rel=0.1)


def test_a_survey_whose_shared_days_are_all_at_home_is_told_with_the_remedy() -> None:
    people, trips = survey()
    some = trips[trips["person"].isin(["s000", "s001", "s020"])]
    found = town(survey_people=people, survey_trips=some)
    with pytest.raises(OdanonError, match=r"every agent got a day at home.*lower match\.min_donors"):
        calibrated(found, matched(found, SEED, 5), Raking(), SEED)


def test_a_census_of_so_few_that_no_traveller_is_left_is_told(prepared: Prepared, matching: Matching) -> None:
    class Nobody:
        def calibrate(self, asked: System) -> Calibrated:
            travels = asked.rows[: asked.steps].sum(axis=0) > 0
            return Calibrated.of(asked, np.where(travels, 0.0, asked.persons), 1)

    with pytest.raises(OdanonError, match="nobody who travels is left as a whole person"):
        calibrated(prepared, matching, Nobody(), SEED)


def test_steps_that_do_not_begin_at_midnight_are_refused() -> None:
    for steps in (("04:00", "10:00"), ("00:00", "10:00", "06:00"), ()):
        with pytest.raises(OdanonError, match="in order from 00:00 on"):
            prepare(inputs(), SEED, steps)


@pytest.mark.parametrize("name", registry.names("calibrate"))
def test_a_step_in_which_nobody_travels_is_told_and_the_others_share_it(name: str) -> None:
    at_night = pd.DataFrame({"step": [0], "origin": ["a1"], "destination": ["a2"], "trips": [100.0]})
    found = town(od=pd.concat([od(), at_night]))
    made = calibrated(found, matched(found, SEED, 5), registry.create("calibrate", name, {}), SEED)
    assert made.figures["steps without agents"] == [0]
    assert made.figures["share of trips by step"]["agents after"] == pytest.approx(
        [0, 4 / 11, 2 / 11, 5 / 11], abs=2e-2
    )


def test_activities_are_those_of_the_donor_from_home_on(
    prepared: Prepared, matching: Matching, calibration: Calibration, placement: Placement
) -> None:
    rows = placement.activities
    assert rows.equals(rows.sort_values(["agent", "copy", "seq"]))
    days = {at: day[["purpose", "mode", "step"]].values.tolist() for at, day in prepared.agendas.groupby("agenda")}
    counted = Counter()
    for (agent, copy), day in rows.groupby(["agent", "copy"]):
        assert day["seq"].tolist() == list(range(len(day)))
        assert day[["purpose", "mode", "step"]].values.tolist()[0] == ["home", "", -1]
        assert day[["purpose", "mode", "step"]].values.tolist()[1:] == days.get(matching.agents["agenda"][agent], [])
        home = day.loc[day["purpose"] == "home", "zone"]
        assert set(home) == {prepared.agents["home_zone"][agent]}
        assert day.loc[day["purpose"] == "work", "zone"].nunique() <= 1
        assert copy == counted[agent], "copies are numbered from 0"
        counted[agent] += 1
    copies = calibration.agents["copies"]
    assert copies[copies > 0].to_dict() == counted


@pytest.mark.parametrize("name", registry.names("place"))
def test_places_are_the_same_whatever_the_parts(
    name: str, prepared: Prepared, matching: Matching, calibration: Calibration
) -> None:
    placer: Placer = registry.create("place", name, {})
    made = [placed(prepared, matching, calibration, placer, SEED, parts=parts).activities for parts in (1, 2, 5, 100)]
    assert all(made[0].equals(other) for other in made[1:])
    other = placed(prepared, matching, calibration, placer, SEED + 1).activities
    assert not other["zone"].equals(made[0]["zone"])


def test_the_order_of_rows_changes_nothing(prepared: Prepared, placement: Placement) -> None:
    mixed = {name: table.sample(frac=1, random_state=3) for name, table in tables().items()}
    other = prepare(inputs(**mixed), SEED, STEPS)
    for field in fields(Prepared):
        if field.name != "figures":
            pd.testing.assert_frame_equal(getattr(prepared, field.name), getattr(other, field.name))
    match = matched(other, SEED, 5)
    again = placed(other, match, calibrated(other, match, Raking(), SEED), FactorGraph(), SEED)
    assert again.activities.equals(placement.activities)


def test_measures_are_those_of_the_trips_counted_one_by_one(
    prepared: Prepared, matching: Matching, calibration: Calibration, placement: Placement
) -> None:
    wanted = np.zeros((4, 6, 6))
    homes, persons = Counter(), Counter()
    for _, day in placement.activities.groupby(["agent", "copy"]):
        zones, steps = day["zone"].tolist(), day["step"].tolist()
        for at in range(1, len(day)):
            wanted[steps[at], zones[at - 1], zones[at]] += 1
        work = day.loc[day["purpose"] == "work", "zone"]
        if len(work):
            homes[zones[0] // 2, work.iloc[0] // 2] += 1
        persons[len(day)] += 1
    assert np.array_equal(made_matrices(prepared, placement.activities), wanted)
    told = evaluated(prepared, matching, calibration, placement, checked("commute", commute(), "commute"))
    assert told["places"]["trips"] == wanted.sum()
    assert told["places"]["within a zone"]["agents"] == pytest.approx(np.trace(wanted.sum(axis=0)) / wanted.sum())
    assert told["places"]["within a zone"]["od"] == pytest.approx(6 * 8 / 112)
    asked = {(a, b): 60.0 if a == b else 20.0 for a in range(3) for b in range(3)}
    made = np.array([homes[pair] for pair in asked]) / sum(homes.values())
    given = np.array([*asked.values()]) / sum(asked.values())
    r2 = 1 - ((made - given) ** 2).sum() / ((given - given.mean()) ** 2).sum()
    assert told["commute"]["fit"]["r2"] == pytest.approx(r2)


def test_commuters_have_no_measure_where_people_work_in_several_zones() -> None:
    trips = survey()[1]
    twice = [("work", "car", 7), ("shopping", "foot", 11), ("work", "car", 13), ("home", "car", 17)]
    rows = [
        (who, seq, 60 * hour, 60 * hour + 25, *what, 3000)
        for who in ("s000", "s004", "s008", "s012", "s016")
        for seq, (*what, hour) in enumerate(twice)
    ]
    trips = pd.concat(
        [trips[~trips["person"].isin([row[0] for row in rows])], pd.DataFrame(rows, columns=trips.columns)]
    )
    found = town(survey_trips=trips)
    match = matched(found, SEED, 5)
    count = calibrated(found, match, Raking(), SEED)
    told = [
        evaluated(found, match, count, placed(found, match, count, placer, SEED), commute())["commute"]
        for placer in (NaiveForward(), FactorGraph())
    ]
    assert [told[0]["fit"], told[0]["why"]] == [None, "some agents work in several zones"]
    assert told[1]["fit"] is not None


def test_it_is_told_why_commuters_have_no_measure(
    prepared: Prepared, matching: Matching, calibration: Calibration, placement: Placement
) -> None:
    home = Placement(placement.activities[placement.activities["purpose"] == "home"], placement.figures)
    for made, table, why in (
        (placement, commute().assign(home_commune="9"), "no commuter of the table lives and works in communes"),
        (placement, commute().assign(persons=0.0), "no commuter of the table lives and works in communes"),
        (home, commute(), "no agent works"),
    ):
        told = evaluated(prepared, matching, calibration, made, table)["commute"]
        assert told["fit"] is None
        assert told["why"].startswith(why)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"od": od().assign(step=lambda rows: rows["step"] + 9)}, "od has steps up to 12 and there are 4"),
        ({"od": od().assign(origin=lambda rows: "IRIS " + rows["origin"])}, "100% of od have no origin and destination among the zones"),
        ({"od": od().assign(trips=0.0)}, "od has no trips"),
        ({"census": census().assign(home_zone="x")}, "100% of census have no home_zone among the zones"),
        ({"census": census().assign(weight=1e9)}, "more than 50,000,000 people"),
        ({"census": census().assign(weight=1e-8)}, "nobody who lives in the zones"),
        ({"survey_trips": survey()[1].assign(person="x")}, "no respondent of the survey travels"),
    ],
)  # fmt: skip
def test_tables_that_do_not_fit_each_other_are_refused_in_a_sentence(
    changed: dict[str, pd.DataFrame], sentence: str
) -> None:
    with pytest.raises(OdanonError) as failed:
        town(**changed)
    assert sentence in str(failed.value)
    assert "\n" not in str(failed.value)
