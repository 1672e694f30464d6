"""Figures of the products in Prometheus' text format: release-level, rounded or about machines, never about few people."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path

from dagster import AssetCheckKey, DagsterInstance, DagsterRunStatus
from dagster._core.storage.asset_check_execution_record import (
    COMPLETED_ASSET_CHECK_EXECUTION_RECORD_STATUSES,
    AssetCheckExecutionRecordStatus,
)

from odanon.errors import OdanonError
from odanon.product import Product
from odanon_assets.chain.stages import day_stages, stages_of
from odanon_assets.checks.catalogue import checks_of
from odanon_assets.platform.partitions import asset_key
from odanon_assets.platform.recovery import attempts
from odanon_assets.stores.choice import open_store

_HELP = {
    "odanon_product_broken": "product files that cannot be used; `odanon check` says why",
    "odanon_store_reachable": "whether the store of a product could be asked; if not, its days are not told",
    "odanon_published_days": "days that show a release",
    "odanon_withdrawn_days": "days whose release was taken back and not replaced",
    "odanon_last_published_day_seconds": "start of the latest published day, seconds since 1970",
    "odanon_failed_days": "days whose latest attempt failed",
    "odanon_release": "a rounded public figure of the latest release",
    "odanon_input": "a rounded count of what went into the latest release",
    "odanon_stage_seconds": "time that the latest run of a stage took",
    "odanon_stage_peak_memory_bytes": "peak memory of the process while the latest run of a stage worked",
    "odanon_check_passed": "whether the latest evaluation of a check passed; one that was not reached is none",
}
_PASSED = AssetCheckExecutionRecordStatus.SUCCEEDED
_BAD = (DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED)


@dataclass(frozen=True)
class Sample:
    """One number with its name and labels."""

    name: str
    labels: dict[str, str]
    value: float


def exposition(samples: list[Sample]) -> str:
    """The samples as text, each name once with its help."""
    by_name: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_name[sample.name].append(sample)
    lines = []
    for name, group in sorted(by_name.items()):
        lines += [f"# HELP {name} {_HELP[name]}", f"# TYPE {name} gauge"]
        lines += [f"{name}{{{_labels(sample.labels)}}} {sample.value:.15g}" for sample in group]
    return "\n".join(lines) + "\n"


def _labels(labels: dict[str, str]) -> str:
    def quoted(text: str) -> str:
        return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

    return ",".join(f'{key}="{quoted(value)}"' for key, value in labels.items())


def product_samples(product: Product, instance: DagsterInstance) -> Iterator[Sample]:
    """Everything that is told of a product; of one whose store cannot be asked, what Dagster knows."""
    try:
        told = list(_releases(product))
    except OdanonError:
        told = []
    yield Sample("odanon_store_reachable", {"product": product.product}, float(bool(told)))
    yield from told
    yield from _stages(product, instance)
    yield from _checks(product, instance)
    yield Sample("odanon_failed_days", {"product": product.product}, len(failed_days(product, instance)))


def broken_samples(broken: Iterable[Path]) -> Iterator[Sample]:
    """A sample for every product file that cannot be used."""
    return (Sample("odanon_product_broken", {"file": path.name}, 1) for path in broken)


def failed_days(product: Product, instance: DagsterInstance) -> list[str]:
    """Days that a run wanted to publish, and did not, since they were last published; days and longer windows alike."""
    last = {day_stages(product)[-1].name, stages_of(product)[-1].name}
    tried = [attempts(product, instance, stage) for stage in sorted(last)]
    return [day for found in tried for day, run in found.items() if run.status in _BAD]


def _releases(product: Product) -> Iterator[Sample]:
    store, name = open_store(product), {"product": product.product}
    standings = store.standings(product.product)
    windows = [day for day, standing in standings.items() if standing == "published"]
    yield Sample("odanon_published_days", name, len(windows))
    yield Sample("odanon_withdrawn_days", name, sum(standing == "withdrawn" for standing in standings.values()))
    if not windows:
        return
    latest = date.fromisoformat(windows[-1])
    start = datetime.combine(latest, time(), product.zone).timestamp()
    yield Sample("odanon_last_published_day_seconds", name, start)
    manifest = json.loads(store.manifest_text(str(store.released(product.product, latest))))
    for told, metric in (("metrics", "odanon_release"), ("input_counts", "odanon_input")):
        for figure, value in manifest.get(told, {}).items():
            if isinstance(value, int | float):
                yield Sample(metric, {**name, "figure": figure}, value)


def _stages(product: Product, instance: DagsterInstance) -> Iterator[Sample]:
    for stage in stages_of(product):
        event = instance.get_latest_materialization_event(asset_key(product, stage.name))
        if event is None or event.asset_materialization is None:
            continue
        figures, labels = event.asset_materialization.metadata, {"product": product.product, "stage": stage.name}
        # A day that was recorded after a kill has the figures of its lake and no times.
        if "seconds" in figures:
            yield Sample("odanon_stage_seconds", labels, float(str(figures["seconds"].value)))
        if "peak_memory_mb" in figures:
            megabytes = float(str(figures["peak_memory_mb"].value))
            yield Sample("odanon_stage_peak_memory_bytes", labels, megabytes * 2**20)


def _checks(product: Product, instance: DagsterInstance) -> Iterator[Sample]:
    """The latest evaluations; a check that a day did not reach says what it said before."""
    for check in checks_of(product):
        key = AssetCheckKey(asset_key(product, check.stage), check.name)
        for record in instance.event_log_storage.get_asset_check_execution_history(
            key, limit=1, status=COMPLETED_ASSET_CHECK_EXECUTION_RECORD_STATUSES
        ):
            severity = "error" if check.blocking else "warning"
            labels = {"product": product.product, "stage": check.stage, "check": check.name, "severity": severity}
            yield Sample("odanon_check_passed", labels, float(record.status == _PASSED))
