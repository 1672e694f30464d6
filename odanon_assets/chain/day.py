"""One day of a product, or one longer window: its stages in order, each followed by its checks, until something stops it.

Nothing here knows about Dagster; `odanon_assets.platform.assets` turns what happens into events of the platform.
"""

import os
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from odanon.checking import Verdict
from odanon.errors import OdanonError, OutageError
from odanon.model.window import days_of
from odanon.product import Product
from odanon.product.windows import is_longer, window_of
from odanon_assets.chain.stages import Stage, day_stages, run_stage, window_stages
from odanon_assets.chain.traces import traces
from odanon_assets.checks.catalogue import OF_THE_GATE, checks_of
from odanon_assets.checks.check import Check
from odanon_assets.checks.delivery import COMPLETE, incomplete, note_short
from odanon_assets.checks.late import LATE_DATA, late_verdict
from odanon_assets.derived.segments import Shown, shown_segments
from odanon_assets.lake.files import read_frame
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import WINDOW, default_root
from odanon_assets.lake.trials import Outcome, outcome_of, write_refused
from odanon_assets.publisher.process import PublisherError
from odanon_assets.stores.choice import open_store
from odanon_assets.stores.interface import closed, taken_back
from odanon_assets.watch.memory import peak_megabytes, watch_peak
from odanon_assets.watch.progress import announce
from odanon_assets.watch.quiet import quiet
from odanon_assets.windows.closing import stays_open, window_days

_ACCEPT = (
    "; wait for the rest, or accept it as it is: --accept-incomplete, in Dagster accept_incomplete in the run's config"
)
_SPILLS = "SPARK_LOCAL_DIRS"  # where Spark puts the points that it shuffles; a killed Spark leaves them there


@dataclass(frozen=True)
class Made:
    """A stage that ended well."""

    stage: str
    figures: dict[str, Any]


@dataclass(frozen=True)
class Checked:
    """A check that was evaluated."""

    check: Check
    verdict: Verdict


@dataclass(frozen=True)
class Stopped:
    """Why a day goes no further. A transient trouble is worth another try, a day that was not delivered whole `waits` for
    the rest; everything else is for people to repair."""

    stage: str
    sentence: str
    transient: bool = False
    trace: str = ""
    waits: bool = False


@dataclass(frozen=True)
class Tried:
    """How the trial of a day ended: nothing is published, and this is what publication would have said."""

    outcome: Outcome
    figures: dict[str, Any]
    checks: tuple[Checked, ...] = ()
    trace: str = ""


Event = Made | Shown | Checked | Stopped | Tried


@dataclass(frozen=True)
class _Wanted:
    """What a run asks of a day or window: of which chain, its stages, checks by stage and name, and the plugins by the names
    that stages give them."""

    chain: tuple[Stage, ...]
    stages: set[str]
    checks: set[tuple[str, str]]
    plugins: dict[str, Any]

    @property
    def last(self) -> str:
        """The stage that a day or window is run for."""
        return self.chain[-1].name


def run_day(
    product: Product,
    day: date,
    stages: set[str],
    checks: set[tuple[str, str]],
    plugins: dict[str, Any],
    *,
    trial: bool = False,
    accept_incomplete: bool = False,
) -> Iterator[Event]:
    """Run the wanted stages and checks of a day; the last event says whether and why it stopped.

    The day is held from its first stage to its last, so that two runs of it do not mix. Data that came for a published
    day is counted and the day left as it is (PRIVACY rule 11). A trial works beside all that, in partitions of its own.
    A day that was not delivered whole is not begun, unless somebody accepts that, nor is one that was taken back.

    Of a product with longer windows `day` is a day for the stages of days, and the first day of a window for all others; a
    window holds all its days, and is not begun while too many of them are missing.
    """
    lake = Lake(default_root(), trial)
    lake.sweep()
    if product.engine.plugin == "spark" and _SPILLS not in os.environ:
        os.environ[_SPILLS] = str(lake.process_scratch())
    asked = stages | {of for of, _ in checks}
    gathers = any(stage.name in asked for stage in window_stages(product))
    chain = window_stages(product) if gathers else day_stages(product)
    with ExitStack() as held:
        for each in days_of(day, product.publish.window) if gathers else [day]:
            held.enter_context(lake.holding(product.product, each))
        wanted = _Wanted(chain, stages, checks, plugins)
        events = _begun(product, lake, day, wanted, accept_incomplete=accept_incomplete)
        yield from _tried(product, lake, day, events) if trial and wanted.last == "published" else events


