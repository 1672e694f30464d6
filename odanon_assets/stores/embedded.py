"""The embedded store: a folder of Parquet and GeoParquet files that DuckDB queries (CONVENTIONS).

    published/<product>/releases/<release id>/flows.parquet, zones.parquet, report.html, release.json
    published/<product>/windows/<date>.json      names the release of that window and its history
    audit/<product>/<date>.json                  who did each act of the window, and why; restricted

A release is visible once its window's pointer names it; the pointer is written last and carries the audit entries of
its window, so that a release and its entry appear in one step.
"""

import getpass
import json
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from odanon.errors import OdanonError
from odanon.scratch import sweep
from odanon_assets.lake.files import locked, new_folder, remove_folder, sha256, to_json, write_parquet, write_text
from odanon_assets.stores.bundle import Bundle, check_bundle, check_name
from odanon_assets.stores.duck import answer, crosswalk_over, matrix_over, session_over
from odanon_assets.stores.interface import (
    AUDIT_COLUMNS,
    LEDGER_COLUMNS,
    Act,
    Gate,
    closed,
    days_near,
    ledger_row,
    refusal,
    shares_input,
)
from odanon_assets.stores.seal import MANIFEST, folder_problems, read_parts, sealed_manifest

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from geopandas import GeoDataFrame
    from shapely.geometry.base import BaseGeometry

