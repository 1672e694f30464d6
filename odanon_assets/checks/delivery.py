"""Whether what was delivered of a day is whole, on the terms of its product's file: before it is read, and after.

A day that was read and found short is noted, so that schedule and sensors ask for it again when its source has changed.
Sentences tell limits and names of notes; no counts of rows, nor shares from which one could be told.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta

from odanon.checking import Verdict
from odanon.plugin import format_duration
from odanon.product import Product
from odanon.product.sections import Arrival
from odanon.protocols import ListsFiles, TellsState
from odanon.reading.delivery import Delivery
from odanon.reading.files import dated
from odanon_assets.checks.check import Check
from odanon_assets.checks.history import usual
from odanon_assets.lake.lake import Lake, write_figures

_SHORT = "short"  # where the working area keeps the notes
BYTES = "source_bytes"  # the figure of the traces that says how large the files of the day were


def days_read(product: Product, day: date) -> list[date]:
    """The days whose data a day needs: its own and, where stays run past midnight, the day after."""
    after = product.source.instance.enters == "traces" and bool(product.context)
    return [day, day + timedelta(days=1)] if after else [day]


def delivered_bytes(product: Product, day: date) -> int | None:
    """The size of a day's files; None for a source that lists none."""
    source = product.source.instance
    return sum(delivery.size for delivery in source.delivered(day)) if isinstance(source, ListsFiles) else None


def source_state(product: Product, day: date) -> str | None:
    """A digest that changes when the source's files of a day do; None for a source that cannot tell.

    Those of the day after are left out: they grow while it lasts.
    """
    source = product.source.instance
    return hashlib.sha256(source.state([day]).encode()).hexdigest() if isinstance(source, TellsState) else None


def note_short(product: Product, lake: Lake, day: date, why: str) -> None:
    """Keep why a day that was read is not whole; without a reason, forget what was noted."""
    if why:
        read = lake.figures(product.product, "traces", day).get("source_state")
        with lake.new(product.product, _SHORT, day) as folder:
            write_figures(folder, {"why": why, "read": _asked(product, read)})
    elif (noted := lake.folder(product.product, _SHORT, day)).is_dir():
        shutil.rmtree(noted, ignore_errors=True)


def found_short(product: Product, lake: Lake, day: date) -> bool:
    """Whether a day was read last and found short."""
    return lake.folder(product.product, _SHORT, day).is_dir()


def still_short(product: Product, lake: Lake, day: date) -> str:
    """Why a day that was read is not whole, while neither its source nor the product's file has changed since.

    A source that cannot tell has to be read again, so nothing is known of it.
    """
    noted: dict[str, str] = {}
    with suppress(OSError, ValueError):
        noted = json.loads((lake.folder(product.product, _SHORT, day) / "figures.json").read_text())
    state = source_state(product, day) if noted else None
    return noted["why"] if state is not None and noted["read"] == _asked(product, state) else ""


def _asked(product: Product, state: str | None) -> str:
    """What decides whether a day is short: what its source holds, how it is read, and the terms."""
    told = [state, *(product.model_dump(mode="json")[name] for name in ("source", "arrival", "timezone"))]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def incomplete(product: Product, lake: Lake, day: date) -> str:
    """Why what was delivered of a day is not whole, before it is read; empty when it is, or nobody asks."""
    terms = product.arrival
    if terms is None:
        return ""
    return next((why for why in (*_unfinished(product, terms, day), _too_small(product, terms, lake, day)) if why), "")


def _unfinished(product: Product, terms: Arrival, day: date) -> Iterator[str]:
    """What the files of a day, and of the day after if there are any, lack."""
    source = product.source.instance
    if isinstance(source, ListsFiles) and terms.of_files:
        for each in days_read(product, day):
            for delivery in source.delivered(each):
                yield from (_unnoted(terms, delivery, each), _unsettled(terms, delivery, each))


def _unnoted(terms: Arrival, delivery: Delivery, day: date) -> str:
    """What the notes beside the files say."""
    for key in ("marker", "manifest"):
        name = getattr(terms, key)
        if name is None:
            continue
        if delivery.shared and dated(name, day) == name:
            return f"the files of other days lie beside those of {day}; write {{date}} into arrival.{key}"
        called = dated(name, day)
        if called in {file.name for file in delivery.files}:
            return f"{called} would be read as data; let its name begin with _, also under arrival.{key}"
        note = delivery.note(called)
        if note is None:
            return f"there is no {called} beside the files of {day}"
        if key == "manifest" and (unlike := delivery.unlike_manifest(note)):
            return f"the manifest of {day} {unlike}"
    return ""


def _unsettled(terms: Arrival, delivery: Delivery, day: date) -> str:
    if terms.unchanged_for is None:
        return ""
    changed = [file.changed for file in delivery.files]
    if None in changed:
        return "the source's store does not tell when files changed; use arrival.marker instead of unchanged_for"
    if max(filter(None, changed)) > datetime.now(UTC) - terms.unchanged_for:
        return f"files of {day} have changed in the last {format_duration(terms.unchanged_for)}"
    return ""


def _too_small(product: Product, terms: Arrival, lake: Lake, day: date) -> str:
    """How the size of a day's files falls short."""
    size = delivered_bytes(product, day)
    if size is None:
        return ""
    if terms.min_bytes is not None and size < terms.min_bytes:
        return f"the files of {day} are smaller than arrival.min_bytes = {terms.min_bytes:,}"
    return _below_usual(product, lake, day, "bytes", size, BYTES)


def _below_usual(product: Product, lake: Lake, day: date, what: str, value: int, figure: str) -> str:
    least = None if product.arrival is None else product.arrival.min_share
    before = None if least is None else usual(product, lake, day, "traces", figure)
    if least is None or not before or value >= least * before:
        return ""
    return f"{day} has less than arrival.min_share = {least:.0%} of the usual {what}, the median of the days before"


def _complete(product: Product, lake: Lake, day: date) -> Verdict:
    """What was read of a day against the terms; and whether the delivery, looked at again, is still whole."""
    if product.arrival is None:
        return Verdict(True, "the product's file sets no terms under arrival")
    rows, least = lake.figures(product.product, "traces", day)["points"], product.arrival.min_rows
    if least is not None and rows < least:
        return Verdict(False, f"{day} has fewer rows than arrival.min_rows = {least:,}")
    why = _below_usual(product, lake, day, "rows", rows, "points") or incomplete(product, lake, day)
    return Verdict(not why, why or "what was delivered keeps the terms under arrival")


COMPLETE = Check("traces", "complete", True, "The day was delivered whole, on the terms under arrival.", _complete)
