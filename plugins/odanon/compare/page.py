"""The report of a comparison, from the folders that its runs left."""

import json
from math import inf
from typing import Any

import numpy as np
import pandas as pd

from odanon.compare.plan import EVERYBODY, NOT_VERIFIED, Case, Plan
from odanon.geo.ownfiles import read_outlines
from odanon.model.hierarchy import Hierarchy
from odanon.model.tiles import Tiles
from odanon.reconstruct.profile import time_profile
from odanon.reconstruct.readings import AUTO, EVEN, FITTED, PRIOR, WEIGHTED, spread_column
from odanon.reconstruct.tiles import themselves, tile_shares
from odanon.report.compare import render_comparison
from odanon.report.compare_maps import CaseTables
from odanon.report.compared_tables import empty_handed
from odanon.report.encode import encode_bins
from odanon.tables.read import Loaded
from odanon.tables.times import are_hours, is_interval, over_bins

_BUSIEST = 12
_WORDS = {FITTED: "by fitted weights", PRIOR: "by public weights", EVEN: "evenly"}
_DRAWN_K = 10


def comparison_page(plan: Plan, compared: pd.DataFrame, loaded: Loaded) -> str:
    """The page; areas are drawn for the k nearest to 10 and only where the tiles have a place."""
    map_k = min(compared["k"], key=lambda k: (abs(k - _DRAWN_K), k))
    drawn = [case for case in plan.cases if case.k == map_k and _is_shown(plan, case)]
    finished = [case for case in drawn if (plan.release(case) / "release.json").exists()]
    placed = loaded.tiles.kind != "unplaced"
    tables = {case.label: _Read.of(plan, case, placed, [*loaded.matrices]) for case in finished}
    facts: dict[str, Any] = {
        "map_k": int(map_k),
        "byline": f"{plan.table.path.name} · hierarchy {loaded.tree.kind} {_extent_of(loaded.tree)}",
        "summary": _summary(compared, loaded) + _read_as(tables),
        "bins": _bin_names(loaded),
        "labels": _bin_labels(_bin_names(loaded), plan.table.zone.key),
        "extent": _extent(loaded.tiles),
    }
    releases = [CaseTables(name, read.summed, read.zones) for name, read in tables.items()]
    profiles = _profiles(tables, loaded)
    first = plan.cases[0]
    main = compared[(compared["segment"] == EVERYBODY) & (compared["unit"] == first.unit)]
    return render_comparison(f"Anonymising {plan.table.path.stem}", compared, main, releases, profiles, facts)


def _extent_of(tree: Hierarchy) -> str:
    """How many tiles there are, and of how many the rows know; sizes of areas count all."""
    known, every = tree.n_leaves, int(tree.n_tiles.max())
    return f"of {known:,} tiles" if known == every else f"of {every:,} tiles, {known:,} of them with trips"


def _is_shown(plan: Plan, case: Case) -> bool:
    """Plots and maps show everybody, protected as the first case is: the first view of a cross table."""
    return case.segment == EVERYBODY and case.unit == plan.cases[0].unit


def _read_as(tables: "dict[str, _Read]") -> str:
    """How flows are spread back over tiles on this page, if not evenly all of them."""
    by_reading = {how: [name for name, read in tables.items() if read.reading == how] for how in (*WEIGHTED, EVEN)}
    if by_reading[EVEN] == list(tables):
        return ""
    parts = [f"{_WORDS[how]} ({', '.join(names)})" for how, names in by_reading.items() if names]
    return f" Flows are spread back over tiles {', '.join(parts)}."


def _summary(compared: pd.DataFrame, loaded: Loaded) -> str:
    volume = sum(od.volume for od in loaded.matrices.values())
    pairs = sum(len(od.pairs.trips) for od in loaded.matrices.values())
    ks = ", ".join(map(str, sorted(compared["k"].unique())))
    units = ", ".join(pd.unique(compared["unit"]))
    bins = f" of {len(loaded.matrices):,} time bins" if len(loaded.matrices) > 1 else ""
    noisy = pd.unique(compared.loc[compared["verifier"] == NOT_VERIFIED, "algorithm"])
    told = f" Not verified, since nobody can count their flows again: {', '.join(noisy)}." if len(noisy) else ""
    empty = compared[empty_handed(compared)]
    cases = dict.fromkeys(f"{name} (k = {k})" for name, k in zip(empty["algorithm"], empty["k"], strict=True))
    told += f" Published nothing: {', '.join(cases)}." if cases else ""
    return (
        f"{compared['algorithm'].nunique()} algorithms at k = {ks} on {volume:,} trips in {pairs:,} tile pairs"
        f"{bins}, unit {units}, at most"
        f" {compared['suppression'].iloc[0]:.0%} suppressed. All releases are measured alike, as far as their areas allow.{told}"
    )


def _extent(tiles: Tiles) -> list[float] | None:
    """West, south, east, north of the tiles and a little around them: what every map shows."""
    if tiles.kind == "unplaced":
        return None
    low, high = np.array([tiles.lon.min(), tiles.lat.min()]), np.array([tiles.lon.max(), tiles.lat.max()])
    margin = (high - low) * 0.04 + 0.002
    return [*(low - margin).tolist(), *(high + margin).tolist()]


