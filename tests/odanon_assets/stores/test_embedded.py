"""The embedded store's own matters: its files."""

import contextlib
import errno
import getpass
import json
import os
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from bundles import DAY, accept, bundle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from killing import die, killed

from odanon.errors import OdanonError
from odanon_assets.lake.files import to_json
from odanon_assets.stores import embedded
from odanon_assets.stores.embedded import EmbeddedStore
from odanon_assets.stores.interface import Act
from odanon_assets.stores.seal import SEAL, folder_problems, seal_of

ACT = Act("Ada", "test")
STEP = 1 if os.environ.get("ODANON_STRESS") else 3  # of the calls that fail in turn


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_publishing_again_leaves_every_byte(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    store.publish(bundle(), accept)
    before = files(tmp_path)
    assert store.publish(bundle(), accept) is False
    assert files(tmp_path) == before


def test_who_acts_and_why_is_not_in_public_files(tmp_path: Path) -> None:
    store, act = EmbeddedStore(tmp_path), Act("Erika Mustermann", "a complaint of the courier")
    store.publish(bundle(), accept)
    store.publish(bundle(rows=7), accept, act)
    store.purge("town", DAY, act)
    public = b"".join(files(tmp_path / "published").values())
    for told in (act.by_name, act.reason, getpass.getuser(), str(tmp_path)):
        assert told.encode() not in public
    log = store.audit_log()
    assert log["act"].tolist() == ["publish", "supersede", "purge"]
    assert log["by_name"].tolist()[1:] == [act.by_name] * 2
    assert log["reason"].tolist()[1:] == [act.reason] * 2


def test_a_pointer_of_an_earlier_version_keeps_its_log_and_loses_the_names(tmp_path: Path) -> None:
    store, act = EmbeddedStore(tmp_path), Act("Erika Mustermann", "a complaint")
    store.publish(bundle(), accept)
    (path,) = (tmp_path / "published").rglob("windows/*.json")
    pointer = json.loads(path.read_text())
    pointer["history"][0] |= {"by_name": "Max", "reason": "because", "user": "root"}
    path.write_text(to_json(pointer))
    shutil.rmtree(tmp_path / "audit")
    assert store.audit_log()["by_name"].tolist() == ["Max"]
    store.purge("town", DAY, act)
    assert store.audit_log()["by_name"].tolist() == ["Max", "Erika Mustermann"]
    assert "Max" not in path.read_text()


def test_two_stores_hold_the_same_bytes(tmp_path: Path) -> None:
    folders = []
    for name in ("a", "b"):
        store = EmbeddedStore(tmp_path / name)
        store.publish(bundle(rows=50), accept)
        folders.append(store.window_folder("town", DAY))
    assert files(folders[0]) == files(folders[1])  # type: ignore[arg-type]


def failing_at(number: int, counter: list[int], real: Callable[..., Any]) -> Callable[..., Any]:
    """The call that finds the disk full."""

    def call(*arguments: Any, **options: Any) -> Any:
        counter[0] += 1
        if counter[0] == number:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*arguments, **options)

    return call


