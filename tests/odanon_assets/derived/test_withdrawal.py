"""What was made from a release goes with it: nothing that is left gives a purged day back (PRIVACY rule 22)."""

import json
import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from threading import Thread
from typing import Any

import gate_town as gate
import pandas as pd
import pytest
from bundles import accept, bundle, own_zones
from killing import die, killed
from product_example import small_product
from typer.testing import CliRunner

from odanon import cli
from odanon.errors import OdanonError
from odanon.product import Product
from odanon_assets.derived import folders, months
from odanon_assets.derived.export import Format, export
from odanon_assets.derived.exports import datapackage
from odanon_assets.derived.folders import Derived
from odanon_assets.derived.months import make_month, month_folder
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.publisher.act import publish_day
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Act, Store

pytestmark = pytest.mark.stores_in_turn

DAYS = [date(2026, 3, 2), date(2026, 3, 3), date(2026, 3, 4), date(2026, 4, 1)]
GONE = DAYS[1]
MARCH, APRIL = date(2026, 3, 1), date(2026, 4, 1)
WHO = ["--by", "Ada", "--reason", "asked to"]
ACT = Act("Ada", "asked to")
KEYS = ["origin_zone", "destination_zone"]


def called(*arguments: str) -> str:
    result = CliRunner().invoke(cli.main, [*arguments, *WHO], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def purge(day: date = GONE) -> str:
    return called("purge", "town", "--date", str(day))


@pytest.fixture(params=["embedded", "postgis"])
def publish(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Where the product publishes."""
    if request.param == "embedded":
        return {"store": "embedded"}
    monkeypatch.setenv("ODANON_DB_URL", request.getfixturevalue("database"))
    return {"store": "postgis", "url": "${ODANON_DB_URL}"}


@pytest.fixture
def town(workspace: Path, publish: dict[str, Any]) -> tuple[Product, Store]:
    """Three days of March and one of April, published, and both months."""
    product = small_product(workspace / "pipelines", product="town", publish={**publish, "retention": "30d"})
    store = open_store(product)
    for number, day in enumerate(DAYS):
        store.publish(bundle(trips=40 + 100 * number, day=day, rows=9), accept)
    for month in (MARCH, APRIL):
        make_month(product, month, store)
    return product, store


def volumes(flows: pd.DataFrame) -> pd.Series:
    return flows.groupby(KEYS)["trips"].sum()


def restored(store: Store, month: Path, day: date = GONE) -> int:
    """Flows of a purged day that a month gives back when the days that are left are subtracted."""
    if not (month / "flows.parquet").exists():
        return 0
    hidden = volumes(bundle(trips=40 + 100 * DAYS.index(day), day=day, rows=9).flows)
    left = [store.released("town", other) for other in DAYS[:3]]
    shown = [volumes(store.flows(release)) for release in left if release is not None]
    found = volumes(pd.read_parquet(month / "flows.parquet")).sub(sum(shown[1:], shown[0]), fill_value=0)
    return int((found.reindex(hidden.index) == hidden).sum())


def tables(root: Path) -> list[Path]:
    """Every file under a root that holds flows of the purged day, or sums of them."""
    return [path for path in root.rglob("*") if path.suffix in (".parquet", ".csv", ".gpkg") and _holds(path)]


def _holds(path: Path) -> bool:
    if path.suffix != ".parquet" or "zones" in path.name:
        return path.suffix != ".parquet"
    flows = pd.read_parquet(path)
    return "window_start" not in flows or GONE in set(flows["window_start"])


def test_a_purged_day_cannot_be_subtracted_from_its_month(town: tuple[Product, Store]) -> None:
    product, store = town
    month, other = month_folder(product, MARCH), month_folder(product, APRIL)
    kept = {path.name: path.read_bytes() for path in other.iterdir()}
    store_before = [store.released("town", day) for day in DAYS]
    assert purge() == "1 windows purged\n"
    assert [store.released("town", day) is None for day in DAYS] == [False, True, False, False]
    assert restored(store, month) == 0
    assert not month.exists()  # with its typical day
    assert {path.name: path.read_bytes() for path in other.iterdir()} == kept
    assert [path for path in tables(default_root()) if "month=2026-04" not in path.parts] == []
    make_month(product, MARCH, store)  # from what remains
    assert restored(store, month) == 0
    record = json.loads((month / "figures.json").read_text())
    assert record["releases"] == [store_before[0], store_before[2]]
    purge(DAYS[0])
    assert not month.exists()


def test_the_attack_of_this_test_finds_what_a_stale_month_gives_away(town: tuple[Product, Store]) -> None:
    product, store = town
    store.purge("town", GONE, ACT)
    month = month_folder(product, MARCH)
    assert restored(store, month) == 9
    purge(APRIL)  # any purge looks for months whose days went by another way
    assert restored(store, month) == 0


def test_retention_reaches_months(town: tuple[Product, Store]) -> None:
    product, _ = town
    assert called("purge", "town", "--expired") == "4 windows purged\n"
    assert not month_folder(product, MARCH).exists()
    assert not month_folder(product, APRIL).exists()
    assert tables(default_root()) == []


def test_exports_go_and_what_others_put_beside_them_stays(town: tuple[Product, Store], tmp_path: Path) -> None:
    _, store = town
    some = [Format.csv, Format.geoparquet]
    for name, first, formats in (
        ("all", None, list(Format)),
        ("april", APRIL, some),
        ("moved", None, some),
        ("used", None, some),
    ):
        export(store, "town", tmp_path / name, formats, first, None, own_zones() if formats is not some else None)
    (tmp_path / "moved").rename(tmp_path / "elsewhere")
    (tmp_path / "used" / "mine.txt").write_text("notes")
    (tmp_path / "used" / "flows.csv").write_text("my own table now")
    purge()
    assert not (tmp_path / "all").exists()
    assert (tmp_path / "april" / "flows.parquet").exists()
    assert sorted(path.name for path in (tmp_path / "used").iterdir()) == ["flows.csv", "mine.txt"]
    assert (tmp_path / "elsewhere").exists()  # nobody knows of it any more
    purge(APRIL)
    assert not (tmp_path / "april").exists()


def test_an_export_that_cannot_be_deleted_stops_the_purge(
    town: tuple[Product, Store], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, store = town
    export(store, "town", tmp_path / "out", [Format.csv], None, None)

    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    with monkeypatch.context() as patch:
        patch.setattr(folders, "remove_files", refuse)
        with pytest.raises(OdanonError, match="was exported and cannot be deleted"):
            purge()
    assert store.released("town", GONE) is not None
    purge()
    assert store.released("town", GONE) is None
    assert not (tmp_path / "out").exists()


def test_any_folder_is_reached_by_the_releases_that_it_names(town: tuple[Product, Store]) -> None:
    """Also one of another product, and one that does not say what it was made from."""
    _, store = town
    derived = Derived(default_root())
    shown = {day: str(store.released("town", day)) for day in DAYS}
    for name, days in (("demand=week", DAYS[:3]), ("window=april", DAYS[3:])):
        with derived.new(store, "town", name, {day: shown[day] for day in days}) as folder:
            (folder / "figures.json").write_text(json.dumps({"releases": [shown[day] for day in days]}))
    for product, record in (("joint", {"releases": [shown[GONE]]}), ("town", {}), ("strange", {})):
        folder = derived.folder(product, "unknown")
        folder.mkdir(parents=True)
        (folder / "figures.json").write_text(json.dumps(record))
    purge()
    left = sorted(str(path.relative_to(default_root() / "derived")) for path in derived._folders())
    assert left == ["strange/unknown", "town/month=2026-04", "town/window=april"]


@pytest.mark.parametrize("kind", ["month", "export"])
def test_what_a_killed_maker_left_is_swept(
    town: tuple[Product, Store], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    product, store = town
    out = tmp_path / "out" / "town"
    work: dict[str, Callable[[], Any]] = {
        "month": lambda: make_month(product, MARCH, store),
        "export": lambda: export(store, "town", out, list(Format), None, None, own_zones()),
    }
    with monkeypatch.context() as patch:
        patch.setattr(folders, "_refuse_withdrawn", die)  # all is written, nothing has appeared
        killed(work[kind])
    home = default_root() / "derived" if kind == "month" else out.parent
    assert list(home.glob(".odanon-*/draft/flows.parquet"))
    purge()
    assert list(home.glob(".odanon-*")) == []
    assert tables(out.parent) == []


def test_a_purge_that_is_killed_between_its_steps_leaves_nothing_to_subtract(
    town: tuple[Product, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the store changes the month is gone; the day is there or not, and the next purge finishes."""
    product, store = town
    month = month_folder(product, MARCH)
    for owner, name in ((folders, "remove_folder"), (os, "fsync"), (type(store), "purge")):
        assert month.exists() is (owner is not type(store))
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, die)
            killed(purge)
        assert store.released("town", GONE) is not None  # nothing is purged as long as anything made from it is there
    purge()
    assert store.released("town", GONE) is None
    assert not month.exists()
    assert [path for path in tables(default_root()) if "month=2026-04" not in path.parts] == []


def test_the_files_of_a_killed_purge_are_deleted_by_the_next_of_any_day(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_product(workspace / "pipelines", product="town")
    store = EmbeddedStore(default_root())
    for day in DAYS:
        store.publish(bundle(day=day, rows=9), accept)
    release = str(store.released("town", GONE))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", _die_at_tables)
        killed(purge)
    assert store.released("town", GONE) is None
    assert (store.folder(release) / "flows.parquet").exists()
    assert purge(DAYS[0]) == "1 windows purged\n"
    assert [path.name for path in store.folder(release).iterdir()] == ["release.json"]


def _die_at_tables(path: Path, *, missing_ok: bool = False) -> None:
    if path.parent.parent.name == "releases":
        die()
    if path.exists() or not missing_ok:
        os.unlink(path)


def test_nothing_is_made_from_a_day_that_is_purged_meanwhile(
    town: tuple[Product, Store], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    product, store = town
    for module, name, day in ((months, "write_figures", GONE), (datapackage, "described", DAYS[0])):
        monkeypatch.setattr(module, name, _purging_first(day, getattr(module, name)))
    with pytest.raises(OdanonError, match=f"{GONE} was taken away or replaced meanwhile"):
        make_month(product, MARCH, store)
    with pytest.raises(OdanonError, match=f"{DAYS[0]} was taken away or replaced meanwhile"):
        export(store, "town", tmp_path / "out", [Format.csv], None, None)
    assert not month_folder(product, MARCH).exists()
    assert list(tmp_path.rglob("flows.csv")) == []


def _purging_first(day: date, real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        purge(day)
        return real(*arguments)

    return call


def test_a_month_is_made_again_from_what_replaces_a_day(
    workspace: Path, publish: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The month of this product is one day long, so that it is complete."""
    day = date(2026, 3, 31)
    for name, value in gate.SECRET.items():
        monkeypatch.setenv(name, value)
    rows, newcomers = gate.people(day=day), gate.people(day=day, seed=5)
    gate.write(workspace, rows, day)
    uniform = {"plugin": "uniform", "k": 10, "level": 6, "suppression": 0.5}
    place = {"file_in": workspace / "pipelines", "start": str(day), "publish": publish}
    product = gate.town(workspace, anonymize=uniform, **place)
    first = gate.published(product, day)
    store = open_store(product)
    make_month(product, MARCH, store)
    export(store, "town", tmp_path / "out", list(Format), None, None, own_zones())
    act = ("supersede", "town", "--date", str(day))
    gate.write(workspace, rows.iloc[1:], day)
    gate.made(product, day)
    with pytest.raises(OdanonError, match="the auditor says no"):
        called(*act)
    assert folders.made_from(month_folder(product, MARCH)) == [first]  # refused: all stays
    assert (tmp_path / "out" / "flows.csv").exists()
    gate.write(workspace, pd.concat([rows, newcomers.assign(person="new " + newcomers["person"])]), day)
    gate.made(product, day)
    with monkeypatch.context() as patch:
        patch.setattr(type(store), "publish", _publish_then_die(type(store).publish))
        killed(lambda: publish_day(product, Lake(default_root()), day, store, ACT))
    second = str(store.released("town", day))
    assert second != first
    assert not month_folder(product, MARCH).exists()
    assert not (tmp_path / "out").exists()
    called(*act)
    assert folders.made_from(month_folder(product, MARCH)) == [second]


def _publish_then_die(real: Callable[..., bool]) -> Callable[..., None]:
    def publish(*arguments: Any) -> None:
        real(*arguments)
        die()

    return publish


def test_a_run_withdraws_what_another_machine_has_made_stale(
    workspace: Path, publish: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from odanon_assets.platform.launch import run_days

    tiny = {"plugin": "simulated", "people": 80, "seed": 3, "radius_km": 3}
    product = small_product(workspace / "pipelines", publish=publish, source=tiny)
    (done,) = run_days(product, [DAYS[0]], resume=False)
    assert done.error == ""
    store = open_store(product)
    make_month(product, MARCH, store)
    store.purge("small", DAYS[0], ACT)
    (done,) = run_days(product, [GONE], resume=False)
    assert done.error == ""
    assert not month_folder(product, MARCH).exists()


def test_the_month_names_no_place_of_this_machine(town: tuple[Product, Store], workspace: Path) -> None:
    product, _ = town
    assert str(workspace) not in (month_folder(product, MARCH) / "figures.json").read_text()


def test_a_month_that_is_made_while_a_day_is_purged_waits_and_then_does_not_appear(
    town: tuple[Product, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    product, store = town
    failed: list[OdanonError] = []

    def make() -> None:
        try:
            make_month(product, MARCH, open_store(product))
        except OdanonError as error:
            failed.append(error)

    other, real = Thread(target=make), type(store).purge

    def meanwhile(*arguments: Any) -> bool:
        other.start()
        other.join(timeout=2)  # without the lock it is done by then
        return real(*arguments)

    monkeypatch.setattr(type(store), "purge", meanwhile)
    assert Derived(default_root()).purge(store, "town", GONE, ACT)
    other.join()
    assert restored(store, month_folder(product, MARCH)) == 0
    assert len(failed) == 1
