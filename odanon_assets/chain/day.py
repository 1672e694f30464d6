"""One day of a product: its stages in order, each followed by its checks, until something stops the day.

Nothing here knows about Dagster; `odanon_assets.platform.assets` turns what happens into events of the platform.
"""

import os
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from odanon.checking import Verdict
from odanon.errors import OdanonError, OutageError
from odanon.product import Product
from odanon_assets.chain.stages import STAGES, run_stage
from odanon_assets.chain.traces import traces
from odanon_assets.checks.catalogue import checks_of
from odanon_assets.checks.check import Check
from odanon_assets.checks.late import LATE_DATA, late_verdict
from odanon_assets.derived.segments import Shown, shown_segments
from odanon_assets.lake.files import read_frame
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import default_root
from odanon_assets.publisher.process import PublisherError
from odanon_assets.stores.choice import open_store
from odanon_assets.watch.memory import peak_megabytes, watch_peak
from odanon_assets.watch.progress import announce
from odanon_assets.watch.quiet import quiet

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
    """Why a day goes no further. A transient trouble is worth another try; everything else is for people to repair."""

    stage: str
    sentence: str
    transient: bool = False
    trace: str = ""


Event = Made | Shown | Checked | Stopped


def run_day(
    product: Product, day: date, stages: set[str], checks: set[tuple[str, str]], plugins: dict[str, Any]
) -> Iterator[Event]:
    """Run the wanted stages and checks of a day; the last event says whether and why it stopped.

    The day is held from its first stage to its last, so that two runs of it do not mix. Data that came for a published
    day is counted and the day left as it is (PRIVACY rule 11).
    """
    lake = Lake(default_root())
    lake.sweep()
    if product.engine.plugin == "spark" and _SPILLS not in os.environ:
        os.environ[_SPILLS] = str(lake.process_scratch())
    with lake.holding(product.product, day):
        yield from _stages(product, lake, day, stages, checks, plugins)


def _stages(
    product: Product,
    lake: Lake,
    day: date,
    stages: set[str],
    checks: set[tuple[str, str]],
    plugins: dict[str, Any],
) -> Iterator[Event]:
    for stage in (stage for stage in STAGES if stage.name in stages or any(of == stage.name for of, _ in checks)):
        announce(product.product, stage.name, day.isoformat())
        try:
            if stage.name in stages:
                wanted = {name: plugins[name] for name in stage.plugins}
                with quiet():
                    late = _late_points(product, lake, day, wanted) if stage.name == "traces" else None
                if late is not None:
                    yield Checked(LATE_DATA, late_verdict(late, product.anonymize.promise.k))
                    return
                with quiet():
                    figures = _measured(product, stage.name, day, wanted)
                if stage.name == "published" and product.segmented:
                    # Before the stage itself: a retry passes over days whose publication is recorded.
                    yield shown_segments(open_store(product), figures["release_id"])
                yield Made(stage.name, figures)
            for check in checks_of(product):
                if (check.stage, check.name) in checks and check.stage == stage.name:
                    with quiet():
                        verdict = check.run(product, lake, day)
                    yield Checked(check, verdict)
                    if check.blocking and not verdict.passed:
                        yield Stopped(stage.name, f"check {check.name} failed: {verdict.sentence}")
                        return
        except Exception as error:
            yield _stopped(stage.name, error)
            return


def _measured(product: Product, stage: str, day: date, plugins: dict[str, Any]) -> dict[str, Any]:
    """The figures of a stage with the time and the memory it took."""
    started, cpu = time.perf_counter(), time.process_time()
    watch_peak()
    figures = run_stage(product, stage, day, plugins)
    return {
        **figures,
        "seconds": round(time.perf_counter() - started, 3),
        "cpu_seconds": round(figures.get("cpu_seconds", 0) + time.process_time() - cpu, 3),
        "peak_memory_mb": max(figures.get("peak_memory_mb", 0), peak_megabytes()),
    }


def _late_points(product: Product, lake: Lake, day: date, plugins: dict[str, Any]) -> int | None:
    """How many more points the source has than a published day was made from; None if it has the same ones.

    They are read beside and nothing of them is kept.
    """
    kept = lake.folder(product.product, "traces", day)
    if not kept.is_dir() or open_store(product).released(product.product, day) is None:
        return None
    with lake.scratch() as folder:
        beside = Lake(folder)
        (beside.root / "keys").symlink_to(lake.root / "keys")  # the same people have the same pseudonyms
        now = traces(product, beside, day, **plugins)
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
