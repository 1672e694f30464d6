"""What has been delivered of a day, told from listings alone: files with sizes and times, and what senders put beside them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

LARGEST_NOTE = 16 << 20  # bytes of a manifest that are read


@dataclass(frozen=True)
class DeliveredFile:
    """A file as its store lists it; `changed` is None where the store does not tell."""

    name: str  # within the folder of the delivery
    size: int
    changed: datetime | None = None


@dataclass(frozen=True)
class Delivery:
    """The files of a day in one folder; `note` reads a small file beside them, None where there is none.

    `shared` says that the files of other days lie there too, so that what lies beside them must be named for its day.
    """

    files: tuple[DeliveredFile, ...]
    note: Callable[[str], bytes | None]
    shared: bool = False

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    def unlike_manifest(self, text: bytes) -> str:
        """How the files differ from a manifest, `{"files": [{"name": ..., "size": ...}, ...]}`; empty when they do not."""
        try:
            listed = {str(file["name"]): int(file["size"]) for file in json.loads(text)["files"]}
        except (ValueError, KeyError, TypeError, RecursionError):
            return 'cannot be read; it should say {"files": [{"name": "...", "size": 123}]}'
        found = {file.name: file.size for file in self.files}
        missing = len(listed.keys() - found.keys())
        other = sum(found[name] != size for name, size in listed.items() if name in found)
        unlisted = len(found.keys() - listed.keys())
        told = (f"{missing} of its files missing", f"{other} of another size", f"{unlisted} not listed")
        numbers = (missing, other, unlisted)
        return (
            "has " + ", ".join(text for text, number in zip(told, numbers, strict=True) if number)
            if any(numbers)
            else ""
        )
