"""Whether a bundle shows what was verified: its flows, zones and facts against the tables of the day (PRIVACY rule 17).

Nothing here is shared with what makes the bundle.
"""

import json
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.gate.coverage import Coverage, Line
from odanon.gate.noise import with_noise
from odanon.gate.verifier import Finding, added_up
from odanon.gate.woven import woven
from odanon.model.files.trees import from_parquet
from odanon.model.hierarchy import Hierarchy
from odanon.model.release import REST, TOTAL
from odanon.product import Product
from odanon_assets.gate.evidence import SEGMENTS, Tables, time_bins
from odanon_assets.gate.facts import release_facts
from odanon_assets.lake.lake import Lake
from odanon_assets.stores.bundle import Bundle

_PAIR = ["time_bin", "origin", "destination"]
_CELL = [*_PAIR, "segment"]
_TIMES = ["time_start", "time_end"]
_PLACE = [*_TIMES, "origin", "destination", "segment"]
_SHOWN = [*_PLACE, "kind", "trips", "band"]
_SLIVER = 1e-6  # shapes of less than this share of their zones are rounding
_STEPS = (1, 2, 5, 10)  # multiples of k at which bands of people begin


def unlike_tables(product: Product, lake: Lake, day: date, bundle: Bundle) -> list[Finding]:
    """What a bundle says that the tables of its day do not, or leaves out."""
    facts, tables = release_facts(product, lake, day), Tables.of_day(product, lake, day)
    other = [name for name, value in facts.items() if _text(bundle.manifest.get(name)) != _text(value)]
    measured = lake.figures(product.product, "metrics", day).get("release_id")
    return added_up(
        [
            Finding(
                "figures", int(measured != facts["release_id"]), "figures of other tables; run the stage metrics again"
            ),
            Finding("facts", len(other), f"facts of the manifest that are not those of the tables: {', '.join(other)}"),
            *_flows(bundle, tables, facts, time_bins(product, tables, day)),
            _misspread(bundle, tables),
            *_zones(bundle, tables, lake, product, day),
        ]
    )


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _flows(bundle: Bundle, tables: Tables, facts: dict[str, Any], bins: list[list[str]]) -> list[Finding]:
    """Rows of the public table that are not a verified flow, verified flows that are missing, and noise that is not theirs."""
    parameters = facts["parameters"]
    public = bundle.flows.rename(columns={"origin_zone": "origin", "destination_zone": "destination"})
    shown = public.assign(band=public["persons_band"].fillna("").replace("nan", ""))[_SHOWN]
    verified, noisy = _verified(tables), "perturb" in facts
    if noisy:
        verified = with_noise(verified, _people(tables, verified), parameters["k"])
    trips = verified["weight"] if parameters["unit"] == "population" else verified["trips"]
    verified = verified.assign(
        trips=trips.astype("int64"), band=_bands(verified["persons"], parameters["k"]), **_when(verified, bins)
    )[_SHOWN]
    wrong = _unlike(shown, verified, [*_PLACE, "kind"] if noisy else _SHOWN)
    misperturbed = _unlike(shown, verified, _SHOWN) - wrong
    same = {"product": facts["product"], "release_id": facts["release_id"]}
    wrong += sum(int((bundle.flows[column] != value).sum()) for column, value in same.items())
    return [
        Finding("published-flows", wrong, "published flows that are not those that were verified"),
        Finding(
            "noise", misperturbed, "published numbers that are not the verified ones with the noise of their people"
        ),
        Finding("noise", int(noisy and (shown["trips"] < parameters["k"]).sum()), "published numbers below k"),
    ]


def _when(verified: pd.DataFrame, bins: list[list[str]]) -> dict[str, pd.Series]:
    """When the time of each verified flow starts and ends: its bin's, or the interval that it is named after."""
    if "time" in verified:
        start, end = (verified["time"].str.split("/").str[place] for place in (0, 1))
    else:
        ends = {pd.Timestamp(first): last for first, last, *_ in bins}
        start, end = verified["time_bin"], verified["time_bin"].map(ends)
    moments = {"time_start": start, "time_end": end}
    return {name: pd.to_datetime(told, utc=True).astype("datetime64[us, UTC]") for name, told in moments.items()}


