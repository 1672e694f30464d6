"""What the platform's UI shows of a stage: numbers that plot over days, links, columns; never rows.

Counts of people or of their rows between 1 and k-1 are left out (PRIVACY rule 9).
"""

import os
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

from odanon.model.figure import Figure
from odanon.product import Product
from odanon_assets.chain.stages import declared_figures
from odanon_assets.checks.columns import TABLES
from odanon_assets.platform.partitions import asset_key

PUBLISHED_URL_VARIABLE = "ODANON_PUBLISHED_URL"  # where a web server shows the folder `published`, for links to reports
_STEPS = (10, 5, 2, 1)
# What is told of every stage.
_OF_RUNS = {
    figure.name: figure
    for figure in (
        Figure("seconds", "seconds", "time that the stage took", "s", kind="size"),
        Figure("cpu_seconds", "CPU seconds", "work that the stage took", "s", kind="size"),
        Figure("peak_memory_mb", "peak memory", "of the process while the stage worked", "MB", kind="size"),
    )
}


def stage_metadata(figures: dict[str, Any], k: int) -> dict[str, Any]:
    """The figures of a stage fit for the UI, as they declare themselves; an undeclared number counts people."""
    shown: dict[str, Any] = {}
    declared, few = {**declared_figures(), **_OF_RUNS}, 0 < figures.get("S", 0) < k
    for name, value in figures.items():
        figure = declared.get(name)
        if few and figure is not None and figure.tells_suppressed != "no":
            continue
        if isinstance(value, bool | str) or (figure is not None and figure.kind in ("ratio", "size")):
            shown[name] = value
        elif figure is not None and figure.kind == "fewest":
            shown |= _smallest(value, k)
        elif isinstance(value, int | float) and not 0 < value < k:
            shown[name] = value
        elif name == "reasons":
            shown[name] = MetadataValue.json({reason: _masked(count, k) for reason, count in value.items()})
        elif isinstance(value, dict):
            shown[name] = MetadataValue.json(value)
    if "folder" in figures:
        shown["folder"] = MetadataValue.path(figures["folder"])
        shown["report"] = _report(Path(figures["folder"]))
    return {name: value for name, value in shown.items() if value == value}  # a figure that is not a number is none


def _report(folder: Path) -> MetadataValue:
    """A link to the report where published files are served over the web, else its path."""
    served = os.environ.get(PUBLISHED_URL_VARIABLE, "").rstrip("/")
    if served:
        return MetadataValue.url(f"{served}/{folder.parents[1].name}/releases/{folder.name}/report.html")
    return MetadataValue.path(folder / "report.html")


def _smallest(people: float, k: int) -> dict[str, int]:
    """The lower edge of the band of the smallest flow; nothing when it is below k, which the verifier reports."""
    return next(({"min_people": k * step} for step in _STEPS if people >= k * step), {})


def _masked(count: int, k: int) -> int | str:
    return f"below {k}" if 0 < count < k else count


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
