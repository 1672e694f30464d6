"""Days by segment as Dagster shows them: what the published tables hold, and no name of a segment that they do not."""

import threading
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import gate_town as gate
import pandas as pd
import pytest
from dagster import AssetKey, DagsterInstance
from dagster._core.definitions.partitions.utils.base import raise_error_on_invalid_partition_key_substring
from dagster._core.definitions.partitions.utils.multi import INVALID_STATIC_PARTITIONS_KEY_CHARACTERS
from gate_town import people, town
from product_example import small_product

from odanon.product import Product
from odanon_assets.derived.segments import Shown, shown_segments
from odanon_assets.lake.places import default_root
from odanon_assets.platform.build import build_definitions
from odanon_assets.platform.derived_assets import segment_asset, segment_events, segment_key
from odanon_assets.platform.launch import open_instance, run_days
from odanon_assets.stores.choice import open_store

BY_SEX = {"person": "person", "segment": "sex"}
GRID = AssetKey(["town", "by_segment"])
DAYS = gate.days(2)
HERMIT = "hermit-of-the-hill"  # the segment of one person, who is never shown apart
AWKWARD = "M|x, [y]...\n"
HOSTILE = [
    "F", "a|b", "a%7Cb", "a,b", "[a]", "a..b", "a...b", "a....b", "tab\tline\nend\r\0", "\x85", "", " ", "%", "all",
    "female/25-44", "100 %", 'q"uo\'te', "\\N", "é💥", "\u202eevil", "x" * 10_000, "x" * 9_999,
]  # fmt: skip


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """A town by sex, two days of it run through Dagster; on the second the men have an awkward name."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("by-segment")
        places = {"ODANON_ROOT": f"{folder}/data", "ODANON_PRODUCTS": f"{folder}", "DAGSTER_HOME": f"{folder}/home"}
        for name, value in {**gate.SECRET, **places}.items():
            patch.setenv(name, value)
        for day, men in zip(DAYS, ("M", AWKWARD), strict=True):
            rows = people(900, day=day)
            rows["sex"] = rows["sex"].replace("M", men).mask(rows["person"] == rows["person"].iloc[0], HERMIT)
            gate.write(folder, rows, day)
        made = town(folder, columns=BY_SEX)
        assert [result.error for result in run_days(made, DAYS, resume=False)] == ["", ""]
        yield made


@pytest.fixture
def instance(product: Product) -> Iterator[DagsterInstance]:
    with open_instance() as opened:
        yield opened


def grid(instance: DagsterInstance) -> dict[str, dict[str, object]]:
    """The latest figures of every partition."""
    found = {}
    for record in instance.fetch_materializations(GRID, limit=1000, ascending=True).records:
        made = record.asset_materialization
        assert made is not None
        found[str(made.partition)] = {name: value.value for name, value in made.metadata.items()}
    assert set(found) == instance.get_materialized_partitions(GRID)
    return found


def counted(product: Product, day: date) -> dict[str, dict[str, object]]:
    """The same figures as a reader of the published files counts them."""
    release = open_store(product).released("town", day)
    flows, found = pd.read_parquet(default_root() / f"published/town/releases/{release}/flows.parquet"), {}
    for segment in set(flows["segment"]):
        trips = flows.loc[flows["segment"] == segment, "trips"]
        share = trips.sum() / flows["trips"].sum()
        figures = {"flows": len(trips), "trips": trips.sum(), "trips_share": pytest.approx(share, abs=1e-4)}
        found[segment] = {**figures, "release_id": release}
    return found


def test_the_grid_holds_what_each_day_shows_of_each_segment(product: Product, instance: DagsterInstance) -> None:
    first, second = (counted(product, day) for day in DAYS)
    assert (set(first), set(second)) == ({"all", "F", "M"}, {"all", "F", AWKWARD})
    assert grid(instance) == {
        f"{day}|{segment_key(segment)}": figures
        for day, segments in zip(DAYS, (first, second), strict=True)
        for segment, figures in segments.items()
    }
    names = instance.get_dynamic_partitions("town_segments")
    assert sorted(names) == sorted(["all", "F", "M", "M%7Cx%2C %5By%5D%2E..%0A"])


def test_a_segment_that_is_not_shown_is_named_nowhere(product: Product, instance: DagsterInstance) -> None:
    def files_with(name: str) -> set[str]:
        home = Path(instance.root_directory)
        files = [path for top in (home, default_root() / "published") for path in top.rglob("*") if path.is_file()]
        return {path.name for path in files if name.encode() in path.read_bytes()}

    assert files_with(HERMIT) == set()
    assert "index.db" in files_with(segment_key(AWKWARD))  # what is shown is found this way


def test_running_a_day_again_changes_nothing(product: Product, instance: DagsterInstance) -> None:
    before, names = grid(instance), instance.get_dynamic_partitions("town_segments")
    assert [result.error for result in run_days(product, DAYS[1:], resume=False)] == [""]
    assert grid(instance) == before
    assert instance.get_dynamic_partitions("town_segments") == names


def test_segments_that_dagster_missed_are_told_later(
    product: Product, instance: DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was killed between two segments of its first day has recorded one of them."""
    expected = grid(instance)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    store = open_store(product)
    shown = shown_segments(store, str(store.released("town", DAYS[0])))
    with open_instance() as fresh:
        fresh.report_runless_asset_event(next(segment_events(fresh, product, str(DAYS[0]), shown)))
        assert len(grid(fresh)) == 1
        assert all(result.skipped for result in run_days(product, DAYS, resume=True))
        assert grid(fresh) == expected


def test_two_runs_may_add_the_same_name_at_once(
    product: Product, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    open_instance().dispose()
    start, failed = threading.Barrier(2, timeout=120), []

    def add() -> None:
        with open_instance() as mine:
            for number in range(20):
                start.wait()
                try:
                    list(segment_events(mine, product, str(DAYS[0]), Shown("r", {f"new {number}": {"flows": 1}})))
                except Exception as error:
                    failed.append(error)

    threads = [threading.Thread(target=add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_every_label_becomes_a_key_of_its_own_that_dagster_takes(product: Product) -> None:
    keys = [segment_key(label) for label in HOSTILE]
    assert len(set(keys)) == len(HOSTILE)
    assert segment_key("female/25-44") == "female/25-44"
    assert max(map(len, keys)) < 250
    assert all(keys)
    raise_error_on_invalid_partition_key_substring(keys)
    assert not INVALID_STATIC_PARTITIONS_KEY_CHARACTERS & set("".join(keys))
    with DagsterInstance.ephemeral() as instance:
        shown = Shown("r", {label: {"flows": 1} for label in HOSTILE})
        for event in segment_events(instance, product, str(DAYS[0]), shown):
            instance.report_runless_asset_event(event)
        partitions = segment_asset(product).partitions_def
        assert partitions is not None
        valid = partitions.get_partition_keys(dynamic_partitions_store=instance)
        assert instance.get_materialized_partitions(GRID) == {key for key in valid if key.startswith(str(DAYS[0]))}


def test_only_products_with_segments_have_the_grid_and_nobody_can_run_it(product: Product, workspace: Path) -> None:
    graph = build_definitions([product, small_product(workspace)]).resolve_asset_graph()
    assert [key for key in graph.get_all_asset_keys() if key.path[-1] == "by_segment"] == [GRID]
    node = graph.get(GRID)
    assert not node.is_executable
    assert node.parent_keys == {AssetKey(["town", "published"])}
    assert node.tags["access"] == "public"
    assert (node.group_name, node.owners) == ("town", ["team:test-team"])
    assert "protected together" in (node.description or "")
