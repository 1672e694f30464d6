"""Files for modellers: a MATSim population and eqasim's tables tell the same days, with the same bytes for the same seed."""

import gzip
import hashlib
import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import shapely
from dtd import faults
from hypothesis import given
from hypothesis import strategies as st

from odanon.demand import eqasim, matsim
from odanon.demand.timed import MODES, NONE, PURPOSES, Travellers
from odanon.errors import OdanonError
from odanon.geo.crs import to_metres, utm_crs

STEPS = ["00:00", "07:00", "09:00", "16:00", "19:00"]
EDGES = [0, 7 * 3600, 9 * 3600, 16 * 3600, 19 * 3600, 24 * 3600]
LICENCE = 'Survey <of> "2015" & its rules'
DTD = Path(__file__).with_name("population_v6.dtd").read_text()
DAYS = (
    [("home", "", -1)],
    [("home", "", -1), ("work", "car", 1), ("home", "car", 3)],
    [("home", "", -1), ("work", "public", 1), ("shopping", "foot", 3), ("personal", "foot", 3), ("home", "public", 3)],
    [("home", "", -1), ("study", "bicycle", 1), ("home", "foot", 3), ("personal", "car", 4), ("home", "car", 0)],
)


def zones(outlines: bool = True) -> pd.DataFrame:
    """A square, two squares apart, one with a hole, and a point."""
    shapes = [
        shapely.box(4.80, 45.70, 4.82, 45.72),
        shapely.MultiPolygon([shapely.box(4.82, 45.70, 4.825, 45.72), shapely.box(4.83, 45.71, 4.84, 45.72)]),
        shapely.box(4.80, 45.72, 4.84, 45.75).difference(shapely.box(4.81, 45.73, 4.83, 45.74)),
        None,
    ]
    told: dict[str, Any] = {"zone": ["a", "b", "c", "d"], "commune": ["1", "1", "2", "2"], "canton": "x"}
    told |= {"lat": [45.71, 45.71, 45.725, 45.76], "lon": [4.81, 4.8225, 4.82, 4.85]}
    return pd.DataFrame(told | ({"geometry": shapes} if outlines else {}))


