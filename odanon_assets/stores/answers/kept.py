"""What the PostGIS store works out of a release for its functions when it takes it in, from public tables alone."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from odanon.model.release import REST
from odanon.model.when.clock import pieces_of
from odanon.model.when.shares import all_time
from odanon.model.window import told_times
from odanon.reconstruct.answers.along import pulses
from odanon.reconstruct.answers.nesting import places_of, rests_around
from odanon.reconstruct.answers.segments import of_segment
from odanon.reconstruct.nested import Ints
from odanon.reconstruct.readings import SIDES
from odanon_assets.stores.answers.release import ended
from odanon_assets.stores.bundle import Bundle

_INSTANT = pa.timestamp("us", tz="UTC")


def rests_in(bundle: Bundle) -> Ints | None:
    """The first row of the rest directly around every row, -1 for none; None for a release without rests."""
    if not (bundle.flows["kind"] == REST).any():
        return None
    return rests_around(bundle.flows, bundle.zones, told_times(bundle.manifest))


def pulse_rows(bundle: Bundle, release_no: int, zone_no: pd.Series) -> pa.Table:
    """What leaves and enters areas over time, where rows are of several bins."""
    table = pulses(bundle.flows, bundle.zones, told_times(bundle.manifest))
    return pa.table(
        {
            "release_no": np.full(len(table), release_no),
            "zone_no": zone_no.loc[table["zone_id"]].to_numpy(),
            "side": pa.array(table["side"], pa.string()),
            "time_start": pa.array(table["time_start"], _INSTANT),
            "time_end": pa.array(table["time_end"], _INSTANT),
            # Python writes the shortest text that reads back as the same number.
            "trips": [repr(value) for value in table["trips"].tolist()],
        }
    )


def piece_rows(manifest: Mapping[str, Any], release_no: int) -> pa.Table:
    """The pieces of time that a release is of."""
    pieces = pieces_of(manifest)
    return pa.table(
        {
            "release_no": np.full(len(pieces), release_no),
            "time_start": pa.array([piece.start for piece in pieces], _INSTANT),
            "time_end": pa.array([piece.end for piece in pieces], _INSTANT),
            "since": [piece.since for piece in pieces],
            "until": [piece.until for piece in pieces],
            "at": pa.array([piece.at for piece in pieces], _INSTANT),
            "days": [repr(piece.days) for piece in pieces],
            "of_days": ["{" + ",".join(map(repr, piece.of_days)) + "}" for piece in pieces],
        }
    )


def time_rows(manifest: Mapping[str, Any], times: pd.DataFrame, release_no: int) -> pa.Table:
    """The distinct times of rows and pulses (time_start, time_end), and how long they are on all their days."""
    distinct = times[["time_start", "time_end"]].drop_duplicates()
    start, end = (ended(distinct)[name].to_numpy("datetime64[us]").astype(np.int64) for name in distinct)
    seconds = all_time(pieces_of(manifest)).lengths(start, end)
    return pa.table(
        {
            "release_no": np.full(len(distinct), release_no),
            "time_start": pa.array(distinct["time_start"], _INSTANT),
            "time_end": pa.array(distinct["time_end"], _INSTANT),
            "seconds": [repr(value) for value in seconds.tolist()],
        }
    )


def part_rows(bundle: Bundle, around: Ints | None, release_no: int, zone_no: pd.Series) -> pa.Table | None:
    """What places carry of each segment, where a release has rests and segments; None elsewhere."""
    flows = bundle.flows
    if around is None or flows["segment"].nunique() < 2:
        return None
    columns = [name for name in ("spread", "spread_fitted", "spread_prior") if flows[name].notna().all()]
    rows = flows.assign(around=around, place=places_of(flows))
    segments = sorted(flows["segment"].unique())
    parts = pd.concat([of_segment(rows, name, columns).assign(segment=name) for name in segments])
    numbers = {f"{side}_no": zone_no.loc[parts[f"{side}_zone"]].to_numpy() for side in SIDES}
    spreads = {name: [repr(value) for value in parts[name].tolist()] for name in columns}
    times = {name: pa.array(parts[name], _INSTANT) for name in ("time_start", "time_end")}
    told = {"release_no": np.full(len(parts), release_no), **times, **numbers, **spreads}
    return pa.table({**told, "segment": pa.array(parts["segment"], pa.string())})
