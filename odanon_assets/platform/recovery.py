"""After a crash or a failure: which days of a run were finished, which checks were never reached, which runs have lost
their process, what Dagster missed."""

import json
import os
import socket
import time
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path

from dagster import (
    AssetKey,
    AssetMaterialization,
    DagsterEventType,
    DagsterInstance,
    DagsterRun,
    DagsterRunStatus,
    EventRecordsFilter,
    RunsFilter,
)
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus
from dagster._core.storage.event_log import SqlEventLogStorage
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable
from dagster._core.storage.tags import RETRY_ON_ASSET_OR_OP_FAILURE_TAG

from odanon.product import Product
from odanon.product.windows import is_longer, matrix_days
from odanon_assets.chain.stages import stages_of
from odanon_assets.lake.lake import Lake
from odanon_assets.lake.places import DAY_STAGES, default_root
from odanon_assets.platform.metadata import report_metadata, stage_metadata
from odanon_assets.platform.partitions import asset_key

TRIAL_TAG = "odanon/trial"  # of runs that publish nothing
WITHDRAWN_TAG = "odanon/withdrawn"  # of runs that show that a day was taken back
WORKER_TAG = "odanon/worker"  # host, id and start of the process that works on a run
_LATEST_EVENTS = 100  # of a day, that are looked through for a run that was no trial
_LAST_STAGE = "published"
_SILENT_S = 900  # seconds in which a run that works says which process works on it


def finished_days(instance: DagsterInstance, run: DagsterRun, last: str = _LAST_STAGE) -> set[str]:
    """The days of which an earlier attempt of this run made the last stage; empty for a first attempt."""
    if run.parent_run_id is None:
        return set()
    finished: set[str] = set()
    for run_id in {run.parent_run_id, run.root_run_id or run.parent_run_id}:
        for entry in instance.all_logs(run_id, of_type=DagsterEventType.ASSET_MATERIALIZATION):
            event = entry.get_dagster_event()
            if event.asset_key is not None and event.asset_key.path[-1] == last and event.partition is not None:
                finished.add(event.partition)
    return finished


def attempts(product: Product, instance: DagsterInstance, last: str = _LAST_STAGE) -> dict[str, DagsterRun]:
    """Days that a run wanted to publish, and did not, since they were last published, with the latest such run.

    Of another `last` stage the same: days, or windows, that were wanted and not made.
    Runs that were deleted do not count, nor those that want nothing of the kind: trials, and what shows a withdrawal.
    """
    found = _unpublished(product, instance, last)
    return {day: run for day, run in found.items() if WITHDRAWN_TAG not in run.tags}


def shown_withdrawn(product: Product, instance: DagsterInstance) -> set[str]:
    """Days whose place in the UI says that what they published was taken back."""
    return {day for day, run in _unpublished(product, instance, _LAST_STAGE).items() if WITHDRAWN_TAG in run.tags}


def _unpublished(product: Product, instance: DagsterInstance, last: str) -> dict[str, DagsterRun]:
    """The latest run, trials apart, of each day of which it has not made the last stage, nor has one since."""
    key = asset_key(product, last)
    latest = instance.event_log_storage.get_latest_asset_partition_materialization_attempts_without_materializations(
        key
    )
    runs = {run_id: instance.get_run_by_id(run_id) for run_id, _ in latest.values()}
    found = {day: runs[run_id] for day, (run_id, _) in sorted(latest.items())}
    real = {day: _before_trials(instance, key, day) if _is_trial(run) else run for day, run in found.items()}
    return {day: run for day, run in real.items() if run is not None}


def _before_trials(instance: DagsterInstance, key: AssetKey, day: str) -> DagsterRun | None:
    """The latest run of a day that was no trial; None if there is none, or the day was published after it."""
    kinds = (DagsterEventType.ASSET_MATERIALIZATION_PLANNED, DagsterEventType.ASSET_MATERIALIZATION)
    records = [
        record
        for kind in kinds
        for record in instance.event_log_storage.get_event_records(
            EventRecordsFilter(kind, key, [day]), limit=_LATEST_EVENTS
        )
    ]
    for record in sorted(records, key=lambda record: record.storage_id, reverse=True):
        if record.event_log_entry.dagster_event_type == DagsterEventType.ASSET_MATERIALIZATION:
            return None
        run = instance.get_run_by_id(record.run_id)
        if run is not None and not _is_trial(run):
            return run
    return None