def population(copies: list[int], seed: int = 1) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Activities and agents; the rows are shuffled, since their order must not matter."""
    random, rows, homes = np.random.default_rng(seed), [], []
    for agent, number in enumerate(copies):
        day = DAYS[agent % len(DAYS)]
        places = dict(zip(("home", "work", "study"), random.choice(list("abcd"), 3), strict=True))
        homes.append(places["home"])
        for copy in range(number):
            for seq, (purpose, mode, step) in enumerate(day):
                rows.append((agent, copy, seq, purpose, mode, step, places.get(purpose, random.choice(list("abcd")))))
    activities = pd.DataFrame(rows, columns=["agent", "copy", "seq", "purpose", "mode", "step", "zone"])
    agents = pd.DataFrame(
        {
            "agent": np.arange(len(copies)),
            "donor": 900,
            "age": "30-59",
            "gender": "female",
            "occupation": "clerk & co",
            "car": "yes",
            "home_status": "owner",
            "home_zone": homes,
            "coefficient": 1.0,
            "copies": copies,
        }
    )
    return activities.sample(frac=1, random_state=seed), agents.sample(frac=1, random_state=seed)


def travellers(copies: list[int], seed: int = 7, **changed: Any) -> Travellers:
    activities, agents = population(copies)
    return Travellers(activities, agents, changed.get("zones", zones()), STEPS, seed)


def whole(of: Travellers, agents_a_part: int = 50_000) -> pd.DataFrame:
    return pd.concat([days.activities for days in of.parts(agents_a_part)], ignore_index=True)


COPIES = st.lists(st.integers(0, 3), min_size=1, max_size=12).filter(any)


@given(COPIES, st.integers(1, 5), st.integers(0, 3))
def test_how_agents_are_cut_into_parts_changes_nothing(copies: list[int], size: int, seed: int) -> None:
    made = travellers(copies, seed)
    pd.testing.assert_frame_equal(whole(made), whole(made, size))


@given(COPIES, st.integers(0, 50))
def test_trips_set_out_in_their_steps_and_in_order(copies: list[int], seed: int) -> None:
    activities, _ = population(copies)
    wanted = activities.sort_values(["agent", "copy", "seq"])["step"].tolist()
    for _, day in whole(travellers(copies, seed)).assign(step=wanted).groupby("person"):
        trips = day.iloc[1:]
        assert trips["left"].is_monotonic_increasing
        assert (trips["start"] >= trips["left"]).all()
        assert trips["left"].tolist() == day["end"].iloc[:-1].tolist()
        assert (day["start"].iloc[1:-1] <= day["end"].iloc[1:-1]).all()
        assert (day["start"].iloc[0], day["end"].iloc[-1]) == (NONE, NONE)
        for step, left in zip(trips["step"], trips["left"], strict=True):
            assert EDGES[step] <= left % 86400 < EDGES[step + 1]


def test_a_step_before_the_last_one_is_of_the_next_day() -> None:
    day = whole(travellers([0, 0, 0, 1]))
    assert day["left"].iloc[-1] >= 86400 > day["left"].iloc[-2]


@given(COPIES, st.integers(0, 50))
def test_points_lie_in_their_zones_and_a_primary_place_is_one_point(copies: list[int], seed: int) -> None:
    made = whole(travellers(copies, seed))
    crs = utm_crs(zones()["lat"], zones()["lon"])
    for zone, shape, lat, lon in zones()[["zone", "geometry", "lat", "lon"]].itertuples(index=False):
        here = made[made["zone"] == zone]
        if shape is None:
            assert here[["x", "y"]].drop_duplicates().to_numpy().tolist() in (
                [],
                [np.round(to_metres(lat, lon, crs), 2).tolist()],
            )
            continue
        placed = shapely.transform(shape, lambda p: np.column_stack(to_metres(p[:, 1], p[:, 0], crs)))
        assert shapely.dwithin(placed, shapely.points(here["x"], here["y"]), 0.02).all()
    primary = made[made["purpose"].isin(["home", "work", "education"])]
    assert (primary.groupby(["person", "purpose", "zone"])[["x", "y"]].nunique() == 1).all(axis=None)


def test_points_and_times_are_spread_evenly() -> None:
    activities, agents = population([1] * 4000)
    made = whole(Travellers(activities.assign(zone="b"), agents.assign(home_zone="b"), zones(), STEPS, 3))
    homes = made.drop_duplicates("person")
    west = (homes["x"] < to_metres(45.7, 4.827, utm_crs(zones()["lat"], zones()["lon"]))[0]).mean()
    assert west == pytest.approx(0.5, abs=0.03)  # both squares of b are of one size
    lone = made[(made["index"] == 1) & (made["purpose"] == "work")]["left"]
    assert ((lone - EDGES[1]) / (EDGES[2] - EDGES[1])).describe()[["25%", "50%", "75%"]].tolist() == pytest.approx(
        [0.25, 0.5, 0.75], abs=0.05
    )


def test_without_outlines_everything_is_at_the_points_of_zones() -> None:
    made = whole(travellers([1] * 8, zones=zones(outlines=False)))
    assert made.groupby("zone")[["x", "y"]].nunique().to_numpy().max() == 1


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demand")
    write(folder, population([2, 1, 0, 3, 1, 1, 2]))
    return folder


def write(folder: Path, made: tuple[pd.DataFrame, pd.DataFrame], seed: int = 7) -> None:
    matsim.write(*made, zones(), STEPS, folder / "matsim" / "population.xml.gz", seed, LICENCE)
    eqasim.write(*made, zones(), STEPS, folder / "eqasim", seed)


def digests(folder: Path) -> dict[str, str]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def xml_of(folder: Path) -> str:
    return gzip.decompress((folder / "matsim" / "population.xml.gz").read_bytes()).decode()


def test_the_same_seed_gives_the_same_bytes_whatever_the_order_of_rows(written: Path, tmp_path: Path) -> None:
    activities, agents = population([2, 1, 0, 3, 1, 1, 2])
    write(tmp_path / "same", (activities.sort_values("purpose"), agents.sort_values("home_zone")))
    write(tmp_path / "other", (activities, agents), seed=8)
    assert digests(tmp_path / "same") == digests(written)
    assert digests(tmp_path / "other")["population.xml.gz"] != digests(written)["population.xml.gz"]


def test_words_may_be_categories(written: Path, tmp_path: Path) -> None:
    activities, agents = population([2, 1, 0, 3, 1, 1, 2])
    words = {"age", "gender", "occupation", "car", "home_status", "home_zone"}
    packed = activities.astype(dict.fromkeys(("purpose", "mode", "zone"), "category"))
    write(tmp_path, (packed, agents.astype(dict.fromkeys(words, "category"))))
    assert digests(tmp_path) == digests(written)
    home = packed[packed["seq"] == 0]  # nobody travels, so that no mode is known
    home = home.assign(mode=home["mode"].cat.remove_unused_categories())
    assert whole(Travellers(home, agents, zones(), STEPS, 1))["mode"].unique().tolist() == [""]


def test_the_population_is_valid(written: Path) -> None:
    xml = xml_of(written)
    assert xml.startswith(
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE population SYSTEM "http://www.matsim.org/files/dtd/population_v6.dtd">\n'
    )
    assert faults(xml, DTD) == []
    root = ElementTree.fromstring(xml)
    assert [person.get("id") for person in root.iter("person")] == [str(number) for number in range(10)]
    for plan in root.iter("plan"):
        kinds = [element.tag for element in plan]
        assert kinds == ["activity", *["leg", "activity"] * (len(kinds) // 2)]
        for activity, leg in zip(plan.findall("activity"), plan.findall("leg"), strict=False):
            assert re.fullmatch(r"\d\d:\d\d:\d\d", activity.attrib["end_time"])
            assert activity.get("end_time") == leg.get("dep_time")
        assert "end_time" not in plan.findall("activity")[-1].attrib
    assert {leg.get("mode") for leg in root.iter("leg")} <= set(MODES.values())
    assert {activity.get("type") for activity in root.iter("activity")} <= set(PURPOSES.values())


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("<plan ", "<plan><attributes/></plan><plan "), "plan has the children attributes "),
        (('<leg mode="car"', "<leg"), "leg lacks mode"),
        (('selected="yes"', 'selected="perhaps"'), "plan has selected=perhaps"),
        (("<activity ", '<activity z="1" '), "activity has z"),
        (("</plan>", "</plan>x"), "text in person"),
        (("<attributes>\n<attribute", "<attributes>\n<note/><attribute"), "nobody knows note"),
    ],
)
def test_what_is_not_valid_is_noticed(written: Path, change: tuple[str, str], fault: str) -> None:
    assert fault in faults(xml_of(written).replace(*change, 1), DTD)


def attributes(element: ElementTree.Element) -> dict[str, tuple[str | None, str | None]]:
    return {each.attrib["name"]: (each.get("class"), each.text) for each in element.findall("attributes/attribute")}


def test_the_population_names_its_coordinates_licence_and_nature(written: Path) -> None:
    told = attributes(ElementTree.fromstring(xml_of(written)))
    assert told["coordinateReferenceSystem"] == ("java.lang.String", "EPSG:32631")
    assert told["licence"] == ("java.lang.String", LICENCE)
    assert told["seed"] == ("java.lang.Integer", "7")
    assert "not anonymous" in (told["statement"][1] or "")


@pytest.mark.parametrize(("seed", "kind"), [(2**31 - 1, "java.lang.Integer"), (2**31, "java.lang.String")])
def test_a_seed_that_java_cannot_count_to_is_text(seed: int, kind: str, tmp_path: Path) -> None:
    write(tmp_path, population([1]), seed)
    assert f'<attribute name="seed" class="{kind}">{seed}</attribute>' in xml_of(tmp_path)


def test_persons_have_the_attributes_that_matsim_knows(written: Path, tmp_path: Path) -> None:
    person = ElementTree.fromstring(xml_of(written)).find("person")
    assert person is not None
    told = attributes(person)
    assert (told["sex"][1], told["carAvail"][1], told["occupation"][1]) == ("f", "always", "clerk & co")
    assert told["ageClass"] == ("java.lang.String", "30-59")
    activities, agents = population([1])
    write(tmp_path, (activities, agents.assign(age=41)))
    years = ElementTree.fromstring(xml_of(tmp_path)).find("person")
    assert years is not None
    assert attributes(years)["age"] == ("java.lang.Integer", "41")


def test_nothing_tells_whose_day_an_agent_has(written: Path) -> None:
    assert "donor" not in xml_of(written)
    assert "donor" not in (written / "eqasim" / "persons.csv").read_text()


def test_both_files_tell_the_same_days(written: Path) -> None:
    tables = {name: pd.read_csv(written / "eqasim" / f"{name}.csv", sep=";") for name in eqasim.TABLES}
    activities, trips = tables["activities"], tables["trips"]
    root = ElementTree.fromstring(xml_of(written))
    theirs, legs = list(root.iter("activity")), list(root.iter("leg"))
    assert activities["purpose"].tolist() == [each.get("type") for each in theirs]
    for name in ("x", "y"):
        assert activities[name].tolist() == [float(each.attrib[name]) for each in theirs]
    ends = [None if pd.isna(end) else matsim.clock(int(end)) for end in activities["end_time"]]
    assert ends == [each.get("end_time") for each in theirs]
    assert trips["mode"].tolist() == [each.get("mode") for each in legs]
    assert [matsim.clock(second) for second in trips["departure_time"]] == [each.get("dep_time") for each in legs]
    assert tables["persons"]["person_id"].tolist() == [int(each.attrib["id"]) for each in root.iter("person")]


def test_indices_of_eqasims_tables_meet(written: Path) -> None:
    tables = {name: pd.read_csv(written / "eqasim" / f"{name}.csv", sep=";") for name in eqasim.TABLES}
    activities, trips = tables["activities"], tables["trips"]
    after = activities.set_index(["person_id", "preceding_trip_index"])
    before = activities.set_index(["person_id", "following_trip_index"])
    for trip in trips.to_dict("records"):
        reached = after.loc[(trip["person_id"], trip["trip_index"])]
        left = before.loc[(trip["person_id"], trip["trip_index"])]
        assert (reached["activity_index"], reached["purpose"]) == (
            trip["following_activity_index"],
            trip["following_purpose"],
        )
        assert (left["activity_index"], left["purpose"]) == (
            trip["preceding_activity_index"],
            trip["preceding_purpose"],
        )
        assert (left["end_time"], reached["start_time"]) == (trip["departure_time"], trip["arrival_time"])
    assert len(trips) == len(activities) - activities["is_last"].sum()
    assert set(activities.loc[activities["is_last"], "following_trip_index"]) == {-1}
    assert (activities.groupby("zone_id")["commune_id"].nunique() == 1).all()
    alone = activities.groupby("person_id").filter(lambda day: len(day) == 1)
    assert alone[["is_first", "is_last"]].all(axis=None)


def test_a_step_of_the_thesis_is_never_left_by_sorting() -> None:
    """Several trips of one step are ordered among themselves, and stay apart from those of other steps."""
    days = whole(travellers([0, 0, 40]))
    for _, day in days.groupby("person"):
        assert all(a <= b for a, b in pairwise(day["left"].iloc[1:]))
        assert day["left"].iloc[1] < EDGES[2]
        assert (day["left"].iloc[2:] >= EDGES[3]).all()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda rows, agents: (rows.assign(zone="elsewhere"), agents), "zones that the table of zones does not have"),
        (lambda rows, agents: (rows.assign(mode="rocket"), agents), "each mode of activities must be one of foot"),
        (lambda rows, agents: (rows.assign(purpose="nap"), agents), "each purpose of activities must be one of home"),
        (lambda rows, agents: (rows.assign(step=5), agents), "time steps that do not exist"),
        (lambda rows, agents: (rows, agents.assign(copies=0)), "no agent has a copy"),
        (lambda rows, agents: (rows, agents.assign(copies=1)), "do not have the same copies"),
        (lambda rows, agents: (rows, agents[agents["agent"] > 0]), "agents that the table of agents does not have"),
    ],
)
def test_tables_that_do_not_fit_are_a_sentence(spoil: Any, words: str) -> None:
    with pytest.raises(OdanonError, match=words):
        whole(Travellers(*spoil(*population([2, 2])), zones(), STEPS, 1))


@pytest.mark.parametrize("steps", [["7 o'clock"], ["09:00", "07:00"], []])
def test_steps_that_are_none_are_a_sentence(steps: list[str]) -> None:
    with pytest.raises(OdanonError, match="07:00"):
        whole(Travellers(*population([2, 2]), zones(), steps, 1))


def test_the_utm_zone_has_the_name_that_others_know_it_by() -> None:
    assert utm_crs(np.array([45.7]), np.array([4.8])) == "EPSG:32631"
    assert utm_crs(np.array([-33.9]), np.array([18.4])) == "EPSG:32734"
    assert utm_crs(np.array([10.0]), np.array([180.0])) == "EPSG:32601"


def test_another_coordinate_system_is_used_and_named(tmp_path: Path) -> None:
    matsim.write(*population([1, 1]), zones(), STEPS, tmp_path / "p.xml.gz", 1, LICENCE, crs="EPSG:2154")
    xml = gzip.decompress((tmp_path / "p.xml.gz").read_bytes()).decode()
    assert ">EPSG:2154<" in xml
    assert 800_000 < float(re.findall(r' x="([\d.]+)"', xml)[0]) < 900_000
