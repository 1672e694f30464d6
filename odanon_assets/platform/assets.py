"""The assets of a product: one per stage, made day by day inside one step; longer windows have a step of their own.

A run covers one day or a range of days. Days are independent: a bad one is left where it stopped, the others go on,
and the run fails at the end with the bad days' own words. Every stage and check is recorded the moment it ends, so a
run that is killed leaves true records and its retry does only what is missing.

A trial materialises nothing and evaluates no check as far as Dagster knows: what it found are observations, so that no
partition turns green or red for what readers never see.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, timedelta

from dagster import (
    AssetCheckEvaluation,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetDep,
    AssetExecutionContext,
    AssetKey,
    AssetMaterialization,
    AssetObservation,
    AssetsDefinition,
    AssetSpec,
    BackfillPolicy,
    Config,
    DagsterInstance,
    Failure,
    FreshnessPolicy,
    MetadataValue,
    TimeWindowPartitionMapping,
    multi_asset,
)
from dagster._core.storage.tags import SCHEDULE_NAME_TAG, SENSOR_NAME_TAG
from pydantic import Field

from odanon.product import Product
from odanon.product.windows import is_longer
from odanon_assets.chain.day import Checked, Event, Made, Stopped, Tried, run_day
from odanon_assets.chain.stages import Stage, day_stages, stages_of, window_stages
from odanon_assets.checks.catalogue import checks_of
from odanon_assets.checks.check import Check
from odanon_assets.checks.delivery import COMPLETE
from odanon_assets.checks.late import LATE_DATA
from odanon_assets.derived.segments import Shown
from odanon_assets.lake.places import DAY_STAGES
from odanon_assets.platform.derived_assets import segment_events
from odanon_assets.platform.lineage import Lineage
from odanon_assets.platform.metadata import owners, report_metadata, stage_metadata, table_metadata
from odanon_assets.platform.partitions import asset_key, partitions_of
from odanon_assets.platform.recovery import begin, finished_days, forget_unreached, leave_to_people
from odanon_assets.platform.resources import POOL, resource_key
from odanon_assets.platform.resources import STAGES as PLUGIN_STAGES
from odanon_assets.stores.choice import store_kinds
from odanon_assets.watch.progress import announce_end, announce_warning
from odanon_assets.watch.quiet import hush_destructors

DAYS_PER_RUN = 30
RETRY_AFTER = (10, 60, 300)  # seconds before each further try of days that met a transient trouble
WINDOWS_PER_RUN = 12
# A schedule publishes a day every day, a longer window when it is over; what is later than that is shown as overdue.
_OVERDUE = {
    length: FreshnessPolicy.time_window(
        fail_window=timedelta(days=days - 1, hours=50), warn_window=timedelta(days=days - 1, hours=26)
    )
    for length, days in (("day", 1), ("week", 7), ("month", 31))
}
_TICKS = {SCHEDULE_NAME_TAG, SENSOR_NAME_TAG}  # of runs that the platform asked for by itself
_Recorded = AssetMaterialization | AssetObservation | AssetCheckEvaluation


class RunOptions(Config):
    """What a run can be asked for in its config, beside its days."""

    trial: bool = Field(
        default=False,
        description="publish nothing, and say what publication would have said; a product with status: trial makes nothing else",
    )
    accept_incomplete: bool = Field(
        default=False,
        description="take days as they are although they were not delivered whole, on the terms under arrival",
    )


def product_assets(product: Product) -> AssetsDefinition:
    """The stages of the days of a product with their checks: all stages, but for longer windows."""
    return _assets(product, step_name(product), day_stages(product), DAYS_PER_RUN)


def window_assets(product: Product) -> AssetsDefinition:
    """The stages of the longer windows of a product with their checks."""
    return _assets(product, window_step_name(product), window_stages(product), WINDOWS_PER_RUN)


def _assets(product: Product, name: str, chain: tuple[Stage, ...], per_run: int) -> AssetsDefinition:
    """Some stages that have their partitions in common."""
    used = [stage for stage in PLUGIN_STAGES if any(stage in each.plugins for each in chain)]
    ours = {stage.name for stage in chain}
    of_window = chain == window_stages(product)

    @multi_asset(
        name=name,
        specs=[_spec(product, stage) for stage in chain],
        check_specs=[_check_spec(product, check) for check in checks_of(product) if check.stage in ours],
        partitions_def=partitions_of(product, chain[-1].name),
        backfill_policy=BackfillPolicy.multi_run(max_partitions_per_run=per_run),
        can_subset=True,
        pool=POOL,
        required_resource_keys={resource_key(product, stage) for stage in used},
    )
    def days(context: AssetExecutionContext, config: RunOptions) -> Iterator[_Recorded]:
        trial = config.trial or product.status == "trial"
        begin(context.instance, context.run_id, trial=trial)
        hush_destructors()
        plugins = {stage: getattr(context.resources, resource_key(product, stage)).plugin() for stage in used}
        stages = {key.path[-1] for key in context.selected_asset_keys}
        checks = {(key.asset_key.path[-1], key.name) for key in context.selected_asset_check_keys}
        waiting = sorted(set(context.partition_keys) - finished_days(context.instance, context.run, chain[-1].name))
        unasked = bool(_TICKS & context.run.tags.keys())
        stopped: dict[str, Stopped] = {}
        lineage = Lineage(product, context.log.warning)
        for attempt, pause in enumerate((0, *RETRY_AFTER)):
            if pause and waiting:
                context.log.warning(f"days that met a transient trouble: {len(waiting)}; next try in {pause} s")
                time.sleep(pause)
            for key in waiting:
                stopped.pop(key, None)
                note, refused = "done", ""
                day = date.fromisoformat(key)
                events = run_day(
                    product, day, stages, checks, plugins, trial=trial, accept_incomplete=config.accept_incomplete
                )
                if not trial:  # catalogues hear of what was made, not of what might be
                    events = lineage.follow(day, f"{context.run_id}/{key}/{attempt}", events)
                for event in map(_waiting, events) if unasked else events:
                    match event:
                        case Stopped(_, sentence, trace=trace):
                            stopped[key] = event
                            context.log.error(f"{key}: {sentence}\n{trace}".rstrip())
                        case Tried(outcome, trace=trace):
                            refused = "" if outcome.would_publish else f"trial: {outcome.sentence}"
                            context.log.info(f"{key}: trial: {outcome.sentence}\n{trace}".rstrip())
                        case Checked(check, verdict) if not (verdict.passed or check.blocking or check is LATE_DATA):
                            told = part_name(product, key, of_window=of_window)
                            announce_warning(product.product, told, f"{check.stage} {check.name}", verdict.sentence)
                    note = _note(event, note)
                    yield from (
                        _observed(product, key, event) if trial else _recorded(context.instance, product, key, event)
                    )
                ending = _ending(stopped.get(key), last=attempt == len(RETRY_AFTER))
                announce_end(product.product, part_name(product, key, of_window=of_window), refused or ending, note)
            waiting = [key for key, why in stopped.items() if why.transient]
        forget_unreached(context.instance, context.run_id)
        if unasked:  # the next ticks look again; a person who asks for a day is told that it stopped
            stopped = {key: why for key, why in stopped.items() if not why.waits}
        if stopped and not trial:
            leave_to_people(context.instance, context.run_id)
            what = f"{product.publish.window}s" if of_window else "days"
            raise _failure(product, stopped, len(context.partition_keys), what)

    return days


def _waiting(event: Event) -> Event:
    """The check that finds a day short as a run keeps it that fails for no such day: Dagster fails those whose blocking check fails."""
    match event:
        case Checked(check, verdict) if check is COMPLETE:
            return Checked(replace(check, blocking=False), verdict)
    return event


def _ending(stop: Stopped | None, *, last: bool) -> str:
    """Why a day stopped and whether it is tried again; empty for a day that ended well."""
    if stop is None:
        return ""
    return f"{stop.sentence}; it will be tried again" if stop.transient and not last else stop.sentence


def _note(event: Event, note: str) -> str:
    """What people should know of a day that ended well."""
    match event:
        case Made("published", _):
            return "published"
        case Checked(check, verdict) if check is LATE_DATA and not verdict.passed:
            return verdict.sentence
        case Tried(outcome):
            return f"trial: {outcome.sentence}"
    return note


def _observed(product: Product, day: str, event: Event) -> Iterator[AssetObservation]:
    """An event of a trial as Dagster keeps it."""
    match event:
        case Made(stage, figures):
            metadata = {"trial": True, **stage_metadata(stage, figures, product.anonymize.promise.k)}
            yield AssetObservation(asset_key(product, stage), partition=day, metadata=metadata)
        case Tried(outcome, figures, checks):
            metadata = {
                "published": "no (trial)",
                "trial": outcome.sentence,
                "checks": MetadataValue.json(
                    {f"{each.check.stage} {each.check.name}": each.verdict.sentence for each in checks}
                ),
                **({} if outcome.report is None else {"report": MetadataValue.path(outcome.report)}),
                **stage_metadata("published", figures, product.anonymize.promise.k),
            }
            yield AssetObservation(
                asset_key(product, "published"),
                partition=day,
                description=f"Trial: {outcome.sentence}",
                metadata=metadata,
            )


def _recorded(
    instance: DagsterInstance, product: Product, day: str, event: Event
) -> Iterator[AssetMaterialization | AssetCheckEvaluation]:
    """An event of a day as Dagster keeps it."""
    match event:
        case Made(stage, figures):
            metadata = {
                **table_metadata(product, stage),
                **stage_metadata(stage, figures, product.anonymize.promise.k),
                **report_metadata(product, stage, date.fromisoformat(day), figures),
            }
            yield AssetMaterialization(asset_key(product, stage), partition=day, metadata=metadata)
        case Shown():
            yield from segment_events(instance, product, day, event)
        case Checked(check, verdict):
            yield AssetCheckEvaluation(
                check_name=check.name,
                asset_key=asset_key(product, check.stage),
                passed=verdict.passed,
                severity=AssetCheckSeverity.ERROR if check.blocking else AssetCheckSeverity.WARN,
                description=verdict.sentence,
                metadata={name: MetadataValue.float(float(value)) for name, value in verdict.figures.items()},
                partition=day,
                blocking=check.blocking,
            )


def _failure(product: Product, stopped: dict[str, Stopped], days: int, what: str) -> Failure:
    """What the run says at its end: the bad days or windows, each in its own words."""
    first = min(stopped)
    rest = f" and {len(stopped) - 1} more" if len(stopped) > 1 else ""
    return Failure(
        description=f"{product.product}: {len(stopped)} of {days} {what} failed: {first}: {stopped[first].sentence}{rest}",
        metadata={day: MetadataValue.text(why.sentence) for day, why in sorted(stopped.items())},
        allow_retries=False,
    )


def _spec(product: Product, stage: Stage) -> AssetSpec:
    live = product.status == "live"
    scheduled = stage.name == "published" and product.schedule is not None and live
    on_trial = "" if live else "\n\nOn trial: runs publish nothing and say what publication would have said."
    return AssetSpec(
        key=asset_key(product, stage.name),
        deps=[_dep(product, stage, name) for name in stage.upstream],
        skippable=True,
        group_name=product.slug,
        owners=owners(product),
        kinds={*stage.kinds, *(store_kinds(product) if stage.name == "published" else ())},
        tags={
            "product": product.product,
            "status": product.status,
            "access": "public" if stage.name == "published" else "restricted",
        },
        description=f"{stage.description}\n\nProduct: {product.title}.{on_trial}",
        metadata=table_metadata(product, stage.name),
        freshness_policy=_OVERDUE[product.publish.window] if scheduled else None,
    )


def _dep(product: Product, stage: Stage, upstream: str) -> AssetDep | AssetKey:
    """What a stage is made from; where days become windows, Dagster knows which days each window waits for."""
    key = asset_key(product, upstream)
    if upstream not in DAY_STAGES or stage.name in DAY_STAGES or not is_longer(product):
        return key
    # Days without a matrix are no partitions.
    return AssetDep(key, partition_mapping=TimeWindowPartitionMapping(allow_nonexistent_upstream_partitions=True))


def _check_spec(product: Product, check: Check) -> AssetCheckSpec:
    return AssetCheckSpec(
        name=check.name,
        asset=asset_key(product, check.stage),
        blocking=check.blocking,
        description=check.description,
        partitions_def=partitions_of(product, check.stage),
    )


def step_name(product: Product) -> str:
    """The name under which run config speaks to the step of a product."""
    return f"{product.slug}_day"


def part_name(product: Product, key: str, *, of_window: bool) -> str:
    """What people call the partition of a run: the day, or a longer window by its first day."""
    return f"{product.publish.window} from {key}" if of_window else key


def window_step_name(product: Product) -> str:
    """The same of the step of its longer windows."""
    return f"{product.slug}_{product.publish.window}"


def stage_keys(product: Product, stages: Iterable[Stage] | None = None) -> list[AssetKey]:
    """The keys of some stages of a product, or of all."""
    return [asset_key(product, stage.name) for stage in stages or stages_of(product)]
