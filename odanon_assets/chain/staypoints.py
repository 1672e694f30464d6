"""The second stage: where and when people stayed."""

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from odanon.errors import OdanonError
from odanon.model.figure import Figure
from odanon.model.window import day_window
from odanon.plugin import parameters_of
from odanon.product import Product
from odanon.protocols import Engine, StayDetector
from odanon.risk.telling import told_reasons
from odanon.traces.recordings import completely_recorded
from odanon_assets.lake.files import read_frame, write_parquet
from odanon_assets.lake.lake import Lake, write_figures
from odanon_assets.lake.origin import carry

FIGURES = (
    Figure("staypoints", "stay points", "stays found", kind="count", tells_suppressed="yes"),
    Figure(
        "people_with_stays", "people with stays", "people who stayed somewhere", kind="count", tells_suppressed="yes"
    ),
    Figure(
        "people_incomplete",
        "people incompletely recorded",
        "people left out because points are missing in too many hours",
        kind="count",
        tells_suppressed="yes",
    ),
)


def staypoints(product: Product, lake: Lake, day: date, *, staypoints: StayDetector, engine: Engine) -> dict[str, Any]:
    """Detect the stays of everybody whose recording is complete enough, bucket by bucket.

    A source of ready trips or OD rows has none.
    """
    limit, read = product.checks.max_quarantined, lake.figures(product.product, "traces", day)
    if read["quarantined_share"] > limit:
        raise OdanonError(
            f"{product.product} {day}: more of the input rows are bad than checks.max_quarantined = {limit:.1%}"
            f" allows{told_reasons(read, product.anonymize.promise.k)}; repair the source or raise the limit knowingly"
        )
    source, (start, end) = product.source.instance, day_window(day, product.zone)
    buckets = lake.buckets(product.product, "traces", day) if source.enters == "traces" else []
    with lake.new(product.product, "staypoints", day) as folder:

        def detect(path: Path) -> tuple[int, int, int]:
            points = read_frame(path)
            kept = completely_recorded(source, points, start, end)
            stays = staypoints.detect(kept)
            write_parquet(stays, folder / path.name)
            left_out = points["person"].nunique() - kept["person"].nunique()
            return len(stays), int(stays["person"].nunique()), int(left_out)

        counts = np.array([*engine.map(detect, buckets), (0, 0, 0)]).sum(axis=0).tolist()
        figures = dict(zip((figure.name for figure in FIGURES), counts, strict=True))
        told = {"plugin": product.staypoints.plugin, **parameters_of(staypoints)}
        carry(lake, product, "traces", day, folder, staypoints=told)
        return write_figures(folder, figures)
