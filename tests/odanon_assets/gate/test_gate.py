"""The gate on the files of a day: honest files pass, whatever a bad anonymiser leaves there is refused."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from privacy_city import CITY, people

from odanon import registry
from odanon.anonymizers.segments import split_by_segment
from odanon.model.files.releases import write_releases
from odanon.model.files.trees import to_parquet
from odanon.model.matrix import ODMatrix
from odanon.plugin import parameters_of
from odanon_assets.gate.verification import verify_day
from odanon_assets.lake.lake import Lake, write_figures

DAY = date(2026, 3, 2)
HOURS = [datetime(2026, 3, 2, hour, tzinfo=UTC) for hour in (8, 9)]


def product(name: str, segmented: tuple[str, ...] = ()) -> Any:
    return SimpleNamespace(
        product=name, segmented=segmented, publish=SimpleNamespace(window="day"), od=SimpleNamespace(time="fixed")
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


SPLIT = ["time_bin", "segment", "origin", "destination", "kind", "trips", "persons"]


@pytest.fixture
def by_sex(lake: Lake) -> Any:
    """The same day with its flows split by sex where that is safe."""
    made = product("flows", segmented=("sex",))
    plugin = registry.create("anonymize", "atg-joint", {"k": 10})
    path = lake.read("flows", "od", DAY) / "person_rows.parquet"
    rows = pd.read_parquet(path)
    rows["segment"] = pd.Series(np.where(rows["person"] % 2, "F", "M"), dtype="str").to_numpy()
    rows.to_parquet(path)
    parts = []
    for hour in HOURS:
        here = rows[rows["time_bin"] == pd.Timestamp(hour)]
        whole = plugin.anonymize(ODMatrix.from_frame(here, CITY, CITY), CITY, CITY)
        matrices = {sex: ODMatrix.from_frame(part, CITY, CITY) for sex, part in here.groupby("segment")}
        for sex, release in split_by_segment(whole, matrices, plugin, CITY, CITY).items():
            if sex != "all":
                parts.append(release.flows.assign(time_bin=pd.Timestamp(hour).as_unit("us"), segment=sex))
    split = pd.concat(parts).astype({"origin": "str", "destination": "str", "segment": "str"})
    assert len(split) > 10
    split[SPLIT].to_parquet(lake.read("flows", "anonymized", DAY) / "segments.parquet", index=False)
    return made


def change_split(lake: Lake, by_sex: Any, how: Callable[[pd.DataFrame], pd.DataFrame]) -> set[str]:
    path = lake.read("flows", "anonymized", DAY) / "segments.parquet"
    how(pd.read_parquet(path)).to_parquet(path)
    return {finding.rule for finding in verify_day(by_sex, lake, DAY)}


def test_an_honest_day_by_segments_passes(lake: Lake, by_sex: Any) -> None:
    assert verify_day(by_sex, lake, DAY) == []


def test_a_wrong_share_of_a_segment_is_refused(lake: Lake, by_sex: Any) -> None:
    assert {"volumes", "conservation"} <= change_split(lake, by_sex, lambda t: t.assign(trips=t["trips"] + 1))


def test_a_split_flow_without_one_of_its_segments_is_refused(lake: Lake, by_sex: Any) -> None:
    assert "segments" in change_split(lake, by_sex, lambda t: t.iloc[1:])


def test_a_split_flow_that_everybody_does_not_have_is_refused(lake: Lake, by_sex: Any) -> None:
    def stray(table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(destination=["elsewhere", *table["destination"].iloc[1:]])

    assert "segments" in change_split(lake, by_sex, stray)


def test_a_split_flow_in_a_time_bin_without_input_is_refused(lake: Lake, by_sex: Any) -> None:
    later = pd.Timestamp(HOURS[1]) + pd.Timedelta(hours=5)
    assert "time-bins" in change_split(lake, by_sex, lambda t: pd.concat([t, t.iloc[:2].assign(time_bin=later)]))


def test_a_segment_below_k_is_refused(lake: Lake, by_sex: Any) -> None:
    """A flow of k people that is shown by sex although one sex has fewer."""
    folder = lake.read("flows", "anonymized", DAY)
    rows = pd.read_parquet(lake.read("flows", "od", DAY) / "person_rows.parquet")
    flows, split = pd.read_parquet(folder / "flows.parquet"), pd.read_parquet(folder / "segments.parquet")
    keys = ["time_bin", "origin", "destination"]
    whole = flows.merge(split[keys], how="left", indicator=True).query("_merge == 'left_only'")
    listed = pd.read_parquet(folder / "areas.parquet").set_index(["time_bin", "side", "area"])["tiles"]

    def shown_by_sex(flow: Any) -> pd.DataFrame:
        inside = rows["time_bin"] == flow.time_bin
        for side in ("origin", "destination"):
            inside &= rows[side].isin(list(listed.loc[(flow.time_bin, side, getattr(flow, side))]))
        counted = rows[inside].groupby("segment").agg(trips=("trips", "sum"), persons=("person", "nunique"))
        return counted.reset_index().assign(**{name: getattr(flow, name) for name in [*keys, "kind"]})[SPLIT]

    added = shown_by_sex(next(whole.itertuples()))
    assert added["persons"].min() < 10
    assert change_split(lake, by_sex, lambda t: pd.concat([t, added])) == {"at-least-k"}
