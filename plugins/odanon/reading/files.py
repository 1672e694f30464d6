"""Which files hold a day, told from their names alone; nothing is opened.

A path is a file, a folder, a glob or an fsspec URL of one of these. With a date template (`{date}`, or
`{date:%Y%m%d}` for another spelling) only the days asked for are listed. Without one, folders such as
`date=2026-03-02` or `year=2026/month=3/day=2` date the files in them; files without a date belong to every day.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import fsspec
from pydantic import AfterValidator

from odanon.errors import OdanonError
from odanon.reading.delivery import LARGEST_NOTE, DeliveredFile, Delivery
from odanon.reading.origin import real_name

_DATE = re.compile(r"\{date(?::([^{}]+))?\}")
_FOLDER = re.compile(r"(?:^|/)(?:date|day|dt|ds)=(\d{4}-\d{2}-\d{2})(?=/)")
_FOLDERS = re.compile(r"(?:^|/)year=(\d{4})/month=(\d{1,2})/day=(\d{1,2})(?=/)")
_SHOWN = 120
_LISTED = 25  # names that a sentence lists
_CHANGED = ("mtime", "LastModified", "last_modified", "updated", "ETag", "etag")  # when a file was written, by store

Margins = tuple[timedelta, timedelta]  # before and after a window


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError("write an IANA time zone such as Europe/Paris or UTC") from None
    return name


ZoneName = Annotated[str, AfterValidator(_known_zone)]


def shown(path: str) -> str:
    """A path fit for a message: one line, no control or direction-changing characters, the middle cut out."""
    if len(path) > _SHOWN:
        path = f"{path[: _SHOWN // 2]}...{path[-_SHOWN // 2 :]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in path)


def listed(names: Sequence[str]) -> str:
    """Some names for a sentence."""
    return ", ".join(map(shown, names[:_LISTED])) + (" ..." if len(names) > _LISTED else "")


def days_of(start: datetime, end: datetime, zone: str) -> list[date]:
    """The civil days of a zone that [start, end) touches."""
    if start.tzinfo is None or end.tzinfo is None:
        raise OdanonError("the window to read has no time zone; pass aware datetimes")
    first = start.astimezone(ZoneInfo(zone)).date()
    last = (end - timedelta(microseconds=1)).astimezone(ZoneInfo(zone)).date()
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


@dataclass(frozen=True)
class Files:
    """The files under a path whose names end in one of the suffixes."""

    path: str
    suffixes: tuple[str, ...]

    def on(self, days: list[date]) -> list[str]:
        """The files of these days and the files without a date, sorted."""
        if _DATE.search(self.path):
            return sorted({path for day in days for path in self._under(dated(self.path, day))})
        return sorted(path for path in self._under(self.path) if _day_of(path) in (*days, None))

    def around(self, start: datetime, end: datetime, margins: Margins, zone: str) -> tuple[list[str], list[str]]:
        """(files of the days that [start, end) touches or without a date, files of neighbouring days within the margins)."""
        days = days_of(start, end, zone)
        others = [day for day in days_of(start - margins[0], end + margins[1], zone) if day not in days]
        own = self.on(days)
        return own, sorted(set(self.on(others)) - set(own)) if others else []

    def available(self, day: date) -> bool:
        """Whether there is a file of this day, or one without a date."""
        return bool(self.on([day]))

    def reads(self, start: datetime, end: datetime, zone: str) -> list[str]:
        """The real names of the files of the days that [start, end) touches, and of those without a date."""
        return sorted({real_name(path, self.protocol) for path in self.on(days_of(start, end, zone))})

    def state(self, days: list[date]) -> str:
        """A digest that changes when a file of these days comes, goes or is written again; nothing is opened."""
        filesystem, digest = _open_path(self.path)[0], hashlib.sha256()
        for path in self.on(days):
            info = filesystem.info(path)
            changed = next((info[name] for name in _CHANGED if name in info), "")
            digest.update(f"{path}\0{info.get('size')}\0{changed}\0".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()[:16]

    def delivered(self, day: date) -> list[Delivery]:
        """What is there of this day, by folder: that which is named for the day, else that in which a file lies."""
        filesystem, folders = _open_path(self.path)[0], dict[str, list[DeliveredFile]]()
        for path in self.on([day]):
            info, home = filesystem.info(path), self._home(path, day)
            file = DeliveredFile(path[len(home) + 1 :], int(info.get("size") or 0), _written(info))
            folders.setdefault(home, []).append(file)
        return [
            Delivery(tuple(files), partial(_note, filesystem, home), self._shared(home, day))
            for home, files in sorted(folders.items())
        ]

    def _home(self, path: str, day: date) -> str:
        """The folder that a file of a day was delivered in."""
        if found := _FOLDER.search(path) or _FOLDERS.search(path):
            return path[: found.end()]
        root, *wild = re.split(r"[*?\[]", _open_path(dated(self.path, day))[1], maxsplit=1)
        root = root.rpartition("/")[0] if wild else root
        return root if path.startswith(f"{root}/") else path.rpartition("/")[0]

    def _shared(self, home: str, day: date) -> bool:
        """Whether a folder of a day's files holds those of a neighbouring day too, told from the template of the path."""
        whole = home == _open_path(dated(self.path, day))[1]
        template = self.path if whole else self.path.rpartition("/")[0]
        near = (dated(template, day + timedelta(days=n)) for n in (-1, 1))
        return bool(_DATE.search(self.path)) and dated(template, day) in near

    @property
    def protocol(self) -> str:
        """How a child process opens the same file system."""
        return self.path.split("://", 1)[0] if "://" in self.path else "file"

    def _under(self, path: str) -> Iterator[str]:
        filesystem, root = _open_path(path)
        matches = [root] if filesystem.exists(root) else filesystem.glob(root)
        for top in matches:
            found = filesystem.find(top) if filesystem.isdir(top) else [top]
            for name in found:
                inside = name[len(top) :] if name != top else name.rsplit("/", 1)[-1]
                if name.lower().endswith(self.suffixes) and not re.search(r"(?:^|/)[._]", inside):
                    yield name


