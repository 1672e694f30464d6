"""The acts of a window of the embedded store, oldest first, and what they say of its releases."""

import getpass
from datetime import UTC, datetime
from typing import Any

from odanon_assets.stores.interface import Act, Standing

Entry = dict[str, Any]
WHO = ("by_name", "reason", "user")  # of an act, for the publisher alone
_ENDS: dict[str, Standing] = {"withdraw": "withdrawn", "purge": "purged"}


def entry_of(what: str, release_id: str, act: Act | None) -> Entry:
    """An act as it is written down."""
    return {
        "act": what,
        "release_id": release_id,
        "by_name": act and act.by_name,
        "reason": act and act.reason,
        "at": datetime.now(UTC).isoformat(),
        "user": getpass.getuser(),
    }


def key_of(entry: Entry) -> str:
    """What names an act among those of its window."""
    return f"{entry['at']} {entry['act']} {entry['release_id']}"


def standing_of(history: list[Entry]) -> Standing | None:
    """What became of the window; None while it is open."""
    return _ENDS.get(history[-1]["act"], "published") if history else None


def releases_of(history: list[Entry]) -> dict[str, str]:
    """What became of every release that the window ever showed: visible, superseded, withdrawn or purged."""
    told: dict[str, str] = {}
    for entry in history:
        end = _ENDS.get(entry["act"])
        if end is not None:
            told = {name: end if now in ("visible", "superseded") else now for name, now in told.items()}
        else:
            told = {name: "superseded" if now == "visible" else now for name, now in told.items()}
            told[entry["release_id"]] = "visible"
    return told
