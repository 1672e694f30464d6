"""Folders made from releases: each lives exactly as long as every release that it was made from (PRIVACY rule 22).

    derived/<product>/<name>/figures.json    `releases` names what the tables beside it were made from
    demand/<product>/<name>/figures.json     the same of what is not for readers, in a folder that others cannot enter
    work/.exports/<digest of the place>.json the same for a folder elsewhere, and the digests of its files

Whoever purges or replaces a window first withdraws what was made from it, and holds the lock until the store has
changed. Whoever makes a folder looks under the same lock, in its last moment, whether its releases still show. So nothing
made from a release outlives it, wherever a process is killed: before the store changes everything is gone already, and can
be made again.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from odanon.errors import OdanonError
from odanon.system.scratch import sweep
from odanon_assets.lake.files import locked, new_folder, remove_files, remove_folder, sha256, to_json, write_text
from odanon_assets.stores.interface import Act, Store

RECORD = "figures.json"
LOCK = "derived"
PUBLIC, RESTRICTED = "derived", "demand"
_ANY_DAY = r"\d{8}"


@dataclass(frozen=True)
class Derived:
    """What was made from releases: the folders under a data root, and those that were exported from there.

    `home` says where new ones are made; whoever withdraws reaches all.
    """

    root: Path
    home: str = PUBLIC

    def folder(self, product: str, name: str) -> Path:
        """Where one of a product's folders lies, whether it exists or not."""
        return self._home / product / name

    @contextmanager
    def new(self, store: Store, product: str, name: str, releases: Mapping[date, str]) -> Iterator[Path]:
        """A folder that appears when the block ends well and the windows still show these releases.

        The block writes the RECORD that names them under `releases`.
        """
        self._home.mkdir(parents=True, exist_ok=True)
        if self.home != PUBLIC:
            self._home.chmod(0o700)
        with ExitStack() as held, new_folder(self.folder(product, name), self._home) as draft:
            yield draft
            held.enter_context(self.locked())
            _refuse_withdrawn(store, product, releases)

    @contextmanager
    def elsewhere(self, store: Store, product: str, out: Path, releases: Mapping[date, str]) -> Iterator[Path]:
        """The same at any place. It is noted before anything is there, so that half of it is found as well."""
        out = out.absolute()
        self._note(out, releases, {})
        with ExitStack() as held, new_folder(out) as draft:
            yield draft
            held.enter_context(self.locked())
            _refuse_withdrawn(store, product, releases)
            self._note(out, releases, {path.name: sha256(path) for path in sorted(draft.iterdir())})

    def purge(self, store: Store, product: str, window: date, act: Act) -> bool:
        """Delete the tables of a window and what was made from them; whether the window showed a release."""
        with self.locked():
            self.withdraw(product, window)
            return store.purge(product, window, act)

    def withdraw_release(self, store: Store, product: str, window: date, act: Act) -> bool:
        """Take back what a window shows and what was made from it; whether anything was taken back."""
        with self.locked():
            self.withdraw(product, window)
            return store.withdraw(product, window, act)

    def withdraw(self, product: str, window: date) -> None:
        """Delete what was made from any release of a window; call it under the lock, before the store changes."""
        of_window = _ids(product, f"{window:%Y%m%d}")
        self._withdraw(product, lambda release: bool(of_window.fullmatch(release)))

    def withdraw_stale(self, store: Store, product: str) -> None:
        """Delete what was made from releases of a product that the store no longer shows, whoever took them away."""
        with self.locked():
            if not (self._folders() or self._notes()):
                return
            ledger, of_product = store.ledger(), _ids(product, _ANY_DAY)
            shown = set(ledger.loc[ledger["status"] == "visible", "release_id"])
            self._withdraw(product, lambda release: bool(of_product.fullmatch(release)) and release not in shown)

    def locked(self) -> AbstractContextManager[None]:
        """Held while releases are taken away, and while something made from releases appears."""
        return locked(self.root / "locks" / LOCK)

    @property
    def _home(self) -> Path:
        return self.root / self.home

    @property
    def _homes(self) -> list[Path]:
        return [self.root / name for name in (PUBLIC, RESTRICTED)]

    def _folders(self) -> list[Path]:
        return sorted(path for home in self._homes for path in home.glob("[!.]*/[!.]*") if path.is_dir())

    def _notes(self) -> list[Path]:
        return sorted((self.root / "work" / ".exports").glob("*.json"))

    def _note(self, out: Path, releases: Mapping[date, str], files: dict[str, str]) -> None:
        (self.root / "work").mkdir(parents=True, exist_ok=True, mode=0o700)  # where it is, is not for the public
        name = f"{hashlib.sha256(str(out).encode()).hexdigest()[:16]}.json"
        told = {"folder": str(out), "releases": sorted(releases.values()), "files": files}
        write_text(self.root / "work" / ".exports" / name, to_json(told))

    def _withdraw(self, product: str, gone: Callable[[str], bool]) -> None:
        for home in self._homes:
            sweep(home)
        for folder in self._folders():
            releases = made_from(folder)
            if any(map(gone, releases)) if releases is not None else folder.parent.name == product:
                remove_folder(folder, folder.parents[1])
        for note in self._notes():
            told = json.loads(note.read_text())
            if any(map(gone, told["releases"])):
                _take_back(Path(told["folder"]), told["files"])
                note.unlink()


def made_from(folder: Path) -> list[str] | None:
    """The releases that a folder was made from; None if it does not say, and may hold anything of its product."""
    try:
        return list(map(str, json.loads((folder / RECORD).read_text())["releases"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _take_back(folder: Path, files: dict[str, str]) -> None:
    """Delete the files of an export that are still what was written, and what a kill left beside them."""
    try:
        sweep(folder.parent)
        remove_files(folder, files)
    except OSError:
        raise OdanonError(f"{folder} was exported and cannot be deleted; delete it, then do the same again") from None


def _refuse_withdrawn(store: Store, product: str, releases: Mapping[date, str]) -> None:
    for window, release in releases.items():
        if store.released(product, window) != release:
            raise OdanonError(f"{product} {window} was taken away or replaced meanwhile; do the same again")


def _ids(product: str, day: str) -> re.Pattern[str]:
    """The ids that releases of a product can have."""
    return re.compile(rf"{re.escape(product)}-{day}-[0-9a-f]{{12}}")