def _tried(product: Product, lake: Lake, day: date, events: Iterator[Event]) -> Iterator[Event]:
    """The events of a trial, whose last one is its outcome: a stop is one too, unless another try may help."""
    ended: Tried | None = None
    checks: list[Checked] = []
    for event in events:
        match event:
            case Made("published", figures):
                ended = Tried(outcome_of(lake, product.product, day), figures)
            case Stopped(_, sentence, transient=False, trace=trace):
                ended = Tried(write_refused(lake, product.product, day, sentence), {}, trace=trace)
            case _:
                yield event
        checks += [event] if isinstance(event, Checked) else []
    if ended is not None:
        yield replace(ended, checks=tuple(checks))


def _begun(product: Product, lake: Lake, day: date, wanted: _Wanted, *, accept_incomplete: bool) -> Iterator[Event]:
    """The stages of a day that may be begun; one that is published is read again whatever comes, to count it."""
    first, window = wanted.chain[0].name, window_of(product, day)
    try:
        standing = None if lake.trial else open_store(product).standings(product.product).get(window.isoformat())
        accepted = accept_incomplete or standing == "published"
        why = "" if accepted or "traces" not in wanted.stages else incomplete(product, lake, day)
        lacks = stays_open(product, window_days(product, lake, day)) if WINDOW in wanted.stages else ""
    except Exception as error:
        yield _stopped(first, error)
        return
    if standing in ("withdrawn", "purged") and wanted.last in wanted.stages:
        answer = taken_back if standing == "withdrawn" else closed
        yield Stopped(wanted.last, str(answer(product.product, window)))
    elif why:
        yield Stopped("traces", f"the day is not complete: {why}{_ACCEPT}", waits=True)
    elif lacks:
        yield Stopped(WINDOW, f"the {product.publish.window} is not complete: {lacks}", waits=True)
    else:
        yield from _stages(product, lake, day, wanted, accepted=accepted)


def _stages(product: Product, lake: Lake, day: date, wanted: _Wanted, *, accepted: bool) -> Iterator[Event]:
    stages, checks = wanted.stages, wanted.checks
    for stage in wanted.chain:
        try:
            if stage.name in stages or any(of == stage.name for of, _ in checks):
                announce(product.product, stage.name, day.isoformat())
            if stage.name in stages:
                plugins = {name: wanted.plugins[name] for name in stage.plugins}
                with quiet():
                    late = _late_points(product, lake, day, plugins) if stage.name == "traces" else None
                if late is not None:
                    yield Checked(LATE_DATA, late_verdict(late, product.anonymize.promise.k))
                    return
                with quiet():
                    figures = _measured(product, stage.name, day, plugins, trial=lake.trial)
                if stage.name == "published" and product.segmented and not lake.trial:
                    # Before the stage itself: a retry passes over days whose publication is recorded.
                    yield shown_segments(open_store(product), figures["release_id"])
                yield Made(stage.name, figures)
            for check in _held(checks_of(product), accepted=accepted):
                if (check.stage, check.name) in checks and check.stage == stage.name:
                    with quiet():
                        verdict = check.run(product, lake, day)
                    yield Checked(check, verdict)
                    short = check is COMPLETE and not verdict.passed
                    if (check.stage, check.name) == (COMPLETE.stage, COMPLETE.name):
                        note_short(product, lake, day, verdict.sentence if short else "")
                    if check.blocking and not verdict.passed:
                        yield Stopped(stage.name, f"check {check.name} failed: {verdict.sentence}", waits=short)
                        return
            goes_on = wanted.last in stages and stage.name != wanted.last
            if goes_on and (why := _objection(product, lake, day, stage.name, checks, accepted=accepted)):
                yield Stopped(stage.name, why)
                return
        except Exception as error:
            yield _stopped(stage.name, error)
            return


