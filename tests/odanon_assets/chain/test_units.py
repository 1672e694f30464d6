"""What k counts, from the table to the published flows: persons, trips without persons, inhabitants."""

import json
from pathlib import Path
from typing import Any

import gate_town as gate
import pandas as pd
import pytest
from gate_town import DAY, TILES, people, published, town, visible

from odanon.errors import OdanonError
from odanon_assets.gate.auditing import audit_day
from odanon_assets.gate.verification import verify_day
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.stores.choice import open_store

TRIPS = {"anonymize": {"plugin": "atg-joint", "k": 10, "unit": "trips"}, "publish": {"accept_unit_trips": True}}
COARSE = {"plugin": "uniform", "k": 10, "level": 5, "suppression": 0.3}
PAIR = ["time_bin", "origin", "destination"]


@pytest.fixture
def folder(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    return workspace


def test_a_table_without_persons_becomes_a_published_table_that_says_so(folder: Path) -> None:
    rows = people().groupby(PAIR, as_index=False)["trips"].sum()
    gate.write(folder, rows)
    product = town(folder, columns={}, **TRIPS)
    release = published(product)
    flows = visible(product)
    assert (flows["trips"] >= 10).all()
    assert flows["persons_band"].isna().all()
    assert flows["trips"].sum() >= 0.9 * rows["trips"].sum()
    assert "not person-anonymous" in open_store(product).manifest_text(release)
    assert "Not person-anonymous" in open_store(product).report(release)
    assert verify_day(product, Lake(default_root()), DAY) == []
    # A second product of the table is audited by trips.
    coarse = {**TRIPS, "anonymize": {**TRIPS["anonymize"], "k": 15}}
    other = town(folder, "coarse", columns={}, **coarse)
    gate.made(other, like="town")
    findings = audit_day(other, Lake(default_root()), DAY, open_store(other))
    assert {finding.rule for finding in findings} == {"nested-difference"}
    assert release in str(findings[0])


def test_trips_without_persons_are_not_compared_with_trips_of_persons(folder: Path) -> None:
    gate.write(folder, people())
    release = published(town(folder))
    nameless = town(folder, "nameless", columns={}, **TRIPS)
    gate.made(nameless)
    with pytest.raises(OdanonError, match=f"comparable: rows without ids next to rows with ids.*{release}"):
        gate.publish(nameless)


def crowd(origin: str, destination: str, names: list[str], trips: int = 1, weight: float = 5.4) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "time_bin": pd.Timestamp(DAY, tz="UTC") + pd.Timedelta(hours=8),
            "origin": origin,
            "destination": destination,
            "trips": trips,
            "person": names,
            "weight": weight,
        }
    )


def cells(product: Any) -> set[tuple[str, str]]:
    flows = visible(product)
    return set(zip(flows["origin_zone"], flows["destination_zone"], strict=True))


@pytest.mark.parametrize("algorithm", ["atg-joint", "odkanon"])
def test_one_commuter_with_ten_trips_never_appears(folder: Path, algorithm: str) -> None:
    """k - 1 people with ten trips each do not make a cell; k with one do."""
    lonely, few, enough = (TILES[0], TILES[1]), (TILES[2], TILES[3]), (TILES[40], TILES[41])
    rows = pd.concat(
        [
            crowd(*lonely, ["a commuter"], trips=10),
            crowd(*few, [f"f{n}" for n in range(4)], trips=10),
            crowd(*enough, [f"e{n}" for n in range(5)], trips=20),
        ]
    )
    gate.write(folder, rows)
    product = town(folder, anonymize={"plugin": algorithm, "k": 5, "suppression": 0.4})
    published(product)
    assert not cells(product) & {lonely, few}
    assert enough in cells(product)


def test_one_device_of_weight_5_4_never_passes_k_5(folder: Path) -> None:
    device, enough = (TILES[0], TILES[1]), (TILES[40], TILES[41])
    gate.write(folder, pd.concat([crowd(*device, ["a device"]), crowd(*enough, [f"e{n}" for n in range(5)], trips=9)]))
    columns = {"person": "person", "weight": "weight"}
    unit = {"plugin": "atg-joint", "k": 5, "unit": "population", "k_population": 5, "suppression": 0.4}
    product = town(folder, columns=columns, anonymize=unit)
    release = published(product)
    assert cells(product) == {enough}
    # Five people, each with weight 5.4 in all: 27 in the population, in tens so that nobody's 5.4 shows.
    assert visible(product)["trips"].tolist() == [30]
    assert "how many trips the population made" in open_store(product).report(release)
    assert json.loads(open_store(product).manifest_text(release))["metrics"]["trips_published"] == 30


