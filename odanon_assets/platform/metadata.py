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

from odanon.product import Product
from odanon_assets.chain.metrics import RISK
from odanon_assets.checks.columns import TABLES
from odanon_assets.platform.partitions import asset_key

# Figures that count no people and no rows of people.
_HARMLESS = {
    "cpu_seconds",
    "destination_areas",
    "flows",
    "fresh",
    "levels",
    "nodes",
    "origin_areas",
    "peak_memory_mb",
    "seconds",
    "segments",
    "tiles",
    "time_bins",
    "unreadable_neighbours",
    "zones",
}
_RATIOS = {"D", "E", "Gbar", "S_share", "quarantined_share", "unknown_zone_share"}
PUBLISHED_URL_VARIABLE = "ODANON_PUBLISHED_URL"  # where a web server shows the folder `published`, for links to reports
# From which fewer than k suppressed trips could be computed.
_TELL_SUPPRESSED = {"D", "E", "G", "S_share", "absolute_error", "published"}
_STEPS = (10, 5, 2, 1)


def stage_metadata(figures: dict[str, Any], k: int) -> dict[str, Any]:
    """The figures of a stage fit for the UI."""
    shown: dict[str, Any] = {}
    hidden = _TELL_SUPPRESSED if 0 < figures.get("S", 0) < k else set()
    for name, value in figures.items():
        if name in hidden:
            continue
        if isinstance(value, bool | str) or name in _HARMLESS | _RATIOS or name.startswith(RISK):
            shown[name] = value
        elif name == "min_persons":
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
