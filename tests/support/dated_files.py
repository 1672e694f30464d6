"""A small town whose points come in files by day, for tests of arrivals, bad days and late data."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from product_example import SMALL, small_product

from odanon.product import Product
from odanon.simulate.source import Simulated

FIRST = date(2026, 3, 2)


def day_of(number: int) -> date:
    return FIRST + timedelta(days=number)


def write_day(folder: Path, day: date, *, dirt: float = 0.0, people: int = 150, name: str = "points") -> None:
    """One UTC day of the simulated town as Parquet files."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    town = Simulated(people=people, seed=3, radius_km=3, dirt=dirt)
    target = folder / f"date={day}"
    target.mkdir(parents=True, exist_ok=True)
    for number, batch in enumerate(town.batches(start, start + timedelta(days=1))):
        batch.to_parquet(target / f"{name}-{number}.parquet")


def files_product(workspace: Path, **changes: Any) -> Product:
    """The small product, reading `source/date=...` of the workspace; a bad file spoils no neighbouring day."""
    source = {"plugin": "points", "path": str(workspace / "source" / "date={date}")}
    plain = {**SMALL, "source": source, "context": "0s", "timezone": "UTC", "checks": {"max_quarantined": 0.05}}
    return small_product(workspace / "pipelines", **{**plain, **changes})
