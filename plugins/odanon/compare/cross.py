"""Protecting participants or the population: the same matrix, measured on both (004; 002 section 5.2)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from odanon.compare.plan import Case
from odanon.metrics.volumes import flow_weights
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.report.compared_tables import compared_figures

_SLACK = 1e-9  # relative; sums of weights depend on their order in the last digits

_VIEWS = {"participants": "", "population": "_population"}


def counted_by_weight(od: ODMatrix, unit: float) -> ODMatrix:
    """The matrix with weights in place of trips, in whole units, as the papers multiply trips by representativeness.

    Fractions are dropped, so that what reaches the threshold in units reaches it in weight.
    """
    assert od.pairs.weight is not None
    units = np.maximum(1, np.floor(od.pairs.weight / unit)).astype(np.int64)
    return ODMatrix(od.pairs.origin, od.pairs.destination, units)


def recounted(od: ODMatrix, release: Release) -> Release:
    """A release of `counted_by_weight` with the trips, people and weights of the matrix itself."""
    flow, n = release.assignment["flow"].to_numpy(), len(release.flows)
    kept = flow >= 0
    assert od.person is not None
    row_flow = flow[od.row_pair]
    n_people = int(od.person.max(initial=0)) + 1
    seen = pd.unique(row_flow[row_flow >= 0] * n_people + od.person[row_flow >= 0])
    flows = release.flows.assign(
        trips=np.bincount(flow[kept], od.pairs.trips[kept], n).astype(np.int64),
        persons=pd.array(np.bincount(seen // n_people, minlength=n), dtype="Int64"),
        weight=flow_weights(od, release),
    )
    return replace(release, flows=flows, assignment=release.assignment.assign(trips=od.pairs.trips))


def below_thresholds(case: Case, matrices: Mapping[Any, ODMatrix], releases: Mapping[Any, Release]) -> dict[str, int]:
    """Published cells with fewer than k people, and with less weight than k people stand for."""
    assert case.k_population is not None
    least = case.k_population * (1 - _SLACK)
    weights = [flow_weights(matrices[name], release) for name, release in releases.items()]
    return {
        "cells_below": sum(int((release.flows["persons"] < case.k).sum()) for release in releases.values()),
        "cells_below_population": sum(int((weight < least).sum()) for weight in weights),
    }


def cross_table(compared: pd.DataFrame) -> pd.DataFrame:
    """One row per case and view that it is measured on: least k, cells below, shape and metrics.

    `protect` and `threshold` say what was promised, `measured_on` whose volumes the metrics sum.
    """
    headed = [figure.name for figure in compared_figures()]
    metrics = [name for name in headed if f"{name}_population" in compared]
    rows = []
    for row in compared[compared["protect"] != ""].to_dict("records"):
        threshold = {"persons": "k persons", "population": "k persons and their weight", "trips": "k trips"}
        told = threshold.get(row["unit"], "weight alone")
        safe = row["unit"] in ("persons", "population")
        for view, suffix in _VIEWS.items():
            rows.append(
                {
                    "segment": row["segment"],
                    "algorithm": row["algorithm"],
                    "k": row["k"],
                    "protect": row["protect"],
                    "threshold": told if safe else f"{told} (unsafe)",
                    "measured_on": view,
                    "status": row["status"],
                    "least": row.get("min_persons" if view == "participants" else "min_weight"),
                    "needed": row["k"] if view == "participants" else row["k_population"],
                    "cells_below": row.get(f"cells_below{suffix}"),
                    "origins": row.get("origin_areas"),
                    "destinations": row.get("destination_areas"),
                    **{name: row.get(f"{name}{suffix}") for name in metrics},
                }
            )
    return pd.DataFrame(rows)
