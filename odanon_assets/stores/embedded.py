"""The embedded store: a folder of Parquet and GeoParquet files that DuckDB queries (CONVENTIONS).

    published/<product>/releases/<release id>/flows.parquet, zones.parquet, report.html, release.json
    published/<product>/windows/<date>.json      names the release of that window

A release is visible once its window's pointer names it; the pointer is written last.
"""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odanon.errors import OdanonError
from odanon_assets.files import new_folder, sha256, to_json, write_parquet, write_text
from odanon_assets.stores.bundle import Bundle

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MANIFEST = "release.json"


@dataclass(frozen=True)
class EmbeddedStore:
    """Releases in a folder: no server, readable by DuckDB, Spark and GIS tools as it is."""

    root: Path

    def publish(self, bundle: Bundle) -> bool:
        """Make a release visible; False when exactly this release is published already.

        A window that holds another release is refused: releases are immutable (PRIVACY rule 4).
        """
        home = self._home(bundle.product)
        target = home / "releases" / bundle.release_id
        with self._locked(bundle.product, bundle.window_start):
            current = self.current(bundle.product, bundle.window_start)
            if current is None:
                with new_folder(target) as draft:
                    _write_release(bundle, draft)
                pointer = {"release_id": bundle.release_id, "manifest_sha256": sha256(target / MANIFEST)}
                write_text(home / "windows" / f"{bundle.window_start}.json", to_json(pointer))
                return True
            with new_folder(home / "drafts" / bundle.release_id) as draft:
                _write_release(bundle, draft)
                same = (draft / MANIFEST).read_bytes() == (current / MANIFEST).read_bytes()
            _remove(home / "drafts" / bundle.release_id)
            if not same:
                raise OdanonError(
                    f"{bundle.product} {bundle.window_start} is already published as {current.name} and a release is"
                    " never changed; corrections belong in later windows"
                )
            return False

    def current(self, product: str, window_start: date) -> Path | None:
        """The folder of the release that a window shows, None before its first."""
        pointer = self._home(product) / "windows" / f"{window_start}.json"
        if not pointer.exists():
            return None
        return self._home(product) / "releases" / json.loads(pointer.read_text())["release_id"]

    def windows(self, product: str) -> list[str]:
        """Window starts that have a visible release, in order."""
        return sorted(path.stem for path in (self._home(product) / "windows").glob("*.json"))

    def releases(self, product: str | None = None) -> list[Path]:
        """Folders of all visible releases, by product and window."""
        pointers = sorted(self.root.glob(f"published/{product or '*'}/windows/*.json"))
        return [p.parents[1] / "releases" / json.loads(p.read_text())["release_id"] for p in pointers]

    def connect(self) -> "DuckDBPyConnection":
        """A DuckDB session with the views `flows`, `zones` and `releases` over everything published."""
        import duckdb

        folders = self.releases()
        if not folders:
            raise OdanonError(f"nothing is published under {self.root} yet; start with `odanon run demo`")
        session = duckdb.connect()
        for table in ("flows", "zones"):
            paths = [str(folder / f"{table}.parquet") for folder in folders]
            session.read_parquet(paths).create_view(table)
        manifests = [str(folder / MANIFEST) for folder in folders]
        session.from_query("select * from read_json($files)", params={"files": manifests}).create_view("releases")
        return session

    def _home(self, product: str) -> Path:
        return self.root / "published" / product

    @contextmanager
    def _locked(self, product: str, window_start: date) -> Iterator[None]:
        """One publisher per window at a time, across processes; the lock ends with its holder."""
        path = self._home(product) / "locks" / f"{window_start}"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def _write_release(bundle: Bundle, folder: Path) -> None:
    """All files of a release; the manifest, last, names the hashes of the others."""
    write_parquet(bundle.flows, folder / "flows.parquet")
    bundle.zones.to_parquet(folder / "zones.parquet", index=False, compression="zstd", write_covering_bbox=True)
    (folder / "report.html").write_text(bundle.report, encoding="utf-8")
    files = {path.name: sha256(path) for path in sorted(folder.iterdir())}
    manifest: dict[str, Any] = {**bundle.manifest, "files": files}
    (folder / MANIFEST).write_text(to_json(manifest), encoding="utf-8")


def _remove(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
