"""The second stage: where and when people stayed."""

from datetime import date
from pathlib import Path
from typing import Any

from odanon.errors import OdanonError
from odanon.model.figure import Figure
from odanon.plugin import parameters_of
from odanon.product import Product
from odanon.protocols import Engine, StayDetector
from odanon.risk.telling import told_reasons
from odanon_assets.lake.files import read_frame, write_parquet
from odanon_assets.lake.lake import Lake, write_figures
from odanon_assets.lake.origin import carry

FIGURES = (
    Figure("staypoints", "stay points", "stays found", kind="count", tells_suppressed="yes"),
    Figure(
        "people_with_stays", "people with stays", "people who stayed somewhere", kind="count", tells_suppressed="yes"
    ),
)


def staypoints(product: Product, lake: Lake, day: date, *, staypoints: StayDetector, engine: Engine) -> dict[str, Any]:
    """Detect the stays of every person, bucket by bucket; a source of ready trips or OD rows has none."""
    limit, read = product.checks.max_quarantined, lake.figures(product.product, "traces", day)
    if read["quarantined_share"] > limit:
        raise OdanonError(
            f"{product.product} {day}: more of the input rows are bad than checks.max_quarantined = {limit:.1%}"
            f" allows{told_reasons(read, product.anonymize.promise.k)}; repair the source or raise the limit knowingly"
        )
    buckets = lake.buckets(product.product, "traces", day) if product.source.instance.enters == "traces" else []
    with lake.new(product.product, "staypoints", day) as folder:

        def detect(path: Path) -> tuple[int, int]:
            stays = staypoints.detect(read_frame(path))
            write_parquet(stays, folder / path.name)
            return len(stays), int(stays["person"].nunique())

        counts = list(engine.map(detect, buckets))
        figures = {"staypoints": sum(n for n, _ in counts), "people_with_stays": sum(p for _, p in counts)}
        told = {"plugin": product.staypoints.plugin, **parameters_of(staypoints)}
        carry(lake, product, "traces", day, folder, staypoints=told)
        return write_figures(folder, figures)