def _misspread(bundle: Bundle, tables: Tables) -> Finding:
    """Rows that add another number on drawn areas than their own, spread evenly over what no finer row covers.

    The layers of a row and of all rests around it are a density; times what the row covers itself it has to be its trips.
    """
    what = "published rows whose spread does not follow from the published numbers"
    flows = bundle.flows
    if not (flows["kind"] == REST).any():
        return Finding("published-flows", int((flows["spread"] != flows["trips"]).sum()), what)
    ground = pd.Series(bundle.zones.to_crs("EPSG:6933").area.to_numpy(), index=bundle.zones["zone_id"].to_numpy())
    areas = pd.read_parquet(tables.folder / "areas.parquet", columns=["time_bin", "side", "area", "tiles"])
    times, wrong = tables.times, 0
    for at, rows in [(times.start[0], flows)] if times is not None else flows.groupby("time_start"):
        here = areas[areas["time_bin"] == at].explode("tiles").rename(columns={"tiles": "tile"})
        lines = [
            Line.of(here.loc[here["side"] == side, ["area", "tile"]]) for side in ("origin", "destination", "time")
        ]
        sums = rows.groupby(["origin_zone", "destination_zone", *_TIMES])[["trips", "spread"]].sum()
        ends = [sums.index.get_level_values(side) for side in ("origin_zone", "destination_zone")]
        number = [line.areas.get_indexer(end) for line, end in zip(lines, ends, strict=False)]
        whole = ground.loc[ends[0]].to_numpy() * ground.loc[ends[1]].to_numpy()
        if times is not None:
            start, end = (sums.index.get_level_values(name) for name in _TIMES)
            interval = pd.Index([f"{a.isoformat()}/{b.isoformat()}" for a, b in zip(start, end, strict=True)])
            lines[0], number[0] = woven(lines[0], lines[2], number[0], lines[2].areas.get_indexer(interval))
            whole = whole * pd.Series(times.tree.n_tiles, index=times.tree.label).loc[interval].to_numpy()
        nested = Coverage.of(number[0], number[1], lines[0], lines[1])
        outer = np.full(len(sums), -1)
        outer[nested.inner] = nested.outer
        own = whole - np.bincount(nested.outer, whole[nested.inner], len(sums))
        layer = sums["spread"].to_numpy() / whole
        density, up = layer.copy(), outer.copy()
        while (up >= 0).any():
            density += np.where(up >= 0, layer[up], 0.0)
            up = np.where(up >= 0, outer[up], -1)
        told = own > whole * _SLIVER
        wrong += int((~np.isclose(density * own, sums["trips"], rtol=1e-6))[told].sum())
    return Finding("published-flows", wrong, what)


def _unlike(shown: pd.DataFrame, verified: pd.DataFrame, columns: list[str]) -> int:
    """Rows of either table that the other one lacks."""
    counts = [frame[columns].astype("str").value_counts() for frame in (shown, verified)]
    return int(counts[0].sub(counts[1], fill_value=0).abs().sum())


def _verified(tables: Tables) -> pd.DataFrame:
    """The flows that were verified, by segment where they are split."""
    flows = pd.read_parquet(tables.folder / "flows.parquet").assign(segment=TOTAL)
    if not (tables.folder / SEGMENTS).is_file():
        return flows
    split = pd.read_parquet(tables.folder / SEGMENTS)
    whole = ~pd.MultiIndex.from_frame(flows[_PAIR]).isin(pd.MultiIndex.from_frame(split[_PAIR]))
    return pd.concat([flows[whole], split], ignore_index=True)


