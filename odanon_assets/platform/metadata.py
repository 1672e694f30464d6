"""What the platform's UI shows of a stage: numbers that plot over days, links, columns; never rows.

Whoever sees them may have the published tables too, so nothing may be subtracted to fewer than k (PRIVACY rules 9, 23).
"""

from datetime import date
from pathlib import Path
from typing import Any

from dagster import (
    MetadataValue,
    TableColumn,
    TableColumnConstraints,
    TableColumnDep,
    TableColumnLineage,
    TableSchema,
)

from odanon.errors import OdanonError
from odanon.model.figure import Figure
from odanon.product import Product
from odanon.risk.bands import rounded_down
from odanon.risk.figures import FIGURES as RISKS
from odanon.risk.telling import told
from odanon_assets.chain.stages import declared_figures
from odanon_assets.checks.columns import TABLES
from odanon_assets.derived.reports import REPORT, explorer_address, report_address, report_copy
from odanon_assets.platform.partitions import asset_key
from odanon_assets.stores.choice import open_store

_SHOWN_AS = {"min_persons": "min_people"}  # a band's edge, no count
_RESTRICTED = {figure.name for figure in RISKS if figure.public is None}
# What is told of every stage.
_OF_RUNS = {
    figure.name: figure
    for figure in (
        Figure("seconds", "seconds", "time that the stage took", "s", kind="size"),
        Figure("cpu_seconds", "CPU seconds", "work that the stage took", "s", kind="size"),
        Figure("peak_memory_mb", "peak memory", "of the process while the stage worked", "MB", kind="size"),
    )
}


def stage_metadata(stage: str, figures: dict[str, Any], k: int) -> dict[str, Any]:
    """The figures of a stage fit for the UI, as they declare themselves; an undeclared number is not shown.

    Before the metrics nobody knows how many people are behind what is left out. Counts that a reader could subtract
    published numbers from are therefore shown by the last stage, which tells them as the manifest does. Of fewer than k
    flows a ratio would show which of their tiles were visited; what the publisher alone may know of risks is in the
    working area. Where published numbers are perturbed, what follows from the true ones would undo their noise.
    """
    few, noisy = figures.get("flows", k) < k, figures.get("perturbed", False)
    declared = {
        name: figure
        for name, figure in {**declared_figures(stage), **_OF_RUNS}.items()
        if name not in _RESTRICTED and not (few and figure.kind == "ratio") and not (noisy and _of_true_numbers(figure))
    }
    shown: dict[str, Any] = {}
    for name, value in figures.items():
        if isinstance(value, bool | str):
            shown[name] = value
        elif name == "reasons":
            shown[name] = MetadataValue.json(
                {reason: n for reason, count in value.items() if (n := rounded_down(count, k))}
            )
        elif name == "parameters":
            shown[name] = MetadataValue.json(value)
        elif name in declared and (fit := told(declared[name], value, k, figures.get("left_out_people"))) is not None:
            shown[_SHOWN_AS.get(name, name)] = fit
    if "folder" in figures:
        shown["folder"] = MetadataValue.path(figures["folder"])
    return shown


def _of_true_numbers(figure: Figure) -> bool:
    """Whether a figure of a release follows from its numbers; what compares with the matrix, which readers lack, does not."""
    return figure.kind != "size" and (figure.public is None or figure.tells_suppressed == "no")


def report_metadata(product: Product, stage: str, day: date, figures: dict[str, Any]) -> dict[str, MetadataValue]:
    """A link to the report of a day that was published where reports are served over the web, else its path; and one to the explorer."""
    if stage != "published":
        return {}
    release = figures["release_id"]
    try:
        path = (
            Path(figures["folder"]) / REPORT
            if "folder" in figures
            else report_copy(open_store(product), product.product, day, release)
        )
    except OdanonError:  # taken away meanwhile, or the store is away: the day is published all the same
        return {}
    address = report_address(product.product, day, release if "folder" in figures else None)
    explorer = explorer_address(product.product)
    return {
        "report": MetadataValue.path(path) if address is None else MetadataValue.url(address),
        **({} if explorer is None else {"explore": MetadataValue.url(explorer)}),
    }


def table_metadata(product: Product, stage: str) -> dict[str, Any]:
    """The column schema and column lineage of a stage's main table."""
    if stage not in TABLES:
        return {}
    columns = TABLES[stage].columns
    schema = TableSchema(
        columns=[
            TableColumn(c.name, c.kind, c.meaning, constraints=TableColumnConstraints(nullable=False)) for c in columns
        ]
    )
    lineage = TableColumnLineage(
        {c.name: [_column_of(product, source) for source in c.made_from] for c in columns if c.made_from}
    )
    return {"dagster/column_schema": schema, "dagster/column_lineage": lineage}


def owners(product: Product) -> list[str]:
    """Who answers for a product's assets: a person by mail, or a team."""
    return [product.owner if "@" in product.owner else f"team:{product.owner}"]


def _column_of(product: Product, source: str) -> TableColumnDep:
    stage, column = source.split(".")
    return TableColumnDep(asset_key=asset_key(product, stage), column_name=column)
