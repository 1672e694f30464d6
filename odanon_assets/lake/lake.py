"""Where intermediates live: one folder per product, stage and day under the root."""

import hashlib
import hmac
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from odanon.errors import OdanonError
from odanon.system.scratch import process_scratch, scratch, sweep
from odanon_assets.lake.files import locked, new_folder, to_json

# Stages whose tables hold rows of single people, counts below k or risks of flows; `released` is what the auditor keeps.
_PERSONAL = ("traces", "staypoints", "trips", "od", "window", "hierarchy", "anonymized", "metrics", "released")
ORIGIN = "origin.json"  # beside the tables of a stage: what they were read from
NAMES_KEY = Path("work", ".names-key")  # under it names of files are hidden
_FIGURES_STAY = ("metrics", "released")
_TRIAL = "trial"
_OF_ALL = ("released",)  # what trials read and never write
_IN_TRIALS = {"published": "judged"}  # nothing of a trial is published, nor called so
# Folders of the root under which unfinished work lies: that of runs, and that of what is made from releases.
_SCRATCH = ("work", "published", "derived", "demand")


@dataclass(frozen=True)
class Lake:
    """The restricted working area; nothing in it is meant for the public.

    A trial has partitions of its own beside those of real runs, and shares keys, locks and evidence with them.
    """

    root: Path
    trial: bool = False

    def folder(self, product: str, stage: str, day: date) -> Path:
        """The folder of one partition, whether it exists or not."""
        home = self.root / "work" / product
        if self.trial and stage not in _OF_ALL:
            home, stage = home / _TRIAL, _IN_TRIALS.get(stage, stage)
        return home / stage / f"date={day.isoformat()}"

    def new(self, product: str, stage: str, day: date) -> AbstractContextManager[Path]:
        """A folder that replaces the partition when the block ends well."""
        return self.replacing(self.folder(product, stage, day))

    def replacing(self, target: Path) -> AbstractContextManager[Path]:
        """A folder that replaces another one of the working area when the block ends well."""
        return new_folder(target, self._work())

    def scratch(self) -> AbstractContextManager[Path]:
        """A folder for what is needed for a moment; it is swept if this process is killed."""
        return scratch(self._work())

    def process_scratch(self) -> Path:
        """Such a folder until this process ends."""
        return process_scratch(self._work())

    def sweep(self) -> None:
        """Remove the unfinished work of processes that were killed; that of living ones stays."""
        for name in _SCRATCH:
            sweep(self.root / name)

    def _work(self) -> Path:
        """The working area, which other users cannot enter."""
        folder = self.root / "work"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    def read(self, product: str, stage: str, day: date) -> Path:
        """The folder of a partition that must exist."""
        path = self.folder(product, stage, day)
        if not path.is_dir():
            command = f"odanon run {product} --date {day}{' --trial' if self.trial else ''}"
            raise OdanonError(f"{product}/{stage} of {day} has not been made yet; run `{command}`")
        return path

    def figures(self, product: str, stage: str, day: date) -> dict[str, Any]:
        """The figures that a stage wrote beside its tables."""
        return json.loads((self.read(product, stage, day) / "figures.json").read_text())

    def days_of(self, product: str, window: date) -> list[date]:
        """The days that the rows of a window longer than a day were made from, in order."""
        return [date.fromisoformat(day) for day in self.figures(product, "window", window)["made"]]

    def buckets(self, product: str, stage: str, day: date) -> list[Path]:
        """The files of a partition that a stage keeps in buckets of whole people, in order."""
        return sorted(self.read(product, stage, day).glob("bucket-*.parquet"))

    def holding(self, product: str, day: date) -> AbstractContextManager[None]:
        """Hold a day of a product, so that no other run replaces its tables meanwhile."""
        return locked(self.day_lock(product, day))

    def day_lock(self, product: str, day: date) -> Path:
        """The file of the lock that holds a day."""
        return self.root / "locks" / f"{product} {day.isoformat()}"

    @contextmanager
    def locked(self, names: Iterable[str]) -> Iterator[None]:
        """Hold several locks of this root, taken in the order given."""
        with ExitStack() as stack:
            for name in names:
                stack.enter_context(locked(self.root / "locks" / name))
            yield

    def hidden(self, name: str) -> str:
        """A digest of a name that can be compared within this lake and guessed by nobody outside."""
        key = _made_once(self.root / NAMES_KEY)
        return hmac.new(key, name.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()

    def salt(self, data_sha256: str, window: str) -> bytes:
        """The random part of the pseudonym key of a data set and window; made once, gone when it is forgotten."""
        return _made_once(self._salt(data_sha256, window))

    def _salt(self, data_sha256: str, window: str) -> Path:
        return self.root / "keys" / data_sha256 / window

    def personal_days(self, product: str, data_sha256: str, keys: str = "") -> list[date]:
        """Days of which rows of people or the pseudonym key are kept, in order; `keys` is what names of keys begin with."""
        parts = [part for stage in _PERSONAL for part in (self.root / "work" / product / stage).glob("date=*")]
        kept = {
            path.name.removeprefix("date=")
            for path in parts
            if path.parent.name not in _FIGURES_STAY or _has_tables(path)
        }
        salts = {path.name.removeprefix(keys) for path in (self.root / "keys" / data_sha256).glob(f"{keys}[0-9]*")}
        return sorted({*map(date.fromisoformat, kept | salts), *self.tried_days(product)})

    def tried_days(self, product: str) -> list[date]:
        """Days of which trials have left something, however they ended, in order."""
        return sorted({date.fromisoformat(path.name.removeprefix("date=")) for path in self._tried(product)})

    def forget_trial(self, product: str, day: date, by_name: str, reason: str) -> bool:
        """Delete all that a trial of a day has left, its report too; whether there was anything."""
        found = self._tried(product, day.isoformat())
        if found:
            self._note_deletion(product, day, by_name, reason)
        for folder in found:
            shutil.rmtree(folder, ignore_errors=True)
        return bool(found)

    def _tried(self, product: str, day: str = "*") -> list[Path]:
        """The partitions of trials of a day."""
        return sorted((self.root / "work" / product / _TRIAL).glob(f"*/date={day}"))

    def forget(self, product: str, data_sha256: str, day: date, by_name: str, reason: str, keys: str = "") -> None:
        """Delete the rows of people and the pseudonym key of a day (PRIVACY rule 14); manifests of releases stay.

        The key of a longer window, whose names begin with `keys`, goes with its first day.
        Who did it and why is added to `deletions.jsonl` first, so that no deletion goes without its line.
        """
        self._note_deletion(product, day, by_name, reason)
        names = {data_sha256, *self._data_read(product, day)}
        # Keys first: only the tables tell under which names their data had one.
        for salt in (self._salt(name, f"{keys}{day}") for name in names):
            salt.unlink(missing_ok=True)
            for path in salt.parent.glob(f".{salt.name}.*"):  # a kill may leave it under its draft's name too
                path.unlink(missing_ok=True)
        for stage in _PERSONAL:
            folder = self.folder(product, stage, day)
            if stage in _FIGURES_STAY:
                for path in folder.rglob("*.parquet"):
                    path.unlink()
            else:
                shutil.rmtree(folder, ignore_errors=True)
        for folder in self._tried(product, day.isoformat()):
            shutil.rmtree(folder, ignore_errors=True)

    def _note_deletion(self, product: str, day: date, by_name: str, reason: str) -> None:
        line = {"product": product, "day": day.isoformat(), "by_name": by_name, "reason": reason}
        with (self.root / "deletions.jsonl").open("a", encoding="utf-8") as log:
            os.fchmod(log.fileno(), 0o600)
            log.write(json.dumps({"at": datetime.now(UTC).isoformat(), **line}) + "\n")
            log.flush()
            os.fsync(log.fileno())

    def _data_read(self, product: str, day: date) -> set[str]:
        """The names of the data that a day's tables say they were read from."""
        folders = [self.folder(product, stage, day) for stage in _PERSONAL] + self._tried(product, day.isoformat())
        paths = [folder / ORIGIN for folder in folders]
        return {json.loads(path.read_text())["data_sha256"] for path in paths if path.is_file()}


def _made_once(path: Path) -> bytes:
    """Random bytes in a file for its owner alone."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        draft.touch(mode=0o600)
        draft.write_bytes(secrets.token_bytes(32))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process made them first; they hold
        finally:
            draft.unlink()
    return path.read_bytes()


def _has_tables(folder: Path) -> bool:
    return next(folder.rglob("*.parquet"), None) is not None


def write_figures(folder: Path, figures: dict[str, Any]) -> dict[str, Any]:
    """Write a stage's figures into its folder and pass them on."""
    (folder / "figures.json").write_text(to_json(figures))
    return figures