def _is_trial(run: DagsterRun | None) -> bool:
    return run is not None and TRIAL_TAG in run.tags


def lost_runs(instance: DagsterInstance) -> Iterator[DagsterRun]:
    """Runs said to be working whose process, on this machine, is gone.

    A run says which process works on it when its days begin; one of ours that has not said so long after its start was
    killed before.
    """
    working = RunsFilter(statuses=[DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING])
    for record in instance.get_run_records(working):
        run = record.dagster_run
        host, _, process = run.tags.get(WORKER_TAG, "").partition(":")
        if not host:
            silent = "product" in run.tags and time.time() - (record.start_time or time.time()) > _SILENT_S
        else:
            silent = host == socket.gethostname() and process != _process(int(process.split(":")[0]))
        if silent:
            yield run


def report_lost_runs(instance: DagsterInstance) -> list[str]:
    """Mark lost runs as failed, so that they hold no place in the queue and are retried or reported; their ids."""
    found = list(lost_runs(instance))
    for run in found:
        instance.report_run_failed(run, "The process of this run was killed; its finished days stay, retry the rest.")
        forget_unreached(instance, run.run_id)
    return [run.run_id for run in found]


def forget_unreached(instance: DagsterInstance, run_id: str) -> None:
    """Forget that a run planned checks which it never came to; what is known of them is their last evaluation.

    Dagster plans all checks of a run when it is created and, when the run fails, shows as failed what was only planned: a
    file that cannot be read would turn the verifier red.
    """
    storage, planned = instance.event_log_storage, AssetCheckExecutionsTable.c
    if isinstance(storage, SqlEventLogStorage):  # both of Dagster's own: SQLite and PostgreSQL
        with storage.index_connection() as connection:
            connection.execute(
                AssetCheckExecutionsTable.delete().where(
                    planned.run_id == run_id,
                    planned.execution_status == AssetCheckExecutionRecordStatus.PLANNED.value,
                )
            )


def record_published(instance: DagsterInstance, product: Product, days: Iterable[date], *, again: bool = False) -> None:
    """Tell Dagster of published days that it does not know, as after a kill between the two or with a new instance.

    `again` tells it of days that it knows and that show another release now. Of longer windows, `days` are their first.
    """
    lake = Lake(default_root())
    windows = list(days)
    for stage in stages_of(product):
        key = asset_key(product, stage.name)
        known = set() if again else instance.get_materialized_partitions(key)
        of_days = is_longer(product) and stage.name in DAY_STAGES
        for day in [day for window in windows for day in matrix_days(product, window)] if of_days else windows:
            path = lake.folder(product.product, stage.name, day) / "figures.json"
            if day.isoformat() not in known and path.exists():
                figures = json.loads(path.read_text())
                metadata = {
                    **stage_metadata(stage.name, figures, product.anonymize.promise.k),
                    **report_metadata(product, stage.name, day, figures),
                }
                made = AssetMaterialization(key, partition=day.isoformat(), metadata=metadata)
                instance.report_runless_asset_event(made)


def begin(instance: DagsterInstance, run_id: str, *, trial: bool) -> None:
    """Say which process works on a run, that it may be started again if it fails, and whether it is a trial.

    A retry has the tags of its parent, which may have been left to people.
    """
    said = {TRIAL_TAG: "true"} if trial else {}
    instance.add_run_tags(run_id, {WORKER_TAG: worker(), RETRY_ON_ASSET_OR_OP_FAILURE_TAG: "true", **said})


def leave_to_people(instance: DagsterInstance, run_id: str) -> None:
    """Say that no other run repairs what this one is about to fail with; read when the failure of the run is stored."""
    instance.add_run_tags(run_id, {RETRY_ON_ASSET_OR_OP_FAILURE_TAG: "false"})


def worker() -> str:
    """This process, as runs are tagged with it."""
    return f"{socket.gethostname()}:{_process(os.getpid())}"


def _process(pid: int) -> str:
    """The process of this id and when it started, since ids are used again; empty when there is none.

    A system without /proc tells nothing, so no run of it counts as lost.
    """
    if not Path("/proc/self").exists():
        return f"{pid}:"
    try:
        started = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""
    return f"{pid}:{started}"