_WHO = ("by_name", "reason", "user")  # of an act, for the publisher alone


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
        with self._locked(product, window):
            pointer = self._pointer(product, window)
            past = {entry["release_id"] for entry in pointer["history"]}
            self._drop_unnamed(product, window, past)
            current = pointer["release_id"]
            if current == release and self._same(bundle, releases / release):
                return False
            if current is not None and act is None:
                raise refusal(product, window, current)
            if pointer["purged"] or release in past:
                raise closed(product, window)
            gate()
            with new_folder(releases / release, self.root / "published") as draft:
                _write_release(bundle, draft)
            entry = _entry("publish" if current is None else "supersede", release, act if current else None)
            self._point(product, window, release, [*pointer["history"], entry])
            return True

    def purge(self, product: str, window_start: date, act: Act) -> bool:
        check_name(product)
        sweep(self.root / "published")
        with self._locked(product, window_start):
            pointer = self._pointer(product, window_start)
            if pointer["release_id"] is not None:
                entry = _entry("purge", pointer["release_id"], act)
                self._point(product, window_start, None, [*pointer["history"], entry])
            # Also finishes a purge that was cut off between the pointer and the files.
            past = {entry["release_id"] for entry in pointer["history"]}
            self._drop_unnamed(product, window_start, past)
            for release in sorted(past):
                for path in (self._home(product) / "releases" / release).glob("*"):
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
        check_name(product)
        return [window for window, _ in self._visible(product)]

    def releases(self) -> list[Path]:
        """Folders of all visible releases, by product and window."""
        return [folder for product in self._products() for _, folder in self._visible(product)]

    def folder(self, release_id: str) -> Path:
        """The folder of a release, visible or superseded."""
        for product in self._products():
            folder = self._home(product) / "releases" / release_id
            if release_id in {entry["release_id"] for _, entry in self._history(product)}:
                return folder
        raise OdanonError(f"there is no release {release_id[:100]!r} under {self.root}; `odanon sql` lists them")

    def flows(self, release_id: str) -> pd.DataFrame:
        return self._parts(release_id)[0]

    def zones(self, release_id: str) -> "GeoDataFrame":
        return self._parts(release_id)[1]

    def report(self, release_id: str) -> str:
        return self._parts(release_id)[2]

    def manifest_text(self, release_id: str) -> str:
        return (self.folder(release_id) / MANIFEST).read_text(encoding="utf-8")

    def problems(self, release_id: str) -> list[str]:
        folder = self.folder(release_id)
        manifest = sha256(folder / MANIFEST)
        for pointer in map(self._read, (folder.parents[1] / "windows").glob("*.json")):
            if pointer["release_id"] == release_id and pointer["manifest_sha256"] != manifest:
                return ["the manifest is not the one that the window's pointer names"]
        return folder_problems(folder)

    def ledger(self) -> pd.DataFrame:
        rows = []
        for product in self._products():
            visible = {folder.name for _, folder in self._visible(product)}
            for release in dict.fromkeys(entry["release_id"] for _, entry in self._history(product)):
                folder = self._home(product) / "releases" / release
                gone = "superseded" if (folder / "flows.parquet").exists() else "purged"
                manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
                rows.append(ledger_row(manifest, "visible" if release in visible else gone))
        return pd.DataFrame(rows, columns=list(LEDGER_COLUMNS))

    def sharing(self, product: str, data_sha256: str, start: datetime, end: datetime) -> list[dict[str, Any]]:
        found = [
            self._home(name) / "releases" / entry["release_id"] / MANIFEST
            for name in self._products()
            for day in days_near(start, end)
            for entry in self._pointer(name, day)["history"]
        ]
        manifests = [json.loads(path.read_text(encoding="utf-8")) for path in dict.fromkeys(found)]
        return [manifest for manifest in manifests if shares_input(manifest, product, data_sha256, start, end)]

    def audit_log(self) -> pd.DataFrame:
        entries = [
            {**entry, **notes.get(_key(entry), {}), "product": product, "window_start": window}
            for product in self._products()
            for window in self._windows(product)
            for notes in [self._notes(product, window)]
            for entry in self._pointer(product, window)["history"]
        ]
        entries.sort(key=lambda entry: entry["at"])
        return pd.DataFrame(entries, columns=list(AUDIT_COLUMNS))

    def connect(self) -> "DuckDBPyConnection":
        """A DuckDB session with the views `flows`, `zones`, `releases` and `metrics` over everything published."""
        return session_over(self._something_published())

    def query(self, sql: str) -> pd.DataFrame:
        return answer(self._something_published(), sql)

    def _something_published(self) -> list[Path]:
        folders = self.releases()
        if not folders:
            raise OdanonError(f"nothing is published under {self.root} yet; start with `odanon run demo`")
        return folders

    def flow(
        self, product: str, origin: "BaseGeometry", destination: "BaseGeometry", since: datetime, until: datetime
    ) -> float:
        from geopandas import GeoDataFrame

        areas = GeoDataFrame(geometry=[origin, destination], crs="EPSG:4326")
        table = self.matrix(product, areas, since, until)
        return float(table.loc[(table["origin"] == 0) & (table["destination"] == 1), "trips"].sum())

    def matrix(self, product: str, areas: "GeoDataFrame", since: datetime, until: datetime) -> pd.DataFrame:
        return matrix_over([folder for _, folder in self._visible(product)], areas.geometry, since, until)

    def crosswalk(self, product: str, old: str, new: str) -> pd.DataFrame:
        return crosswalk_over([folder for _, folder in self._visible(product)], old, new)

    def _home(self, product: str) -> Path:
        return self.root / "published" / product

    def _products(self) -> list[str]:
        return sorted(path.name for path in (self.root / "published").glob("*") if (path / "windows").is_dir())

    def _pointer(self, product: str, window_start: date | str) -> dict[str, Any]:
        return self._read(self._home(product) / "windows" / f"{window_start}.json")

    def _read(self, path: Path) -> dict[str, Any]:
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"release_id": None}
        history = found.get("history", [])
        return {**found, "history": history, "purged": bool(history) and found["release_id"] is None}

    def _windows(self, product: str) -> list[str]:
        return sorted(path.stem for path in (self._home(product) / "windows").glob("*.json"))

    def _visible(self, product: str) -> list[tuple[str, Path]]:
        pointers = [(window, self._pointer(product, window)["release_id"]) for window in self._windows(product)]
        return [(window, self._home(product) / "releases" / release) for window, release in pointers if release]

    def _history(self, product: str) -> list[tuple[str, dict[str, Any]]]:
        return [
            (window, entry) for window in self._windows(product) for entry in self._pointer(product, window)["history"]
        ]

    def _parts(self, release_id: str) -> tuple[pd.DataFrame, "GeoDataFrame", str]:
        folder = self.folder(release_id)
        if not (folder / "flows.parquet").exists():
            raise OdanonError(f"the release {release_id} was purged; only its manifest is left")
        return read_parts(folder)

    def _notes(self, product: str, window_start: date | str) -> dict[str, dict[str, Any]]:
        """Who did each act of a window, and why: beside what is public, not in it (PRIVACY rule 27)."""
        path = self._notes_path(product, window_start)
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def _notes_path(self, product: str, window_start: date | str) -> Path:
        return self.root / "audit" / product / f"{window_start}.json"

    def _point(self, product: str, window_start: date, release: str | None, history: list[dict[str, Any]]) -> None:
        """Write who and why first, then the pointer, which makes the act true."""
        fresh = {_key(entry): {name: entry[name] for name in _WHO if name in entry} for entry in history}
        notes = {**self._notes(product, window_start), **{key: note for key, note in fresh.items() if note}}
        write_text(self._notes_path(product, window_start), to_json(notes))
        acts = [{name: value for name, value in entry.items() if name not in _WHO} for entry in history]
        pointer: dict[str, Any] = {"release_id": release, "history": acts}
        if release is not None:
            pointer["manifest_sha256"] = sha256(self._home(product) / "releases" / release / MANIFEST)
        write_text(self._home(product) / "windows" / f"{window_start}.json", to_json(pointer))

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
    bundle.zones.to_parquet(folder / "zones.parquet", index=False, compression="zstd", write_covering_bbox=True)
    (folder / "report.html").write_text(bundle.report, encoding="utf-8")
    files = {path.name: sha256(path) for path in sorted(folder.iterdir())}
    (folder / MANIFEST).write_text(sealed_manifest(bundle, files), encoding="utf-8")


def _key(entry: dict[str, Any]) -> str:
    """What names an act among those of its window."""
    return f"{entry['at']} {entry['act']} {entry['release_id']}"


def _entry(what: str, release_id: str, act: Act | None) -> dict[str, Any]:
    return {
        "act": what,
        "release_id": release_id,
        "by_name": act and act.by_name,
        "reason": act and act.reason,
        "at": datetime.now(UTC).isoformat(),
        "user": getpass.getuser(),
    }