def test_a_cap_on_trips_does_not_go_with_numbers_that_are_weights(folder: Path) -> None:
    unit = {"plugin": "atg-joint", "k": 5, "unit": "population", "k_population": 50, "contribution_cap": 2}
    with pytest.raises(OdanonError, match="contribution_cap limits a person's trips"):
        town(folder, columns={"person": "person", "weight": "weight"}, anonymize=unit)


def test_a_person_with_most_of_the_weight_keeps_a_flow_from_being_published(folder: Path) -> None:
    dominated, even = (TILES[0], TILES[1]), (TILES[40], TILES[41])
    for place, heaviest in (folder, 90.0), (folder / "elsewhere", 91.0):  # two data sets, or the auditor would compare
        heavy = crowd(*dominated, [f"d{n}" for n in range(5)]).assign(weight=[1.0, 1.0, 1.0, 1.0, heaviest])
        rows = pd.concat([heavy, crowd(*even, [f"e{n}" for n in range(20)])])
        place.mkdir(exist_ok=True)
        gate.write(place, rows.assign(person=f"{heaviest} " + rows["person"]))
    unit = {"plugin": "atg-joint", "k": 5, "unit": "population", "k_population": 50, "suppression": 0.4}
    columns = {"person": "person", "weight": "weight"}
    published(town(folder, "any", columns, anonymize=unit))
    assert cells(town(folder, "any", columns, anonymize=unit)) == {dominated, even}
    limited = town(folder / "elsewhere", "limited", columns, anonymize={**unit, "max_dominance": 0.5})
    published(limited)
    assert cells(limited) == {even}


@pytest.mark.parametrize("strangers", [0, 1, 9])
def test_fewer_than_k_suppressed_trips_look_like_none_in_the_manifest(folder: Path, strangers: int) -> None:
    rows = [crowd(TILES[40], TILES[41], [f"p{n}" for n in range(49)], trips=97)]
    rows += [crowd(TILES[n], TILES[n + 1], [f"s{n}"]) for n in range(strangers)]
    gate.write(folder, pd.concat(rows))
    product = town(folder, anonymize={"plugin": "suppression", "k": 10, "suppression": 0.1})
    manifest = json.loads(open_store(product).manifest_text(published(product)))
    assert visible(product)["trips"].tolist() == [49 * 97]
    told = manifest["metrics"]
    assert told["trips_published"] == 4753
    assert not {"suppressed_share", "reconstruction_loss"} & told.keys()  # that of a single flow shows its tiles
    assert manifest["input_counts"] == {"people": 40, "od_pairs": 0}


def test_people_without_a_segment_are_one_and_are_not_lost(folder: Path) -> None:
    rows = people()
    rows.loc[:200, "sex"] = None
    gate.write(folder, rows)
    product = town(folder, columns={"person": "person", "segment": "sex"}, anonymize=COARSE)
    published(product)
    assert set(visible(product)["segment"]) >= {"F", "M", "unknown"}
    assert Lake(default_root()).figures("town", "od", DAY)["od_trips"] == rows["trips"].sum()


def test_a_time_bin_that_stands_for_too_few_inhabitants_is_left_out_alone(folder: Path) -> None:
    """At nine there are enough people who stand for too few inhabitants; the day is published without that hour."""
    morning = people(600)
    later = people(600, seed=2).assign(time_bin=pd.Timestamp(DAY, tz="UTC") + pd.Timedelta(hours=9), weight=0.01)
    gate.write(folder, pd.concat([morning, later]))
    columns = {"person": "person", "weight": "weight"}
    unit = {"plugin": "atg-joint", "k": 10, "unit": "population", "k_population": 50}
    product = town(folder, columns=columns, anonymize=unit)
    published(product)
    assert visible(product)["time_start"].dt.hour.unique().tolist() == [8]
    gate.write(folder, later)
    with pytest.raises(OdanonError, match="no time bin reaches k = 10 and k_population = 50 in all"):
        gate.made(town(folder, "later", columns=columns, anonymize=unit))
