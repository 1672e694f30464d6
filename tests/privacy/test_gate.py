"""The gate on the files of a day: honest files pass, whatever a bad anonymiser leaves there is refused."""

import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from privacy_city import CITY, people

from odanon import registry
from odanon.anonymizers.files import write_releases
from odanon.anonymizers.matrix import ODMatrix
from odanon.hierarchy.parquet import to_parquet
from odanon.plugin import parameters_of
from odanon_assets.gate import audit_day, day_matrices, verify_day
from odanon_assets.lake import Lake, write_figures

DAY = date(2026, 3, 2)
HOURS = [datetime(2026, 3, 2, hour, tzinfo=UTC) for hour in (8, 9)]


def product(name: str, data: str = "phones") -> Any:
    return SimpleNamespace(
        product=name,
        zone=ZoneInfo("UTC"),
        source=SimpleNamespace(model_dump=lambda mode: {"plugin": data}),
        od=SimpleNamespace(bin=timedelta(hours=1)),
        anonymize=SimpleNamespace(instance=SimpleNamespace(k=10, unit="persons")),
    )


def write_day(lake: Lake, name: str, **promise: Any) -> None:
    """The files of two hours as the pipeline leaves them."""
    parts = {hour: people(600, days=1, seed=seed) for seed, hour in enumerate(HOURS)}
    rows = pd.concat(part.assign(time_bin=pd.Timestamp(hour).as_unit("us")) for hour, part in parts.items())
    plugin = registry.create("anonymize", "atg-joint", promise)
    releases = {
        hour: plugin.anonymize(ODMatrix.from_frame(part, CITY, CITY), CITY, CITY) for hour, part in parts.items()
    }
    with lake.new(name, "od", DAY) as folder:
        rows[["time_bin", "origin", "destination", "person", "trips"]].to_parquet(folder / "person_rows.parquet")
    with lake.new(name, "hierarchy", DAY) as folder:
        to_parquet(CITY, folder / "tree.parquet")
    with lake.new(name, "anonymized", DAY) as folder:
        write_releases(folder, releases, CITY, CITY)
        write_figures(folder, {"parameters": {"algorithm": "atg-joint", **parameters_of(plugin)}})


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    write_day(made, "flows", k=10)
    return made


def change(lake: Lake, table: str, how: Callable[[pd.DataFrame], pd.DataFrame]) -> set[str]:
    """The rules that the gate finds broken after a table was changed."""
    path = lake.read("flows", "anonymized", DAY) / f"{table}.parquet"
    how(pd.read_parquet(path)).to_parquet(path)
    return {finding.rule for finding in verify_day(product("flows"), lake, DAY)}


def test_an_honest_day_passes(lake: Lake) -> None:
    assert verify_day(product("flows"), lake, DAY) == []


def test_a_lost_trip_is_refused(lake: Lake) -> None:
    assert {"volumes", "conservation"} <= change(lake, "flows", lambda t: t.assign(trips=t["trips"] - 1))


def test_a_wrong_number_of_people_is_refused(lake: Lake) -> None:
    assert change(lake, "flows", lambda t: t.assign(persons=t["persons"] + 1)) == {"people"}


def test_a_cell_below_k_is_refused(lake: Lake) -> None:
    figures = lake.figures("flows", "anonymized", DAY)
    figures["parameters"]["k"] = 11  # the files were made with k = 10
    write_figures(lake.read("flows", "anonymized", DAY), figures)
    assert {f.rule for f in verify_day(product("flows"), lake, DAY)} == {"at-least-k"}


def test_overlapping_areas_are_refused(lake: Lake) -> None:
    def everywhere(areas: pd.DataFrame) -> pd.DataFrame:
        whole = [CITY.members(CITY.root)] * len(areas)
        return areas.assign(tiles=whole, n_tiles=CITY.n_leaves)

    assert {"disjoint", "zone-tiles"} <= change(lake, "areas", everywhere)


def test_an_unknown_zone_is_refused(lake: Lake) -> None:
    assert "known-zones" in change(lake, "flows", lambda t: t.assign(origin="elsewhere"))


def test_a_time_bin_left_out_or_made_up_is_refused(lake: Lake) -> None:
    later = pd.Timestamp(HOURS[1]) + pd.Timedelta(hours=5)
    assert "time-bins" in change(lake, "flows", lambda t: t.assign(time_bin=later))
    assert "time-bins" in change(lake, "assignment", lambda t: t[t["time_bin"] == pd.Timestamp(HOURS[0])])


def test_noisy_counts_are_refused(lake: Lake) -> None:
    figures = lake.figures("flows", "anonymized", DAY)
    figures["parameters"]["algorithm"] = "laplace"
    write_figures(lake.read("flows", "anonymized", DAY), figures)
    assert "verifiable" in {f.rule for f in verify_day(product("flows"), lake, DAY)}


def publish(lake: Lake, name: str) -> None:
    with lake.new(name, "published", DAY) as folder:
        write_figures(folder, {"release_id": f"{name}-1"})


def test_two_products_of_one_source_and_day_are_audited_bin_by_bin(lake: Lake) -> None:
    write_day(lake, "coarse", k=15)
    both = [product("flows"), product("coarse")]
    assert [matrix.start for matrix in day_matrices(both[0], lake, DAY, "flows-1")] == HOURS
    assert audit_day(both[1], lake, DAY, "coarse-1", both) == []  # nothing is published yet
    publish(lake, "flows")
    findings = audit_day(both[1], lake, DAY, "coarse-1", both)
    assert {finding.rule for finding in findings} == {"nested-difference"}
    assert all("flows-1" in str(finding) for finding in findings)
    assert audit_day(both[0], lake, DAY, "flows-1", both) == []  # not compared with itself


def test_products_of_other_sources_are_not_compared(lake: Lake) -> None:
    write_day(lake, "coarse", k=15)
    publish(lake, "flows")
    assert audit_day(product("coarse", "bikes"), lake, DAY, "coarse-1", [product("flows")]) == []


def test_a_published_day_whose_input_is_gone_cannot_be_judged(lake: Lake) -> None:
    write_day(lake, "coarse", k=15)
    publish(lake, "flows")
    shutil.rmtree(lake.folder("flows", "od", DAY))
    findings = audit_day(product("coarse"), lake, DAY, "coarse-1", [product("flows")])
    assert {finding.rule for finding in findings} == {"input-kept"}