def test_a_full_disk_at_any_call_shows_the_old_or_the_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call that reaches the file system fails once; what is visible is whole, and a retry publishes."""
    for number in range(1, 200, STEP):
        store, counter = EmbeddedStore(tmp_path / str(number)), [0]
        with monkeypatch.context() as patch:
            for name in ("fsync", "replace", "mkdir", "chmod", "open"):
                patch.setattr(os, name, failing_at(number, counter, getattr(os, name)))
            patch.setattr(Path, "write_text", failing_at(number, counter, Path.write_text))
            failed = False
            try:
                store.publish(bundle(), accept)
            except OSError:
                failed = True
        released = store.released("town", DAY)
        if released is not None:
            assert store.problems(released) == []
        assert store.publish(bundle(), accept) is (released is None)
        assert store.problems(bundle().release_id) == []
        assert list((store.root / "published").rglob(".*")) == []
        if counter[0] < number:
            assert not failed
            break
    assert number > 10


def test_a_full_disk_at_any_call_of_a_withdrawal_shows_the_release_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every call that reaches the file system fails once; the same command finishes, and no public file is left."""
    made = bundle()
    for number in range(1, 100, STEP):
        store, counter = EmbeddedStore(tmp_path / str(number)), [0]
        store.publish(made, accept)
        with monkeypatch.context() as patch:
            for name in ("fsync", "replace", "mkdir", "chmod", "open", "unlink", "rmdir"):
                patch.setattr(os, name, failing_at(number, counter, getattr(os, name)))
            with contextlib.suppress(OSError):
                store.withdraw("town", DAY, ACT)
        shown = store.released("town", DAY) is not None
        assert store.standings("town") == {str(DAY): "published" if shown else "withdrawn"}
        if shown:
            assert store.problems(made.release_id) == []
        store.withdraw("town", DAY, ACT)
        assert store.windows("town") == []
        public = [path for path in (store.root / "published").rglob("*") if path.is_file()]
        assert {path.parent.name for path in public} == {"windows", "locks"}
        assert store.audit_log()["act"].tolist() == ["publish", "withdraw"]
        if counter[0] < number:
            break
    assert number > 8


def test_readers_of_the_files_see_that_a_window_was_withdrawn_and_no_number_of_it(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    store.publish(bundle(), accept)
    store.withdraw("town", DAY, ACT)
    (pointer,) = (tmp_path / "published" / "town" / "windows").iterdir()
    told = json.loads(pointer.read_text())
    assert (told["release_id"], told["status"]) == (None, "withdrawn")
    assert not list((tmp_path / "published").rglob("release.json"))  # its figures are numbers too


def public_tables(root: Path) -> list[str]:
    return [path.parent.name for path in (root / "published").rglob("flows.parquet")]


@pytest.mark.parametrize("act", ["none", "purge", "withdraw"])
def test_what_was_superseded_is_not_among_the_files_of_readers(tmp_path: Path, act: str) -> None:
    """Whoever reads all tables there counts a window once, and an old address shows nothing; the publisher keeps it."""
    store, old, new = EmbeddedStore(tmp_path), bundle(), bundle(trips=41)
    store.publish(old, accept)
    store.publish(new, accept, ACT)
    assert public_tables(tmp_path) == [new.release_id]
    assert old.release_id not in {path.name for path in (tmp_path / "published").rglob("*")}
    assert (tmp_path / "audit").stat().st_mode & 0o077 == 0
    assert len(store.flows(old.release_id)) == len(old.flows)
    if act == "none":
        return
    (store.purge if act == "purge" else store.withdraw)("town", DAY, ACT)
    assert not list(tmp_path.rglob("*.parquet"))  # nowhere
    assert store.ledger()["release_id"].tolist() == [old.release_id, new.release_id]


def test_a_supersede_that_is_killed_before_the_old_files_go_is_finished_by_the_next_publication(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, old, new, other = EmbeddedStore(tmp_path), bundle(), bundle(trips=41), bundle(day=date(2026, 3, 9))
    store.publish(old, accept)
    with monkeypatch.context() as patch:
        patch.setattr(embedded, "move_folder", die)
        killed(lambda: store.publish(new, accept, ACT))
    assert store.released("town", DAY) == new.release_id
    assert sorted(public_tables(tmp_path)) == sorted([old.release_id, new.release_id])
    store.publish(other, accept)
    assert sorted(public_tables(tmp_path)) == sorted([new.release_id, other.release_id])
    assert store.problems(old.release_id) == []


def test_a_question_during_a_supersede_is_answered_by_the_new_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, old, new = EmbeddedStore(tmp_path), bundle(), bundle(trips=41)
    store.publish(old, accept)
    listed, times = EmbeddedStore.releases, []

    def listed_before(self: EmbeddedStore, product: str | None = None) -> list[Path]:
        found = listed(self, product)
        if not times:
            times.append(store.publish(new, accept, ACT))
        return found

    monkeypatch.setattr(EmbeddedStore, "releases", listed_before)
    assert store.query("select distinct release_id from flows")["release_id"].tolist() == [new.release_id]
    with pytest.raises(OdanonError, match="DuckDB does not accept"):
        store.query("select no_such_column from flows")


def test_a_killed_publisher_leaves_a_draft_that_the_next_one_clears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = EmbeddedStore(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(embedded, "sealed_manifest", die)
        killed(lambda: store.publish(bundle(), accept))
    assert len(list((tmp_path / "published").glob(".odanon-*/draft/flows.parquet"))) == 1
    store.publish(bundle(day=date(2026, 3, 9)), accept)
    assert list((tmp_path / "published").rglob(".*")) == []


@pytest.mark.parametrize("act", ["publish", "purge"])
def test_a_release_that_no_pointer_names_does_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    """Its publisher was killed right before the pointer."""
    store, home = EmbeddedStore(tmp_path), tmp_path / "published" / "town" / "releases"
    with monkeypatch.context() as patch:
        patch.setattr(EmbeddedStore, "_point", die)
        killed(lambda: store.publish(bundle(), accept))
    assert [path.name for path in home.iterdir()] == [bundle().release_id]
    if act == "purge":
        store.purge("town", DAY, Act("Ada", "asked to"))
        assert list(home.iterdir()) == []
    else:
        store.publish(bundle(trips=41), accept)
        assert [path.name for path in home.iterdir()] == [bundle(trips=41).release_id]


def test_an_empty_store_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(OdanonError, match="odanon run PRODUCT"):
        EmbeddedStore(tmp_path).connect()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = EmbeddedStore(tmp_path_factory.mktemp("store"))
    store.publish(bundle(rows=30), accept)
    return store.window_folder("town", DAY)  # type: ignore[return-value]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_one_changed_byte_anywhere_fails(folder: Path, data: st.DataObject) -> None:
    assert folder_problems(folder) == []
    path = data.draw(st.sampled_from(sorted(folder.iterdir())))
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.integers(1, 255))
    try:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ other]) + whole[at + 1 :])
        assert folder_problems(folder) != []
    finally:
        path.write_bytes(whole)


