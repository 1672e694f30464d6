"""Writing a release as a folder: flows, assignment, zones, weights, tiles and release.json; and what of it is handed out."""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from odanon.door import Released
from odanon.gate.drawn import telling
from odanon.model.areas import Areas
from odanon.model.hierarchy import Hierarchy
from odanon.model.release import Release
from odanon.model.tiles import Tiles
from odanon.model.zones import as_told, release_zones
from odanon.reconstruct.even import over_tiles
from odanon.reconstruct.prior import TileWeights
from odanon.reconstruct.readings import PRIOR, spread_column, zone_weights
from odanon.reconstruct.rests import Regions, lengths
from odanon.reconstruct.weights import weigh
from odanon.system.scratch import scratch
from odanon.tables.handout import handout
from odanon.tables.read import Loaded
from odanon.tables.times import are_hours

KEEP, HANDOUT = "keep", "handout"
_KEPT = """# Restricted: keep this, do not hand it out

These files were made from rows of people. They hold exact numbers of people, where every pair of tiles of the input went
(`assignment.parquet`) and exact figures of what was left out (`release.json`): who has them can take the release apart again. What may
be handed out lies in the folder `handout` beside this one; without it, nothing may.
"""


def write_folder(
    folder: Path,
    released: Released[Any],
    tree: Hierarchy,
    tiles: Tiles,
    algorithm: str,
    prior: TileWeights | None = None,
) -> None:
    """Write flows, assignment, zones, weights, tiles and release.json of what came through the door: all of them, or nothing."""
    with _whole(folder) as whole:
        _write(whole, released, tree, tiles, algorithm, prior, {})


def write_release(
    folder: Path, released: Released[Any], loaded: Loaded, algorithm: str, title: str, timezone: str
) -> None:
    """Write what is to be handed out (`handout/`) and what is to be kept (`keep/`), all of it or nothing.

    Of some releases there is nothing to hand out (`withheld`).
    """
    with _whole(folder) as whole:
        kept = whole / KEEP
        kept.mkdir()
        _write(kept, released, loaded.tree, loaded.tiles, algorithm, loaded.prior, loaded.read)
        (kept / "README.md").write_text(_KEPT, encoding="utf-8")
        if withheld(released, loaded) is None:
            public = whole / HANDOUT
            public.mkdir()
            handout(released, loaded.tree, loaded.tiles, algorithm, title, timezone).write(public)


def withheld(released: Released[Any], loaded: Loaded) -> str | None:
    """Why nothing of a release may be handed out; None if it may. Of tiles that only a tree names, nothing is drawn."""
    if not released.verified:
        return "flows that are not verified are to compare with"
    sides = [areas for release in released.releases.values() for areas in (release.origins, release.destinations)]
    if loaded.tiles.kind != "unplaced" and any(telling(areas, loaded.tree) for areas in sides):
        return (
            "these areas show which tiles somebody visited, so they are to compare with; give all zones with --zones, or use --hierarchy h3 and"
            " an algorithm that keeps to its cells"
        )
    return None


@contextmanager
def _whole(folder: Path) -> Iterator[Path]:
    """A folder beside the wanted one, whose content becomes that of the wanted one once it is complete."""
    folder = folder.resolve()
    there = folder.is_dir()  # then it keeps its rights; it may be a disk of its own, which cannot be replaced
    with scratch(folder if there else folder.parent) as near:
        whole = near / "release"
        whole.mkdir()
        yield whole
        if not there:
            whole.rename(folder)
            return
        for part in sorted(whole.iterdir()):
            part.rename(folder / part.name)


def _write(
    folder: Path,
    released: Released[Any],
    tree: Hierarchy,
    tiles: Tiles,
    algorithm: str,
    prior: TileWeights | None,
    read: Mapping[str, int],
) -> None:
    releases, figures = released.releases, released.figures
    flows = pd.concat([_timed(_spread(release), bin_) for bin_, release in releases.items()], ignore_index=True)
    if any(release.times is not None for release in releases.values()):
        (release,) = releases.values()
        flows, beside = _in_time(flows, release, tree, prior)
    else:
        flows, beside = _weighed(flows, tree, prior)
    assignment = pd.concat([_timed(_published(release), bin_) for bin_, release in releases.items()])
    flows.to_parquet(folder / "flows.parquet", index=False)
    assignment.to_parquet(folder / "assignment.parquet", index=False)
    for name, table in beside.items():
        table.to_parquet(folder / f"{name}.parquet", index=False)
    _write_zones(folder / "zones.parquet", releases, tree, tiles)
    parameters = {"algorithm": algorithm, **released.parameters}
    manifest = {
        "promise": released.sentence,
        "verifier": "passed" if released.verified else "only the areas: noisy counts cannot be counted again",
        "parameters": parameters,
        "hierarchy": {"kind": tree.kind, "coverage": tree.coverage, "tiles": tree.n_leaves},
        "matrices": len(releases),
        **({"table": dict(read)} if read else {}),
        "metrics": figures,
        "search": _search(releases, figures),
        "odanon": version("odanon"),
    }
    (folder / "release.json").write_text(json.dumps(_json(manifest), indent=2, sort_keys=True) + "\n")


def _search(releases: Mapping[Any, Release], figures: dict[str, float]) -> dict[str, Any]:
    """What the algorithm said about its search, when there is one matrix."""
    said = next(iter(releases.values())).metrics if len(releases) == 1 else {}
    return {name: value for name, value in said.items() if name not in figures}