def _bin_names(loaded: Loaded) -> list[str]:
    return [] if None in loaded.matrices else [str(name) for name in loaded.matrices]


def _bin_labels(names: list[str], timezone: str) -> list[str]:
    """What the page calls time bins: those that a clock has cut by its local time."""
    if not names or not all(map(is_interval, names)):
        return names
    start, end = (pd.Series(pd.to_datetime([name.split("/")[at] for name in names], utc=True)) for at in (0, 1))
    zone = "UTC" if are_hours(start, end) else timezone
    return [each["label"] for each in encode_bins(pd.DatetimeIndex(start), zone)]


class _Read:
    """The tables of a release folder, with one time bin where there are none."""

    def __init__(self, flows: pd.DataFrame, zones: pd.DataFrame, reading: str, weights: pd.DataFrame | None) -> None:
        self.flows, self.zones, self.reading, self.weights = flows, zones, reading, weights

    @classmethod
    def of(cls, plan: Plan, case: Case, placed: bool, bins: list[Any]) -> "_Read":
        folder = plan.release(case)
        flows = pd.read_parquet(folder / "flows.parquet")
        if case.adaptive:
            flows = over_bins(flows, bins)
        if "time" not in flows:
            flows["time"] = ""
        zones = (read_outlines if placed else pd.read_parquet)(folder / "zones.parquet")
        reading, weights = _reading(plan, case, flows), None
        if reading != EVEN:
            weights = pd.read_parquet(folder / ("tiles.parquet" if reading == PRIOR else "weights.parquet"))
            if reading != PRIOR and "time" not in weights:
                weights["time"] = ""
        spreads = dict.fromkeys(["spread", spread_column(reading)])
        return cls(flows[["time", "origin", "destination", "trips", *spreads]], zones, reading, weights)

    def tiles_of(self, areas: pd.Series) -> pd.DataFrame | None:
        """Which tiles with public weights are areas themselves, where the release is read by them."""
        if self.reading != PRIOR or self.weights is None:
            return None
        listed = self.weights[self.weights["tile"].isin(areas.index)]
        return pd.DataFrame({"zone": listed.index, "area": areas.loc[listed["tile"]].to_numpy(), "share": 1.0})

    @property
    def summed(self) -> pd.DataFrame:
        return self.flows.groupby(["origin", "destination"], as_index=False)[["trips", "spread"]].sum()


def _reading(plan: Plan, case: Case, flows: pd.DataFrame) -> str:
    """The reading that is asked for, auto by the figures of the case; even where areas do not nest."""
    told = json.loads(plan.result(case).read_text())["metrics"]
    better = FITTED if (told.get("E_fitted") or inf) < (told.get("E") or 0) else EVEN
    wanted = better if plan.reading == AUTO else plan.reading
    return wanted if spread_column(wanted) in flows else EVEN


def _profiles(tables: dict[str, _Read], loaded: Loaded) -> pd.DataFrame:
    """The busiest tile pairs by time bin: time, origin, destination, original and what each release gives back."""
    labels = loaded.tree.label[loaded.tree.tiles]
    original = pd.concat(
        pd.DataFrame(
            {
                "time": "" if bin_ is None else bin_,
                "origin": labels[od.pairs.origin],
                "destination": labels[od.pairs.destination],
                "trips": od.pairs.trips,
            }
        )
        for bin_, od in loaded.matrices.items()
    )
    keys = ["origin", "destination"]
    totals = original.groupby(keys, as_index=False)["trips"].sum()
    wanted = totals.sort_values(["trips", *keys], ascending=[False, True, True]).head(_BUSIEST)[keys]
    chosen = original.merge(wanted, on=keys)
    areas = themselves(sorted({*wanted["origin"], *wanted["destination"]}))
    places = _only(loaded.tiles, areas.index)
    found = chosen.groupby(["time", *keys], as_index=False)["trips"].sum().rename(columns={"trips": "original"})
    for name, read in tables.items():
        flows = read.flows.rename(columns={"origin": "origin_zone", "destination": "destination_zone"})
        shares = tile_shares(read.zones, areas, places)
        how = read.reading, read.weights, read.tiles_of(areas)
        profile = time_profile(chosen, flows, read.zones, shares, wanted, "time", *how).drop(columns="original")
        found = found.merge(profile.rename(columns={"reconstructed": name}), on=["time", *keys], how="outer")
    rank = {pair: number for number, pair in enumerate(wanted.itertuples(index=False, name=None))}
    found["rank"] = [rank[pair] for pair in found[keys].itertuples(index=False, name=None)]
    return found.fillna(0.0).sort_values(["rank", "time"], ignore_index=True).drop(columns="rank")


def _only(tiles: Tiles, labels: pd.Index) -> Tiles | None:
    """Where some of the tiles lie; None where nobody knows."""
    if tiles.kind == "unplaced":
        return None
    at = np.flatnonzero(np.isin(tiles.label, labels.to_numpy(object)))
    return Tiles(tiles.label[at], tiles.lat[at], tiles.lon[at], tiles.kind, draw=lambda: tiles.geometry[at])
