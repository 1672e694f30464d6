"""The embedded store: a folder of Parquet and GeoParquet files that DuckDB queries.

    published/<product>/releases/<release id>/flows.parquet, zones.parquet, weights.parquet, report.html, release.json
    published/<product>/windows/<date>.json      names the release of that window, its status and its history
    audit/<product>/<date>.json                  who did each act of the window, and why; restricted
    audit/<product>/superseded/<release id>/     a release that another took the place of, whole; restricted
    audit/<product>/withdrawn/<release id>.json  the manifest of a release that was taken back; restricted

A release is visible once its window's pointer names it; the pointer is written last and carries the audit entries of
its window, so that a release and its entry appear in one step. What is superseded leaves `published` right after it, so
that whoever reads all files there counts no window twice.
"""

import json
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from odanon.errors import OdanonError
from odanon.model.when import When
from odanon.model.zones import as_told
from odanon.reconstruct.readings import AUTO, EVEN
from odanon.system.scratch import sweep
from odanon_assets.lake.files import (
    locked,
    move_folder,
    new_folder,
    remove_folder,
    sha256,
    to_json,
    write_parquet,
    write_text,
)
from odanon_assets.stores.answers.folders import flow_over, matrix_over, profile_over
from odanon_assets.stores.answers.shapes import crosswalk_over
from odanon_assets.stores.answers.sql import answer
from odanon_assets.stores.bundle import Bundle, check_bundle, check_name
from odanon_assets.stores.duck import session_over
from odanon_assets.stores.history import WHO, Entry, entry_of, key_of, releases_of, standing_of
from odanon_assets.stores.interface import (
    AUDIT_COLUMNS,
    LEDGER_COLUMNS,
    Act,
    Estimate,
    Gate,
    Standing,
    closed,
    ledger_row,
    refusal,
    shares_input,
    starts_near,
    taken_back,
)
from odanon_assets.stores.seal import MANIFEST, TILES, WEIGHTS, Parts, folder_problems, read_parts, sealed_manifest

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from geopandas import GeoDataFrame
    from shapely.geometry.base import BaseGeometry

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class EmbeddedStore:
    """Releases in a folder: no server, readable by DuckDB, Spark and GIS tools as it is."""

    root: Path

    @property
    def address(self) -> str:
        return f"folder {self.root.resolve()}"

    def publish(self, bundle: Bundle, gate: Gate, act: Act | None = None) -> bool:
        check_bundle(bundle)
        product, window, release = bundle.product, bundle.window_start, bundle.release_id
        releases = self._home(product) / "releases"
        sweep(self.root / "published")
        self._retire(product)
        with self._locked(product, window):
            pointer = self._pointer(product, window)
            past = {entry["release_id"] for entry in pointer["history"]}
            self._drop_unnamed(product, window, past)
            current = pointer["release_id"]
            if current == release and self._same(bundle, releases / release):
                return False
            if current is not None and act is None:
                raise refusal(product, window, current)
            if pointer["status"] == "withdrawn" and act is None:
                raise taken_back(product, window)
            if pointer["status"] == "purged" or release in past:
                raise closed(product, window)
            gate()
            with new_folder(releases / release, self.root / "published") as draft:
                _write_release(bundle, draft)
            again = pointer["status"] is not None
            entry = entry_of("supersede" if again else "publish", release, act if again else None)
            self._point(product, window, release, [*pointer["history"], entry])
            self._retire(product)
            return True

    def withdraw(self, product: str, window_start: date, act: Act) -> bool:
        check_name(product)
        sweep(self.root / "published")
        with self._locked(product, window_start):
            pointer = self._pointer(product, window_start)
            showed = pointer["release_id"]
            if showed is not None:
                for release in releases_of(pointer["history"]):
                    self._keep_manifest(product, release)
                entry = entry_of("withdraw", showed, act)
                self._point(product, window_start, None, [*pointer["history"], entry])
            elif pointer["status"] != "withdrawn":
                return False
            return self._drop_withdrawn(product, window_start) or showed is not None

    def purge(self, product: str, window_start: date, act: Act) -> bool:
        check_name(product)
        sweep(self.root / "published")
        with self._locked(product, window_start):
            pointer = self._pointer(product, window_start)
            if pointer["release_id"] is not None:
                entry = entry_of("purge", pointer["release_id"], act)
                self._point(product, window_start, None, [*pointer["history"], entry])
            # Also finishes a purge or withdrawal that was cut off between the pointer and the files.
            past = {entry["release_id"] for entry in pointer["history"]}
            self._drop_unnamed(product, window_start, past)
            self._drop_withdrawn(product, window_start)
            for release in sorted(past):
                for path in self._place(product, release).glob("*"):
                    if path.name != MANIFEST:
                        path.unlink()
            return pointer["release_id"] is not None

    def released(self, product: str, window_start: date) -> str | None:
        return self._pointer(product, window_start)["release_id"]

    def window_folder(self, product: str, window_start: date) -> Path | None:
        """The folder of the release that a window shows, None when it shows none."""
        release = self.released(product, window_start)
        return None if release is None else self._home(product) / "releases" / release

    def windows(self, product: str) -> list[str]:
        return [window for window, standing in self.standings(product).items() if standing == "published"]

    def standings(self, product: str) -> dict[str, Standing]:
        check_name(product)
        told = {window: self._pointer(product, window)["status"] for window in self._windows(product)}
        return {window: status for window, status in told.items() if status is not None}

    def releases(self, product: str | None = None) -> list[Path]:
        """Folders of all visible releases, or those of a product, by product and window."""
        named = self._products() if product is None else [product]
        pointers = [(name, self._pointer(name, window)) for name in named for window in self._windows(name)]
        return [self._home(name) / "releases" / each["release_id"] for name, each in pointers if each["release_id"]]

    def folder(self, release_id: str) -> Path:
        """The folder of a release, visible or superseded."""
        for product in self._products():
            for window in self._windows(product):
                told = releases_of(self._pointer(product, window)["history"]).get(release_id)
                if told == "withdrawn":
                    raise OdanonError(f"the release {release_id} was withdrawn; nothing of it is shown any more")
                if told is not None:
                    return self._place(product, release_id)
        raise OdanonError(f"there is no release {release_id[:100]!r} under {self.root}; `odanon sql` lists them")

    def flows(self, release_id: str) -> pd.DataFrame:
        return self._parts(release_id)[0]

    def zones(self, release_id: str) -> "GeoDataFrame":
        return self._parts(release_id)[1]

    def report(self, release_id: str) -> str:
        return self._parts(release_id)[2]

    def weights(self, release_id: str) -> pd.DataFrame:
        return self._parts(release_id)[3]

    def tiles(self, release_id: str) -> "GeoDataFrame":
        return self._parts(release_id)[4]

    def manifest_text(self, release_id: str) -> str:
        return (self.folder(release_id) / MANIFEST).read_text(encoding="utf-8")

    def problems(self, release_id: str) -> list[str]:
        folder = self.folder(release_id)
        manifest = sha256(folder / MANIFEST)
        for pointer in map(self._read, (self.root / "published").glob("*/windows/*.json")):
            if pointer["release_id"] == release_id and pointer["manifest_sha256"] != manifest:
                return ["the manifest is not the one that the window's pointer names"]
        return folder_problems(folder)

    def ledger(self) -> pd.DataFrame:
        rows = []
        for product in self._products():
            for window in self._windows(product):
                for release, told in releases_of(self._pointer(product, window)["history"]).items():
                    cut_off = told == "purged" and (self._place(product, release) / "flows.parquet").exists()
                    manifest = json.loads(self._manifest(product, release).read_text(encoding="utf-8"))
                    rows.append(ledger_row(manifest, "superseded" if cut_off else told))
        return pd.DataFrame(rows, columns=list(LEDGER_COLUMNS))

    def sharing(self, product: str, data_sha256: str, start: datetime, end: datetime) -> list[dict[str, Any]]:
        found = [
            self._manifest(name, release)
            for name in self._products()
            for day in starts_near(start, end)
            for release in releases_of(self._pointer(name, day)["history"])
        ]
        manifests = [json.loads(path.read_text(encoding="utf-8")) for path in dict.fromkeys(found)]
        return [manifest for manifest in manifests if shares_input(manifest, product, data_sha256, start, end)]

    def audit_log(self) -> pd.DataFrame:
        entries = [
            {**entry, **notes.get(key_of(entry), {}), "product": product, "window_start": window}
            for product in self._products()
            for window in self._windows(product)
            for notes in [self._notes(product, window)]
            for entry in self._pointer(product, window)["history"]
        ]
        entries.sort(key=lambda entry: entry["at"])
        return pd.DataFrame(entries, columns=list(AUDIT_COLUMNS))

    def connect(self) -> "DuckDBPyConnection":
        """A DuckDB session with the views `flows`, `zones`, `weights`, `tiles`, `releases`, `metrics` and `windows` over everything published."""
        return session_over(self.releases(), self._every_window())

    def query(self, sql: str, product: str | None = None, areas: "GeoDataFrame | None" = None) -> pd.DataFrame:
        return self._steady(lambda folders: self._answer(folders, sql, product, areas), product)

    def _answer(self, folders: list[Path], sql: str, product: str | None, areas: "GeoDataFrame | None") -> pd.DataFrame:
        windows = [each for each in self._every_window() if product in (None, each[0])]
        releases: dict[str, list[Path]] = {}
        for folder in folders:
            releases.setdefault(folder.parent.parent.name, []).append(folder)
        return answer(releases, windows, sql, areas)

    def _steady(self, ask: Callable[[list[Path]], _Answer], product: str | None = None) -> _Answer:
        """The answer to a question on the visible releases, asked again if one of them was taken away meanwhile."""
        while True:
            folders = self.releases(product)
            try:
                return ask(folders)
            except Exception:
                if folders == self.releases(product):
                    raise

    def _every_window(self) -> list[tuple[str, str, str, str]]:
        """Product, start and standing of all windows, and the release that each shows or showed last."""
        found = [
            (product, window, pointer["status"], pointer["history"][-1]["release_id"])
            for product in self._products()
            for window in self._windows(product)
            for pointer in [self._pointer(product, window)]
            if pointer["status"] is not None
        ]
        if not found:
            raise OdanonError(
                f"nothing is published under {self.root} yet; `odanon run PRODUCT` publishes there, from a file as docs/product-files.md shows"
            )
        return found

    def flow(
        self,
        product: str,
        origin: "BaseGeometry",
        destination: "BaseGeometry",
        when: When,
        reading: str = AUTO,
        segment: str | None = None,
    ) -> Estimate:
        return self._steady(lambda folders: flow_over(folders, (origin, destination), when, reading, segment), product)

    def matrix(
        self, product: str, areas: "GeoDataFrame", when: When, reading: str = AUTO, segment: str | None = None
    ) -> pd.DataFrame:
        return self._steady(lambda folders: matrix_over(folders, areas.geometry, when, reading, segment), product)

    def profile(
        self,
        product: str,
        origin: "BaseGeometry",
        destination: "BaseGeometry",
        when: When,
        step: timedelta,
        reading: str = AUTO,
        along: str = EVEN,
        segment: str | None = None,
    ) -> pd.DataFrame:
        ends = origin, destination
        return self._steady(lambda folders: profile_over(folders, ends, when, step, reading, along, segment), product)

    def crosswalk(self, product: str, old: str, new: str) -> pd.DataFrame:
        return self._steady(lambda folders: crosswalk_over(folders, old, new), product)

    def _home(self, product: str) -> Path:
        return self.root / "published" / product

    def _products(self) -> list[str]:
        return sorted(path.name for path in (self.root / "published").glob("*") if (path / "windows").is_dir())

    def _pointer(self, product: str, window_start: date | str) -> dict[str, Any]:
        return self._read(self._home(product) / "windows" / f"{window_start}.json")

    def _read(self, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"release_id": None}
        history: list[Entry] = found.get("history", [])
        return {**found, "history": history, "status": standing_of(history)}

    def _windows(self, product: str) -> list[str]:
        return sorted(path.stem for path in (self._home(product) / "windows").glob("*.json"))

    def _parts(self, release_id: str) -> Parts:
        folder = self.folder(release_id)
        if not (folder / "flows.parquet").exists():
            raise OdanonError(f"the release {release_id} was purged; only its manifest is left")
        return read_parts(folder)

    def _manifest(self, product: str, release: str) -> Path:
        """Where the manifest of a release lies; that of a withdrawn one is no longer among what readers see."""
        kept = self._place(product, release) / MANIFEST
        return kept if kept.exists() else self._restricted_manifest(product, release)

    def _place(self, product: str, release: str) -> Path:
        """The folder of a release: among what readers see, or where superseded ones are put away."""
        away = self._restricted(product) / "superseded" / release
        return away if away.is_dir() else self._home(product) / "releases" / release

    def _restricted_manifest(self, product: str, release: str) -> Path:
        return self._restricted(product) / "withdrawn" / f"{release}.json"

    def _notes(self, product: str, window_start: date | str) -> dict[str, dict[str, Any]]:
        """Who did each act of a window, and why: beside what is public, not in it (PRIVACY rule 27)."""
        path = self._notes_path(product, window_start)
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def _notes_path(self, product: str, window_start: date | str) -> Path:
        return self._restricted(product) / f"{window_start}.json"

    def _restricted(self, product: str) -> Path:
        return self.root / "audit" / product

    def _point(self, product: str, window_start: date, release: str | None, history: list[Entry]) -> None:
        """Write who and why first, then the pointer, which makes the act true."""
        fresh = {key_of(entry): {name: entry[name] for name in WHO if name in entry} for entry in history}
        notes = {**self._notes(product, window_start), **{key: note for key, note in fresh.items() if note}}
        (self.root / "audit").mkdir(parents=True, exist_ok=True)
        (self.root / "audit").chmod(0o700)  # not for a web server that shows what is published
        write_text(self._notes_path(product, window_start), to_json(notes))
        acts = [{name: value for name, value in entry.items() if name not in WHO} for entry in history]
        pointer: dict[str, Any] = {"release_id": release, "status": standing_of(history), "history": acts}
        if release is not None:
            pointer["manifest_sha256"] = sha256(self._home(product) / "releases" / release / MANIFEST)
        write_text(self._home(product) / "windows" / f"{window_start}.json", to_json(pointer))

    def _keep_manifest(self, product: str, release: str) -> None:
        """Put a manifest where readers do not see it and the auditor does, before the release goes."""
        text = self._manifest(product, release).read_text(encoding="utf-8")
        write_text(self._restricted_manifest(product, release), text)

    def _drop_withdrawn(self, product: str, window_start: date) -> bool:
        """Delete the folders of what a window's pointer calls withdrawn; whether there was one."""
        told = releases_of(self._pointer(product, window_start)["history"])
        homes = [self._place(product, name) for name, end in told.items() if end == "withdrawn"]
        folders = [folder for folder in homes if folder.is_dir()]
        for folder in folders:
            remove_folder(folder, self.root / "published")
        return bool(folders)

    def _retire(self, product: str) -> None:
        """Take superseded releases out of what readers see: of this act, and of one that was cut off before this step.

        A release that was superseded is never shown again, so this needs no lock.
        """
        names = [folder.name for folder in (self._home(product) / "releases").glob(f"{product}-*")]
        days = Counter(name.removeprefix(f"{product}-")[:8] for name in names)
        for day in sorted(day for day, several in days.items() if several > 1):
            told = releases_of(self._pointer(product, datetime.strptime(day, "%Y%m%d").date())["history"])
            for release in (name for name in names if told.get(name) == "superseded"):
                move_folder(
                    self._home(product) / "releases" / release, self._restricted(product) / "superseded" / release
                )

    def _drop_unnamed(self, product: str, window_start: date, past: set[str]) -> None:
        """Delete releases of a window that no pointer ever named: their publisher was killed right before it."""
        for folder in (self._home(product) / "releases").glob(f"{product}-{window_start:%Y%m%d}-*"):
            if folder.name not in past:
                remove_folder(folder, self.root / "published")

    def _same(self, bundle: Bundle, folder: Path) -> bool:
        """Whether a bundle is what was published: the content decides, not a library's way to write files."""
        published = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return sealed_manifest(bundle, published.get("files", {})) == (folder / MANIFEST).read_text(encoding="utf-8")

    def _locked(self, product: str, window_start: date) -> AbstractContextManager[None]:
        """One publisher per window at a time."""
        return locked(self._home(product) / "locks" / f"{window_start}")


def _write_release(bundle: Bundle, folder: Path) -> None:
    """All files of a release; the manifest, last, names the hashes of the others."""
    write_parquet(bundle.flows, folder / "flows.parquet")
    as_told(bundle.zones).to_parquet(
        folder / "zones.parquet", index=False, compression="zstd", write_covering_bbox=True
    )
    (folder / "report.html").write_text(bundle.report, encoding="utf-8")
    if len(bundle.weights):
        write_parquet(bundle.weights, folder / WEIGHTS)
    if len(bundle.tiles):
        bundle.tiles.to_parquet(folder / TILES, index=False, compression="zstd", write_covering_bbox=True)
    files = {path.name: sha256(path) for path in sorted(folder.iterdir())}
    (folder / MANIFEST).write_text(sealed_manifest(bundle, files), encoding="utf-8")
