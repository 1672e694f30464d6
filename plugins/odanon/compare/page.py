"""The report of a comparison, from the folders that its runs left."""

from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd

from odanon.compare.plan import Case, Plan
from odanon.report.compare import CaseTables, render_comparison
from odanon.tables.read import Loaded

_BUSIEST = 12
_DRAWN_K = 10


def comparison_page(plan: Plan, compared: pd.DataFrame, loaded: Loaded) -> str:
    """The page; areas are drawn for the k nearest to 10 and only where the tiles have a place."""
    map_k = min(compared["k"], key=lambda k: (abs(k - _DRAWN_K), k))
    done = compared[(compared["status"] == "done") & (compared["k"] == map_k)]
    wanted = [case for case in plan.cases if case.k == map_k and case.algorithm in set(done["algorithm"])]
    facts: dict[str, Any] = {
        "map_k": int(map_k),
        "byline": f"{plan.table.path.name} · hierarchy {loaded.tree.kind} of {loaded.tree.n_leaves:,} tiles",
        "summary": _summary(compared, loaded),
    }
    releases = [] if loaded.tiles.kind == "unplaced" else [_tables(plan, case) for case in wanted]
    busiest = _busiest(plan, wanted, loaded)
    return render_comparison(f"Anonymising {plan.table.path.stem}", compared, releases, busiest, facts)


def _summary(compared: pd.DataFrame, loaded: Loaded) -> str:
    volume = sum(od.volume for od in loaded.matrices.values())
    pairs = sum(len(od.pairs.trips) for od in loaded.matrices.values())
    ks = ", ".join(map(str, sorted(compared["k"].unique())))
    return (
        f"{compared['algorithm'].nunique()} algorithms at k = {ks} on {volume:,} trips in {pairs:,} tile pairs"
        f" ({len(loaded.matrices):,} matrices), unit {compared['unit'].iloc[0]}, at most"
        f" {compared['suppression'].iloc[0]:.0%} suppressed. All releases are measured alike."
    )


def _release(plan: Plan, case: Case) -> Path:
    return plan.result(case).with_name("release")


def _tables(plan: Plan, case: Case) -> CaseTables:
    flows = pd.read_parquet(_release(plan, case) / "flows.parquet", columns=["origin", "destination", "trips"])
    summed = flows.groupby(["origin", "destination"], as_index=False)["trips"].sum()
    return CaseTables(case.algorithm, summed, geopandas.read_parquet(_release(plan, case) / "zones.parquet"))


def _busiest(plan: Plan, wanted: list[Case], loaded: Loaded) -> pd.DataFrame:
    """The largest tile pairs of the table and what each release gives back for them."""
    labels = loaded.tree.label[loaded.tree.tiles]
    original = pd.concat(
        pd.DataFrame(
            {"origin": labels[od.pairs.origin], "destination": labels[od.pairs.destination], "original": od.pairs.trips}
        )
        for od in loaded.matrices.values()
    )
    keys = ["origin", "destination"]
    busiest = original.groupby(keys, as_index=False)["original"].sum()
    busiest = busiest.sort_values(["original", *keys], ascending=[False, True, True]).head(_BUSIEST)
    for case in wanted:
        spread = _spread(_release(plan, case)).reindex(pd.MultiIndex.from_frame(busiest[keys]), fill_value=0.0)
        busiest[case.algorithm] = np.round(spread.to_numpy(), 1)
    return busiest.reset_index(drop=True)


def _spread(folder: Path) -> pd.Series:
    """Trips given back to each input pair: its flow's trips over |o| x |d|, added over time."""
    flows = pd.read_parquet(folder / "flows.parquet")
    time = ["time"] if "time" in flows.columns else []
    pairs = pd.read_parquet(folder / "assignment.parquet")
    named = pairs[~pairs["suppressed"]].merge(
        flows,
        left_on=[*time, "published_origin", "published_destination"],
        right_on=[*time, "origin", "destination"],
        suffixes=("", "_flow"),
    )
    share = named["trips_flow"] / (named["origin_tiles"] * named["destination_tiles"])
    return share.groupby([named["origin"], named["destination"]]).sum()