def test_a_manifest_that_was_sealed_anew_is_found_by_the_pointer(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    store.publish(bundle(), accept)
    folder = store.folder(bundle().release_id)
    forged = json.loads((folder / "release.json").read_text()) | {"verifier": "forged"}
    (folder / "release.json").write_text(to_json({**forged, SEAL: seal_of(forged)}))
    assert folder_problems(folder) == []
    assert store.problems(bundle().release_id) == ["the manifest is not the one that the window's pointer names"]


def test_missing_added_and_swapped_files_fail(folder: Path, tmp_path: Path) -> None:
    stranger = folder / "extra.csv"
    stranger.write_text("a")
    assert folder_problems(folder) == ["extra.csv is not part of the release"]
    stranger.unlink()
    report = (folder / "report.html").rename(tmp_path / "report.html")
    assert folder_problems(folder) == ["report.html is missing"]
    report.rename(folder / "report.html")
    with pytest.raises(OdanonError, match="give the folder of a release"):
        folder_problems(tmp_path)


def test_queries_of_the_embedded_store_see_no_other_file(workspace: Path) -> None:
    store = EmbeddedStore(workspace)
    store.publish(bundle(), accept)
    secret = workspace / "secret.csv"
    secret.write_text("person\nAlice\n")
    rows = pd.DataFrame({"person": ["Alice"]})
    assert len(rows) == 1
    for statement in (
        f"select * from read_csv('{secret}')",
        f"select * from '{secret}'",
        f"select * from read_text('{secret}')",
        f"select * from glob('{workspace}/*')",
        "select * from rows",  # a variable of the caller
        f"copy flows to '{workspace}/copied.csv'",
        f"attach '{workspace}/other.db'",
        "set enable_external_access = true",
        "install spatial",
    ):
        with pytest.raises(OdanonError):
            store.query(statement)
    assert not (workspace / "copied.csv").exists()
