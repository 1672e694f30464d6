"""The files of the page: its own, and the scripts that it shares with the reports of releases."""

import hashlib
import mimetypes
import re
from importlib.resources import files
from importlib.resources.abc import Traversable

_SUFFIXES = (".js", ".css", ".svg", ".png")
_NAMED = re.compile(r'(?<=["\'])static/([\w.-]+)(?=["\'])')
PAGE = "index.html"


def page() -> bytes:
    """The page; the addresses of its files carry what they hold, so that browsers may keep them."""
    text = (_home() / PAGE).read_text(encoding="utf-8")
    return _NAMED.sub(lambda name: f"static/{name[1]}?{_digest(name[1])}", text).encode()


def static(name: str) -> tuple[bytes, str] | None:
    """A file of the page and its type; None for everything else, whatever the name says."""
    found = _listed().get(name)
    if found is None:
        return None
    return found.read_bytes(), mimetypes.guess_type(name)[0] or "application/octet-stream"


def _digest(name: str) -> str:
    found = static(name)
    return hashlib.sha256(found[0] if found else b"").hexdigest()[:16]


def _listed() -> dict[str, Traversable]:
    """The files that can be asked for, by name."""
    rooms = files("odanon.report"), _home()
    return {each.name: each for room in rooms for each in room.iterdir() if each.name.endswith(_SUFFIXES)}


def _home() -> Traversable:
    return files("odanon_assets.explore") / "page"
