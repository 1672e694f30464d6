"""Whether the tables of a stage have the columns that are declared."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from odanon.checking import Verdict
from odanon.product import Product
from odanon_assets.checks.check import Run
from odanon_assets.checks.columns import COUNT, DATE, NUMBER, TABLES, TEXT, TIME
from odanon_assets.lake.lake import Lake

_KINDS: dict[str, Callable[[pa.DataType], bool]] = {
    TEXT: lambda t: pa.types.is_large_string(t) or pa.types.is_string(t) or pa.types.is_dictionary(t),
    COUNT: pa.types.is_integer,
    NUMBER: lambda t: pa.types.is_floating(t) or pa.types.is_integer(t),
    TIME: pa.types.is_timestamp,
    DATE: pa.types.is_date,
}


def schema(stage: str) -> Run:
    """Every promised column is there with its kind; the tables of ready sources have their own."""

    def run(product: Product, lake: Lake, day: date) -> Verdict:
        table = TABLES[stage]
        if stage in ("traces", "staypoints", "trips") and product.source.instance.enters != "traces":
            return Verdict(True, f"the source gives {product.source.instance.enters}, whose columns it checks itself")
        paths = sorted(lake.read(product.product, stage, day).glob(table.files))
        wrong = sorted({fault for path in paths for fault in _faults(path, {c.name: c.kind for c in table.columns})})
        sentence = f"{'; '.join(wrong)}" if wrong else f"{len(table.columns)} columns as declared"
        return Verdict(bool(paths) and not wrong, sentence if paths else f"there is no {table.files}")

    return run


def _faults(path: Path, promised: dict[str, str]) -> list[str]:
    """What is wrong with a file's columns, one phrase each."""
    found = pq.read_schema(path)
    missing = [f"column {name} is missing" for name in promised if name not in found.names]
    other = [
        f"column {name} is no {kind}"
        for name, kind in promised.items()
        if name in found.names and not _KINDS[kind](found.field(name).type)
    ]
    return missing + other
