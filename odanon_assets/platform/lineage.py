"""The stages of a day as OpenLineage events, for catalogues outside Dagster.

The settings of the official client switch it on; without them it is not imported. Events hold names, columns, row
counts that the UI shows too, and our own sentences: no rows, no messages of others (PRIVACY rule 9).
"""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from uuid import NAMESPACE_OID, uuid5

from odanon.extras import remedy
from odanon.model.window import window_instants
from odanon.product import Product
from odanon_assets.chain.day import Checked, Event, Made, Stopped
from odanon_assets.chain.stages import stages_of
from odanon_assets.checks.columns import TABLES
from odanon_assets.lake.places import DAY_STAGES

PATIENCE_S = 3  # how long a day waits for the collector; the client alone would try for up to 40 seconds
_SWITCHES = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG", "OPENLINEAGE__TRANSPORT", "OPENLINEAGE__TRANSPORT__TYPE")


class _Work(NamedTuple):
    """A stage's work: from when to when, the figures of what it made (None: nothing), why the day stopped there."""

    stage: str
    started: datetime
    ended: datetime
    figures: dict[str, Any] | None
    error: str = ""


class Lineage:
    """Tells a collector of the days of a run; one that fails is left alone from then on, and the run goes on."""

    def __init__(self, product: Product, complain: Callable[[str], None]) -> None:
        self.product, self.complain, self.on = product, complain, _configured()

    def follow(self, day: date, run: str, events: Iterator[Event]) -> Iterator[Event]:
        """Pass the events of a day on and, once it has ended, tell of its stages; `run` names this try of the day."""
        done: list[_Work] = []
        started = datetime.now(UTC)
        for event in events:
            now = datetime.now(UTC)
            match event:
                case Made(stage, figures):
                    done.append(_Work(stage, started, now, figures))
                case Stopped(stage, sentence) if done and done[-1].stage == stage:  # by a check of what it made
                    done[-1] = done[-1]._replace(ended=now, error=sentence)
                case Stopped(stage, sentence):
                    done.append(_Work(stage, started, now, None, sentence))
            yield event
            if isinstance(event, Made | Checked):  # what may come next is another stage's
                started = datetime.now(UTC)
        if self.on and (trouble := self._tell(day, run, done)):
            self.on = False
            self.complain(f"OpenLineage: {trouble}; the run goes on without it")

    def _tell(self, day: date, run: str, done: list[_Work]) -> str:
        """Send the events of a day. What went wrong, if anything: not the client's words, which may hold a password."""
        try:
            from openlineage.client import OpenLineageClient
        except Exception:
            return f"the client is missing or broken; {remedy('openlineage')}"
        trouble = [f"the collector did not answer within {PATIENCE_S} s"]

        def send() -> None:
            try:
                with closing(OpenLineageClient()) as client:
                    for work in done:
                        for event in _events(self.product, day, run, work):
                            client.emit(event)
                trouble[0] = ""
            except Exception as error:
                trouble[0] = f"the collector could not be told ({type(error).__name__})"

        sender = Thread(target=send, name="openlineage", daemon=True)
        sender.start()
        sender.join(PATIENCE_S)
        return trouble[0]


def _configured() -> bool:
    """Whether the client would find a collector to send to."""
    found = any(map(os.environ.get, _SWITCHES))
    with suppress(OSError):  # a home or working folder that is closed or gone holds no settings
        folders = (Path.cwd(), Path(os.path.expanduser("~/.openlineage")))
        found = found or any((folder / "openlineage.yml").is_file() for folder in folders)
    return found and os.environ.get("OPENLINEAGE_DISABLED", "").strip().lower() != "true"


def _events(product: Product, day: date, run: str, work: _Work) -> Iterator[Any]:
    """The start and the end of a stage's work."""
    from openlineage.client import event_v2 as ol
    from openlineage.client.facet_v2 import error_message_run, nominal_time_run

    ol.set_producer("urn:odanon")
    name, space = product.product, os.environ.get("OPENLINEAGE_NAMESPACE") or "odanon"
    length = "day" if work.stage in DAY_STAGES else product.publish.window
    window = (instant.isoformat() for instant in window_instants(day, product.zone, length))
    facets: dict[str, Any] = {"nominalTime": nominal_time_run.NominalTimeRunFacet(*window)}
    failed = {"errorMessage": error_message_run.ErrorMessageRunFacet(work.error, "PYTHON")} if work.error else {}
    end = ol.RunState.FAIL if failed else ol.RunState.COMPLETE
    made = [] if work.figures is None else [_output(product, space, work.stage, work.figures)]
    # A source is named by its kind alone: its path or address may hold a secret.
    (needed,) = (stage.upstream for stage in stages_of(product) if stage.name == work.stage)
    upstream = needed or (f"source.{product.source.plugin}",)
    for state, when, more, outputs in ((ol.RunState.START, work.started, {}, []), (end, work.ended, failed, made)):
        yield ol.RunEvent(
            eventType=state,
            eventTime=when.isoformat(),
            run=ol.Run(str(uuid5(NAMESPACE_OID, f"{run}/{work.stage}")), {**facets, **more}),
            job=ol.Job(space, f"{name}.{work.stage}"),
            inputs=[ol.InputDataset(space, f"{name}.{of}") for of in upstream],
            outputs=outputs,
        )


def _output(product: Product, space: str, stage: str, figures: dict[str, Any]) -> Any:
    """A stage's main table: its columns, the columns they come from, and how many rows the public one got."""
    from openlineage.client.event_v2 import OutputDataset
    from openlineage.client.facet_v2 import column_lineage_dataset, output_statistics_output_dataset, schema_dataset

    def source(column: str) -> column_lineage_dataset.InputField:
        of, _, field = column.partition(".")
        return column_lineage_dataset.InputField(space, f"{product.product}.{of}", field)

    facets: dict[str, Any] = {}
    if stage in TABLES:
        columns = TABLES[stage].columns
        fields = [schema_dataset.SchemaDatasetFacetFields(c.name, c.kind, c.meaning) for c in columns]
        lineage = {c.name: column_lineage_dataset.Fields([*map(source, c.made_from)]) for c in columns if c.made_from}
        facets["schema"] = schema_dataset.SchemaDatasetFacet(fields)
        facets["columnLineage"] = column_lineage_dataset.ColumnLineageDatasetFacet(lineage)
    counted: dict[str, Any] = {}
    if stage == "published":  # rows of people could be subtracted from
        rows = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(figures["flows"])
        counted["outputStatistics"] = rows
    return OutputDataset(space, f"{product.product}.{stage}", facets=facets, outputFacets=counted)