def _people(tables: Tables, verified: pd.DataFrame) -> pd.DataFrame:
    """Who is behind each verified flow, of its segment or of everybody: its row number and a person."""
    rows = pd.read_parquet(tables.rows)
    rows = rows[rows["trips"] > 0]
    assignment = pd.read_parquet(tables.folder / "assignment.parquet")
    flows = pd.read_parquet(tables.folder / "flows.parquet", columns=_PAIR)
    number = assignment["flow"].to_numpy()[_places(rows[_PAIR], assignment[_PAIR])]
    first = flows.groupby("time_bin").size().cumsum().shift(fill_value=0)
    rows, number = rows[number >= 0], number[number >= 0]
    areas = flows.iloc[number + rows["time_bin"].map(first).to_numpy()]
    segments = TOTAL, rows["segment"].to_numpy()
    places = [_places(areas.assign(segment=segment), verified[_CELL]) for segment in segments]
    people = pd.DataFrame({"flow": np.concatenate(places), "person": np.tile(rows["person"].to_numpy(), 2)})
    return people[people["flow"] >= 0]


def _places(table: pd.DataFrame, among: pd.DataFrame) -> npt.NDArray[np.int64]:
    """The row of the other table that equals each row, -1 for none."""
    return pd.MultiIndex.from_frame(among).get_indexer(pd.MultiIndex.from_frame(table))


def _bands(persons: pd.Series, k: int) -> list[str]:
    edges = [k * step for step in _STEPS]
    names = [f"{low}-{high - 1}" for low, high in pairwise(edges)] + [f"{edges[-1]}+"]
    known = pd.to_numeric(persons).fillna(-1).to_numpy(np.int64)
    return [names[at] if at >= 0 else "" for at in np.searchsorted(edges, known, side="right") - 1]


def _zones(bundle: Bundle, tables: Tables, lake: Lake, product: Product, day: date) -> list[Finding]:
    """Zones that no flow uses, and zones whose tiles, size or name are not those of the verified area."""
    used = {*bundle.flows["origin_zone"], *bundle.flows["destination_zone"]}
    zones = bundle.zones
    tree = from_parquet(lake.read(product.product, "hierarchy", day) / "tree.parquet")
    everywhere, nodes = set(tree.label[tree.tiles].tolist()), dict(zip(tree.label, tree.n_tiles, strict=True))
    listed = pd.read_parquet(tables.folder / "areas.parquet", columns=["side", "area", "n_tiles", "tiles"])
    listed = listed[listed["side"] != "time"].drop(columns="side")
    areas = {name: (set(tiles), size) for name, size, tiles in zip(*(listed[c] for c in listed), strict=True)}
    wrong = 0
    for name, size, tiles in zip(zones["zone_id"], zones["n_tiles"], zones["tiles"], strict=True):
        verified, verified_size = areas.get(name, (None, None))
        shown = None if tiles is None else {*tiles} & everywhere
        wrong += verified is None or size != nodes.get(name, verified_size) or (shown is not None and shown != verified)
    return [
        Finding("unused-zones", int((~zones["zone_id"].isin(used)).sum()), "published zones that no flow uses"),
        Finding("published-zones", wrong, "published zones that are not the areas that were verified"),
        Finding(
            "published-names",
            _misnamed(zones, tree, areas),
            "published zones that neither zoning nor hierarchy call so",
        ),
    ]


def _misnamed(zones: pd.DataFrame, tree: Hierarchy, areas: dict[str, tuple[set[str], int]]) -> int:
    """How many zones have a name that is neither their own nor begins with that of a tile inside (PRIVACY rule 24)."""
    told = {} if tree.name is None else dict(zip(tree.label.tolist(), tree.name.tolist(), strict=True))
    wrong = 0
    for zone, name in zip(zones["zone_id"], zones["name"], strict=True):
        own, shown = told.get(zone), None if pd.isna(name) else name
        inside = {told.get(tile) for tile in areas.get(zone, (set[str](), 0))[0]} - {None}
        fits = shown is None or any(shown.startswith(each) for each in inside)
        wrong += shown != own if own is not None else not fits
    return wrong
