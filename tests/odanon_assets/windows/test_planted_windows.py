"""The planted pairs of the privacy page with weeks and months: each release passes alone, and the gate refuses the second.

Only Mondays and Tuesdays have a matrix here, so that a week is two days and a month few.
"""

import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import gate_town as gate
import numpy as np
import pandas as pd
import pytest
from gate_town import DAY, made_window, people, publish, published, town

from odanon.errors import OdanonError
from odanon.product import Product
from odanon_assets.gate.auditing import audit_day
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.publisher.act import publish_day
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.interface import Act

TUESDAY = DAY + timedelta(days=1)
MARCH = date(2026, 3, 1)
FEW = {"weekend": ["wednesday", "thursday", "friday", "saturday", "sunday"]}
FEWER = {"weekend": [*FEW["weekend"], "tuesday"]}
ACT = Act("Ada Auditor", "the antennas were wrong")
COARSE = {"plugin": "atg-joint", "k": 15}


def weekly(folder: Path, name: str = "weekly", columns: dict[str, str] | None = None, **changes: Any) -> Product:
    told = {"od": {"bin": "1h", "days": "working"}, "calendar": FEW, "publish": {"window": "week"}, **changes}
    return town(folder, name, columns, **told)


@pytest.fixture
def folder(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of OD tables with a Monday and a Tuesday of the same people, who do not all travel on both."""
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    for number, day in enumerate((DAY, TUESDAY)):
        rows, rng = people(500, day=day), np.random.default_rng(number)
        gate.write(workspace, rows[rng.random(len(rows)) < 0.7], day)
    return workspace


def refused(product: Product, rule: str, release: str, window: date = DAY, like: str | None = "weekly") -> None:
    """The window is made and verified, and publishing it is refused with a sentence that names rule and release."""
    (made_window if product.publish.window != "day" else gate.made)(product, window, like)
    with pytest.raises(OdanonError, match=rf"{product.product} {window} is not published: .*{rule}[:,] ") as caught:
        publish(product, window)
    assert release in str(caught.value)
    assert not re.search("person [0-9]", str(caught.value))
    assert open_store(product).windows(product.product) == []


def test_two_values_of_k(folder: Path) -> None:
    first = published(weekly(folder))
    refused(weekly(folder, "coarse", anonymize=COARSE), "nested-difference", first)


@pytest.mark.thorough  # as with days: tests/odanon_assets/stores/test_planted_pairs.py
def test_another_algorithm(folder: Path) -> None:
    first = published(weekly(folder))
    refused(weekly(folder, "other", anonymize={"plugin": "odkanon", "k": 10}), "nested-difference", first)


@pytest.mark.thorough  # as with days: tests/odanon_assets/stores/test_planted_pairs.py
def test_total_and_sexes(folder: Path) -> None:
    for day in (DAY, TUESDAY):
        gate.write(folder, people(day=day), day)
    total = published(weekly(folder, anonymize={"plugin": "atg-joint", "k": 12}))
    sexes = weekly(folder, "sexes", {"person": "person", "segment": "sex"})
    refused(sexes, "nested-difference", total, like=None)


def test_a_week_after_one_of_its_days(folder: Path) -> None:
    day = published(town(folder))
    refused(weekly(folder), "base-window", day, like=None)


def test_a_day_after_its_week(folder: Path) -> None:
    week = published(weekly(folder))
    refused(town(folder), "base-window", week, like=None)


@pytest.mark.thorough  # as with days: tests/odanon_assets/stores/test_planted_pairs.py
def test_a_day_after_a_week_that_keeps_its_days_apart(folder: Path) -> None:
    """The same time bins, and nobody can be matched: pseudonyms of a week are other ones than those of a day."""
    week = published(weekly(folder, od={"bin": "1h", "days": "working", "day_types": "weekday"}))
    refused(town(folder), "comparable", week, like=None)


def test_a_week_and_a_day_after_their_month(folder: Path) -> None:
    """Weeks begin elsewhere than months, and yet what they share is found."""
    for day in (DAY + timedelta(weeks=n) for n in range(1, 5)):
        gate.write(folder, people(200, day=day), day)
    mondays = {"calendar": FEWER, "start": "2026-03-01", "publish": {"window": "month"}}
    month = published(weekly(folder, "monthly", **mondays), MARCH)
    last = DAY + timedelta(weeks=4)  # this week ends in April
    refused(weekly(folder, calendar=FEWER), "base-window", month, last, like=None)
    refused(town(folder), "base-window", month, last, like=None)


def test_other_time_bins_of_the_same_week(folder: Path) -> None:
    first = published(weekly(folder))
    apart = weekly(folder, "apart", od={"bin": "1h", "days": "working", "day_types": "weekday"})
    refused(apart, "base-window", first, like="weekly")


def test_a_reissue_of_a_week_without_one_person(folder: Path) -> None:
    """On one day of it, where a subtraction would show that person's trips of the day."""
    product = weekly(folder)
    first = published(product)
    rows = pd.read_parquet(folder / f"{TUESDAY}.parquet")
    gate.write(folder, rows[rows["person"] != rows["person"].iloc[0]], TUESDAY)
    made_window(product)
    with pytest.raises(OdanonError, match="a release is never changed"):
        publish(product)
    with pytest.raises(OdanonError, match="changed-input") as caught:
        publish_day(product, Lake(default_root()), DAY, open_store(product), ACT)
    assert first in str(caught.value)
    assert open_store(product).released("weekly", DAY) == first


@pytest.mark.thorough  # as with days: tests/odanon_assets/stores/test_planted_pairs.py
def test_a_week_whose_rows_were_deleted(folder: Path) -> None:
    product = weekly(folder)
    first = published(product)
    for day in (DAY, TUESDAY):
        Lake(default_root()).forget("weekly", product.data_sha256, day, "Ada", "the law", "week=")
    refused(weekly(folder, "coarse", anonymize=COARSE), "input-kept", first, like=None)
    refused(town(folder), "input-kept", first, like=None)


def test_the_same_week_under_another_name_and_the_next_week_pass(folder: Path) -> None:
    published(weekly(folder))
    again = weekly(folder, "again")
    made_window(again, like="weekly")
    publish(again)
    assert audit_day(again, Lake(default_root()), DAY, open_store(again)) == []
    after = DAY + timedelta(weeks=1)
    for day in (after, after + timedelta(days=1)):
        gate.write(folder, people(300, day=day), day)
    coarse = weekly(folder, "coarse", anonymize=COARSE)
    made_window(coarse, after)
    publish(coarse, after)
