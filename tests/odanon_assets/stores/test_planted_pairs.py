"""Pairs of releases that give people away when subtracted: each passes alone, and the gate refuses the second."""

import json
import multiprocessing
import os
import re
import shutil
from datetime import date
from functools import reduce
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import gate_town as gate
import h3
import numpy as np
import pandas as pd
import pytest
from bundles import accept, bundle
from gate_town import DAY, people, publish, published, town
from product_example import small_product

from odanon.errors import OdanonError
from odanon.product import Product
from odanon_assets.gate.auditing import audit_day
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.publisher import act as publication
from odanon_assets.publisher.act import publish_day
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Act

STRESS = bool(os.environ.get("ODANON_STRESS"))
CENTRE = h3.latlng_to_cell(45.75, 4.85, 6)
ACT = Act("Ada Auditor", "the antennas were wrong")


@pytest.fixture
def folder(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of OD tables with one day of people in it."""
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    gate.write(workspace, people())
    return workspace


def refused(product: Product, rule: str, release: str, like: str | None = "town") -> None:
    """The day is made and verified, and publishing it is refused with a sentence that names rule and release."""
    gate.made(product, like=like)
    with pytest.raises(OdanonError, match=rf"{product.product} 2026-03-02 is not published: .*{rule}[:,] ") as caught:
        publish(product)
    assert release in str(caught.value)
    assert not re.search("person [0-9]", str(caught.value))
    assert open_store(product).windows(product.product) == []


def test_two_values_of_k(folder: Path) -> None:
    first = published(town(folder))
    refused(town(folder, "coarse", anonymize={"plugin": "atg-joint", "k": 15}), "nested-difference", first)


@pytest.mark.parametrize("algorithm", ["atg-homogeneous", pytest.param("odkanon", marks=pytest.mark.thorough)])
def test_two_algorithms(folder: Path, algorithm: str) -> None:
    first = published(town(folder))
    refused(town(folder, "other", anonymize={"plugin": algorithm, "k": 10}), "nested-difference", first)


def test_total_and_sexes_in_either_order(folder: Path) -> None:
    by_sex = {"person": "person", "segment": "sex"}
    total = published(town(folder, anonymize={"plugin": "atg-joint", "k": 12}))
    refused(town(folder, "sexes", by_sex), "nested-difference", total, like=None)


@pytest.mark.thorough  # the other order
def test_sexes_and_then_the_total(folder: Path) -> None:
    sexes = published(town(folder, "sexes", {"person": "person", "segment": "sex"}))
    refused(town(folder, anonymize={"plugin": "atg-joint", "k": 12}), "nested-difference", sexes, like=None)


def test_a_long_window_and_its_parts(folder: Path) -> None:
    """A day next to its hours, as a week next to its days: coarser windows only as sums of published numbers."""
    gate.write(folder, people(hours=(0, 8, 17)))
    hours = published(town(folder))
    refused(town(folder, "daily", od={"bin": "24h"}), "base-window", hours)


def test_the_same_people_on_other_tiles(workspace: Path) -> None:
    source = {"plugin": "simulated", "people": 150, "seed": 3, "radius_km": 3}
    first = published(small_product(workspace, product="fine", source=source))
    refused(
        small_product(workspace, product="rough", source=source, zoning={"plugin": "h3", "resolution": 7}),
        "comparable: the same people on other tiles",
        first,
        like="fine",
    )


def crowd(origin: str, destination: str, names: str, purpose: str, trips: int = 1) -> pd.DataFrame:
    """Rows of the people of one tile pair, a letter each, at eight."""
    hour = pd.Timestamp(DAY, tz="UTC") + pd.Timedelta(hours=8)
    ends = {"origin": origin, "destination": destination}
    return pd.DataFrame({"time_bin": hour, **ends, "trips": trips, "person": list(names), "purpose": purpose})


def test_a_person_in_several_segments(folder: Path) -> None:
    """Many travel for work and for leisure, two for work next door: the total less both purposes is those two."""
    (a, b, *_), (c, d, *_), *_ = (h3.cell_to_children(parent, 8) for parent in sorted(h3.cell_to_children(CENTRE, 7)))
    rows = [
        crowd(a, c, ascii_lowercase, "work"),
        crowd(a, c, ascii_lowercase, "leisure", trips=2),
        crowd(b, c, "!?", "work"),
        crowd(c, c, ascii_uppercase, "work"),
        crowd(d, d, ascii_uppercase, "leisure"),
    ]
    gate.write(folder, pd.concat(rows))
    known = {"k": 10, "suppression": 0.1}
    by_purpose = {"person": "person", "segment": "purpose"}
    first = published(town(folder, "purposes", by_purpose, anonymize={"plugin": "suppression", **known}))
    total = town(folder, anonymize={"plugin": "uniform", "level": 7, **known})
    refused(total, "comparable: .* in several segments", first, like=None)


def test_trips_counted_up_to_a_cap_and_without_one(folder: Path) -> None:
    """The difference is what those beyond the cap add, perhaps one commuter; the same numbers again tell nothing."""
    capped = {"plugin": "uniform", "k": 10, "level": 6, "suppression": 0.5, "contribution_cap": 1}
    first = published(town(folder, anonymize=capped))
    again = town(folder, "again", anonymize=capped)
    gate.made(again, like="town")
    publish(again)
    plain = town(folder, "plain", anonymize={**capped, "contribution_cap": None})
    refused(plain, "comparable: trips counted up to a cap .* of trips", first)


@pytest.mark.thorough  # as test_data_identity
def test_the_same_files_under_another_spelling_of_their_path(folder: Path) -> None:
    first = published(town(folder))
    spelled = town(folder / "data" / "..", "spelled", file_in=folder, anonymize={"plugin": "atg-joint", "k": 15})
    refused(spelled, "nested-difference", first, like=None)


def test_tables_made_under_a_weaker_promise_than_the_file_states_now(folder: Path) -> None:
    weak = {"plugin": "atg-joint", "k": 5, "unit": "trips"}
    gate.made(town(folder, anonymize=weak, publish={"accept_unit_trips": True}))
    product = town(folder)
    with pytest.raises(OdanonError, match="promise: tables made with a weaker unit, k than the product's file says"):
        publish(product)
    assert open_store(product).windows("town") == []


def test_tables_made_with_other_segments_than_the_file_states_now(folder: Path) -> None:
    by_sex = {"person": "person", "segment": "sex"}
    for name, then, now in (("first", by_sex, None), ("second", None, by_sex)):
        gate.made(town(folder, name, then))
        with pytest.raises(OdanonError, match="segments: tables made with other segments than the file's"):
            publish(town(folder, name, now))


def reissued(folder: Path, rows: pd.DataFrame) -> OdanonError:
    """What is said to a second release of the day that a named act is to put in the place of the first."""
    product = town(folder)
    first = published(product)
    gate.write(folder, rows)
    gate.made(product)
    with pytest.raises(OdanonError, match="a release is never changed"):
        publish(product)
    with pytest.raises(OdanonError, match="is not published") as caught:
        supersede(product)
    assert first in str(caught.value)
    assert open_store(product).released("town", DAY) == first
    assert open_store(product).audit_log()["act"].tolist() == ["publish"]
    return caught.value


def supersede(product: Product) -> str:
    return publish_day(product, Lake(default_root()), DAY, open_store(product), ACT)["release_id"]


def test_a_reissue_without_one_person(folder: Path) -> None:
    rows = people()
    assert "changed-input" in str(reissued(folder, rows[rows["person"] != rows["person"].iloc[0]]))


def test_a_corrected_reissue(folder: Path) -> None:
    rows, rng = people(), np.random.default_rng(0)
    moved = rng.choice(len(rows), 200, replace=False)
    rows.loc[moved, "destination"] = rng.permutation(rows.loc[moved, "destination"].to_numpy())
    assert re.search("nested-difference|crossing-difference|combination", str(reissued(folder, rows)))


def test_a_reissue_that_claims_to_be_about_others(folder: Path) -> None:
    """A product stays about the same people, whatever its file calls the data now."""
    first = published(town(folder))
    renamed = town(folder, dataset="others", anonymize={"plugin": "atg-joint", "k": 15})
    gate.made(renamed)
    with pytest.raises(OdanonError, match=f"comparable: .*{first}"):
        supersede(renamed)


def test_a_reissue_from_which_nothing_follows_supersedes(folder: Path) -> None:
    """Other people altogether, and as many: whoever subtracts learns of hundreds at a time."""
    product = town(folder, anonymize={"plugin": "uniform", "k": 10, "level": 6, "suppression": 0.5})
    first = published(product)
    rows = people()
    newcomers = people(seed=5).assign(person=lambda t: "new " + t["person"])
    gate.write(folder, pd.concat([rows, newcomers]))
    gate.made(product)
    second = supersede(product)
    assert second != first
    assert open_store(product).released("town", DAY) == second
    assert open_store(product).audit_log()["act"].tolist() == ["publish", "supersede"]


def test_what_was_superseded_is_still_compared(folder: Path) -> None:
    """It was public once: a second correction must be safe against both."""
    product = town(folder, anonymize={"plugin": "uniform", "k": 10, "level": 6, "suppression": 0.5})
    first = published(product)
    rows = pd.concat([people(), people(seed=5).assign(person=lambda t: "new " + t["person"])])
    gate.write(folder, rows)
    gate.made(product)
    supersede(product)
    gate.write(folder, people().iloc[1:])
    gate.made(product)
    with pytest.raises(OdanonError, match="changed-input") as caught:
        supersede(product)
    assert first in str(caught.value)


def test_the_same_numbers_under_another_name_pass(folder: Path) -> None:
    published(town(folder))
    again = town(folder, "again")
    gate.made(again, like="town")
    publish(again)
    assert audit_day(again, Lake(default_root()), DAY, open_store(again)) == []


def test_other_data_and_other_days_are_not_compared(folder: Path) -> None:
    published(town(folder))
    (bikes := folder / "bikes").mkdir()
    gate.write(bikes, people(seed=2))
    published(town(bikes, "bikes", file_in=folder, anonymize={"plugin": "atg-joint", "k": 15}))
    gate.write(folder, people(day=date(2026, 3, 3)), date(2026, 3, 3))
    gate.made(coarse := town(folder, "coarse", anonymize={"plugin": "atg-joint", "k": 15}), date(2026, 3, 3))
    publish(coarse, date(2026, 3, 3))


def test_an_honest_sequence_of_days_passes(folder: Path) -> None:
    product = town(folder)
    wanted = gate.days(365 if STRESS else 2)
    for number, day in enumerate(wanted):
        gate.write(folder, people(300, day=day, seed=number), day)
        published(product, day)
    assert open_store(product).windows("town") == [day.isoformat() for day in wanted]


def test_products_in_different_stores_are_compared(
    folder: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODANON_DB_URL", database)
    postgis = {"store": "postgis", "url": "${ODANON_DB_URL}"}
    first = published(town(folder, publish=postgis))
    refused(town(folder, "coarse", anonymize={"plugin": "atg-joint", "k": 15}), "nested-difference", first)


def test_a_release_in_the_database_that_this_machine_knows_nothing_of(
    folder: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger tells that it shares input; without its rows there is nothing to prove, so the answer is no."""
    monkeypatch.setenv("ODANON_DB_URL", database)
    postgis = {"store": "postgis", "url": "${ODANON_DB_URL}"}
    first = published(town(folder, publish=postgis))
    shutil.rmtree(folder / "data")
    coarse = town(folder, "coarse", publish=postgis, anonymize={"plugin": "atg-joint", "k": 15})
    refused(coarse, "input-kept", first, like=None)


@pytest.mark.parametrize("lacking", ["parameters", pytest.param("timezone", marks=pytest.mark.thorough)])
def test_a_release_of_which_the_ledger_tells_too_little(folder: Path, lacking: str) -> None:
    """Manifests of other versions or makers: a sentence that names them, not a crash."""
    product = town(folder)
    foreign = bundle(product="town", data_sha256=product.data_sha256)
    del foreign.manifest[lacking]
    open_store(product).publish(foreign, accept)
    refused(town(folder, "coarse", anonymize={"plugin": "atg-joint", "k": 15}), "input-kept", foreign.release_id, None)


def test_a_kept_release_that_does_not_say_how_it_was_made(folder: Path) -> None:
    product = town(folder)
    first = published(product)
    kept = Lake(default_root()).folder("town", "released", DAY) / first / "release.json"
    told = open_store(product).window_folder("town", DAY) / "release.json"
    for path, place in ((kept, ("manifest", "parameters")), (told, ("parameters",))):
        facts = json.loads(path.read_text())
        del reduce(dict.__getitem__, place, facts)["unit"]
        path.write_text(json.dumps(facts))
    refused(town(folder, "coarse", anonymize={"plugin": "atg-joint", "k": 15}), "input-kept", first)


def test_a_kept_release_whose_segments_look_like_two(folder: Path) -> None:
    """An earlier version let values with a slash pass beside a second attribute: a sentence, not a crash."""
    first = published(town(folder, "sexes", {"person": "person", "segment": "sex"}))
    kept = Lake(default_root()).folder("sexes", "released", DAY) / first / "release.json"
    facts = json.loads(kept.read_text())
    facts["manifest"]["segments"] = ["sex", "age"]
    kept.write_text(json.dumps(facts))
    told = open_store(town(folder)).window_folder("sexes", DAY) / "release.json"
    told.write_text(json.dumps(facts["manifest"]))
    refused(town(folder, "coarse"), "input-kept", first, None)


def test_a_release_whose_rows_were_deleted(folder: Path) -> None:
    product = town(folder, retention="30d")
    first = published(product)
    Lake(default_root()).forget("town", product.data_sha256, DAY, "Ada", "the law")
    coarse = town(folder, "coarse", anonymize={"plugin": "atg-joint", "k": 15})
    refused(coarse, "input-kept", first, like=None)


def take_part(product: Product, barrier: Any, outcomes: Any) -> None:
    barrier.wait()
    try:
        publish(product)
        outcomes.put("published")
    except OdanonError as error:
        outcomes.put("refused" if "nested-difference" in str(error) else str(error))


@pytest.mark.parametrize("kind", ["embedded", "postgis"])
def test_two_products_cannot_race_past_each_other(
    folder: Path, kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    target: dict[str, Any] = {"store": kind}
    if kind == "postgis":
        monkeypatch.setenv("ODANON_DB_URL", request.getfixturevalue("database"))
        target["url"] = "${ODANON_DB_URL}"
    products = [
        town(folder, name, publish=target, anonymize={"plugin": "atg-joint", "k": k})
        for name, k in (("ten", 10), ("twelve", 12), ("fifteen", 15))
    ]
    for product, like in zip(products, (None, "ten", "ten"), strict=True):
        gate.made(product, like=like)
    fork = multiprocessing.get_context("fork")
    barrier, outcomes = fork.Barrier(3, timeout=120), fork.Queue()
    workers = [fork.Process(target=take_part, args=(product, barrier, outcomes)) for product in products]
    for worker in workers:
        worker.start()
    assert sorted(outcomes.get(timeout=120) for _ in workers) == ["published", "refused", "refused"]
    for worker in workers:
        worker.join()


def test_a_publication_that_was_cut_off_does_not_stand_in_the_way(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was kept of a release that never became visible goes when its window is published."""
    product = town(folder)
    gate.made(product)
    with monkeypatch.context() as patch:
        patch.setattr("odanon_assets.stores.embedded._write_release", broken)
        with pytest.raises(OSError, match="disk"):
            publish(product)
    gate.write(folder, people().iloc[1:])
    release = published(product)
    kept = Lake(default_root()).folder("town", "released", DAY)
    assert [path.name for path in kept.iterdir()] == [release]


def broken(*_: Any) -> None:
    raise OSError("disk full")


def test_a_release_that_was_shown_but_not_noted_counts_in_every_store(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = town(folder)
    gate.made(first)
    with monkeypatch.context() as cut_off:
        cut_off.setattr(publication, "confirm", _killed)
        with pytest.raises(KeyboardInterrupt):
            publish(first)
    (shown,) = [open_store(first).released("town", DAY)]
    second = town(folder, anonymize={"plugin": "atg-joint", "k": 15})
    gate.made(second, like=None)
    elsewhere, lake = EmbeddedStore(folder / "elsewhere"), Lake(default_root())
    with pytest.raises(OdanonError, match=f"is not published: .*{shown}"):
        publish_day(second, lake, DAY, elsewhere)


def _killed(*_: Any) -> None:
    raise KeyboardInterrupt