def _objection(
    product: Product, lake: Lake, day: date, stage: str, asked: set[tuple[str, str]], *, accepted: bool
) -> str:
    """What the checks that can stop a day, and that nobody has asked, say of a stage; empty if nothing.

    A blocking check of Dagster holds inside its run only: stages can be asked for without it, and those after it alone.
    """
    for check in _held(checks_of(product), accepted=accepted):
        unasked = check.stage == stage and (check.stage, check.name) not in asked
        if unasked and check.blocking and check.name not in OF_THE_GATE:
            with quiet():
                verdict = check.run(product, lake, day)
            if not verdict.passed:
                return f"check {check.name} failed: {verdict.sentence}"
    return ""


def _held(checks: tuple[Check, ...], *, accepted: bool) -> tuple[Check, ...]:
    """The checks with their power to stop a day; what somebody has accepted only warns."""
    return tuple(replace(check, blocking=False) if accepted and check is COMPLETE else check for check in checks)


def _measured(product: Product, stage: str, day: date, plugins: dict[str, Any], *, trial: bool) -> dict[str, Any]:
    """The figures of a stage with the time and the memory it took."""
    started, cpu = time.perf_counter(), time.process_time()
    watch_peak()
    figures = run_stage(product, stage, day, plugins, trial=trial)
    return {
        **figures,
        "seconds": round(time.perf_counter() - started, 3),
        "cpu_seconds": round(figures.get("cpu_seconds", 0) + time.process_time() - cpu, 3),
        "peak_memory_mb": max(figures.get("peak_memory_mb", 0), peak_megabytes()),
    }


def _late_points(product: Product, lake: Lake, day: date, plugins: dict[str, Any]) -> int | None:
    """How many more points the source has than a published day was made from; None if it has the same ones, or in a trial.

    They are read beside and nothing of them is kept.
    """
    kept = lake.folder(product.product, "traces", day)
    missed = not kept.is_dir()  # a day that a longer window was published without comes late as a whole
    if lake.trial or (missed and not is_longer(product)):
        return None
    if open_store(product).released(product.product, window_of(product, day)) is None:
        return None
    with lake.scratch() as folder:
        beside = Lake(folder)
        (beside.root / "keys").symlink_to(lake.root / "keys")  # the same people have the same pseudonyms
        now = traces(product, beside, day, **plugins)
        if missed:
            return now["points"]
        if _same_tables(beside.folder(product.product, "traces", day), kept):
            return None
    return now["points"] - lake.figures(product.product, "traces", day)["points"]


def _same_tables(one: Path, two: Path) -> bool:
    """Whether two folders hold the same rows, table by table."""
    names = [{path.name for path in folder.glob("*.parquet")} for folder in (one, two)]
    return names[0] == names[1] and all(read_frame(one / name).equals(read_frame(two / name)) for name in names[0])


def _stopped(stage: str, error: Exception) -> Stopped:
    """A day's end by an error. Only our own sentences are passed on: other messages may quote data."""
    if isinstance(error, OdanonError):
        return Stopped(stage, str(error), transient=isinstance(error, OutageError))
    if isinstance(error, PublisherError):
        what = f"{error.kind} in stage {stage}; the run's log shows where"
        return Stopped(stage, what, transient=error.transient, trace=error.where)
    trace = "".join(traceback.format_tb(error.__traceback__))
    what = f"{type(error).__name__} in stage {stage}; the run's log shows where"
    return Stopped(stage, what, transient=isinstance(error, OSError), trace=trace)