def _open_path(path: str) -> tuple[Any, str]:
    if "://" not in path:  # a plain path is taken as it is; fsspec would read `::` in it as a chain
        filesystem = fsspec.filesystem("file")
        return filesystem, filesystem._strip_protocol(path)
    try:
        return fsspec.core.url_to_fs(path)
    except (ImportError, ValueError):
        raise OdanonError(
            f"the source's path {shown(path.split('://')[0])}://... needs a package that is not installed;"
            " install the fsspec driver of that store"
        ) from None


def _written(info: dict[str, Any]) -> datetime | None:
    """When a file was written, as its store tells it; None if it does not."""
    told = next((info[name] for name in _CHANGED if name in info), None)
    if isinstance(told, int | float):
        return datetime.fromtimestamp(told, UTC)
    try:
        moment = datetime.fromisoformat(told) if isinstance(told, str) else told
    except ValueError:
        return None  # a tag of the content
    if not isinstance(moment, datetime):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _note(filesystem: Any, home: str, name: str) -> bytes | None:
    """The beginning of a small file, None where there is none."""
    path = f"{home}/{name}"
    if not filesystem.isfile(path):
        return None
    with filesystem.open(path, "rb") as file:
        return file.read(LARGEST_NOTE)


def dated(template: str, day: date) -> str:
    """A template with the day in it, where it asks for one."""
    return _DATE.sub(lambda match: day.strftime(match[1] or "%Y-%m-%d"), template)


def _day_of(path: str) -> date | None:
    """The day that the folders of a path name; None when they name none."""
    try:
        if found := _FOLDER.search(path):
            return date.fromisoformat(found[1])
        if found := _FOLDERS.search(path):
            return date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        pass
    return None