def _timed(table: pd.DataFrame, bin_: Any) -> pd.DataFrame:
    plain = table.astype({name: "str" for name in table.columns if isinstance(table[name].dtype, pd.CategoricalDtype)})
    if bin_ is not None:
        plain.insert(0, "time", bin_)
    return plain


def _in_time(
    flows: pd.DataFrame, release: Release, tree: Hierarchy, prior: TileWeights | None
) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """The flows of a release in time with their start and end, and what each adds under given weights of tiles; and these."""
    told, zones = _with_ends(flows), _zones_of(flows, tree)
    if prior is None or zones is None:
        return told, {}
    tiles, regions = prior.listed(zones, tree), Regions.of(release)
    whole = zone_weights(tiles, zones.set_index("zone_id")["n_tiles"])
    measured = lengths(release)
    for side in ("origin", "destination"):
        measured = measured * whole.loc[flows[side], side].to_numpy()
    layered = Regions.measured(regions.around, measured).layered(flows["trips"].to_numpy(np.float64))
    return told.assign(**{spread_column(PRIOR): layered * measured}), {"tiles": tiles}


def _zones_of(flows: pd.DataFrame, tree: Hierarchy) -> pd.DataFrame | None:
    """The zones that flows name, inner ones first; None where an area is none of the tree, as a box is not."""
    used = pd.concat([flows["origin"], flows["destination"]]).unique()
    nodes = np.sort(pd.Index(tree.label).get_indexer(pd.Index(used)))
    if not len(nodes) or nodes[0] < 0:
        return None
    return pd.DataFrame({"zone_id": tree.label[nodes].astype(str), "n_tiles": tree.n_tiles[nodes]})


def _with_ends(flows: pd.DataFrame) -> pd.DataFrame:
    """Flows of intervals with their start and end; of hours of a day, as the clock says."""
    bounds = [flows["time"].str.split("/").str[place] for place in (0, 1)]
    start, end = (pd.to_datetime(bound, utc=True).astype("datetime64[us, UTC]") for bound in bounds)
    if are_hours(start, end):
        start, end = start.dt.strftime("%H:%M"), end.dt.strftime("%H:%M").replace("00:00", "24:00")
    told = flows.drop(columns="time")
    told.insert(0, "time_start", start)
    told.insert(1, "time_end", end)
    return told


def _spread(release: Release) -> pd.DataFrame:
    """The flows with what each adds where it is read on other areas, by shares of tiles."""
    return release.flows.assign(spread=over_tiles(release))


def _weighed(
    flows: pd.DataFrame, tree: Hierarchy, prior: TileWeights | None
) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """The flows with what each adds under weights of tiles, where areas are zones; and the tables of weights."""
    public = flows.rename(columns={"origin": "origin_zone", "destination": "destination_zone"})
    code, bins = pd.factorize(flows["time"], sort=True) if "time" in flows else (np.zeros(len(flows), np.int64), None)
    public = public.assign(time_start=code, time_end=code + 1)
    zones = _zones_of(flows, tree)
    if zones is None:
        return flows, {}
    tiles = None if prior is None else prior.listed(zones, tree)
    whole = None if tiles is None else zone_weights(tiles, zones.set_index("zone_id")["n_tiles"])
    weighted = weigh(public, zones, tree, whole)
    table = weighted.table.rename(columns={"time_bin": "time"})
    if bins is not None:
        table["time"] = bins.take(table["time"].to_numpy(np.int64))
    beside = {"weights": table if bins is not None else table.drop(columns="time")}
    if tiles is not None:
        beside["tiles"] = tiles
    spreads = {spread_column(reading): spread for reading, spread in weighted.spread.items()}
    return flows.assign(**spreads), beside


def _published(release: Release) -> pd.DataFrame:
    """Every input pair with the flow it went into; empty names where it was suppressed."""
    given, flow = release.assignment, release.assignment["flow"].to_numpy()
    kept = flow >= 0
    table = {name: given[name] for name in ("time", "origin", "destination", "trips") if name in given}
    for side in ("origin", "destination"):
        names = release.flows[side].astype("str").to_numpy(object)
        table[f"published_{side}"] = np.where(kept, names[np.where(kept, flow, 0)] if len(names) else None, None)
    return pd.DataFrame({**table, "suppressed": ~kept})


def _write_zones(path: Path, releases: Mapping[Any, Release], tree: Hierarchy, tiles: Tiles) -> None:
    """GeoParquet; a plain table of the areas and their tiles where nobody knows where the tiles lie."""
    if tiles.kind == "unplaced":
        areas = [part for release in releases.values() for part in (release.origins, release.destinations)]
        pd.concat([_plain_zones(part, tree) for part in areas]).drop_duplicates("zone_id").to_parquet(path, index=False)
    else:
        as_told(release_zones(releases.values(), tree, tiles)).to_parquet(path, index=False)


def _plain_zones(areas: Areas, tree: Hierarchy) -> pd.DataFrame:
    labels = tree.label[tree.tiles]
    members = [labels[areas.members[a:b]] for a, b in pairwise(areas.start)]
    columns = {"zone_id": areas.label.astype(str), "level": areas.level, "n_tiles": areas.n_tiles}
    return pd.DataFrame({**columns, "tiles": members})


def _json(value: Any) -> Any:
    """Plain JSON values; what is not a number becomes null."""
    if isinstance(value, dict):
        return {key: _json(item) for key, item in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
