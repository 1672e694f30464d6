"""What the map shows: the zones of all releases of some time, each outline once, and the rows between them added up."""

from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from odanon.client.publications import Publications, PublishedProduct
from odanon.model.release import REST
from odanon.model.window import next_window, told_times
from odanon.report.encode import encode_zones
from odanon_assets.explore.answers.tables import manifests_of, texts
from odanon_assets.explore.limits import FLOWS
from odanon_assets.explore.models import WhenAsked

_ENDS = ("origin_zone", "destination_zone")
_SHAPES = ["zone_id", "level", "n_tiles", "area_km2", "geometry"]


def flows(published: Publications, request: dict[str, Any], asked: WhenAsked) -> dict[str, Any]:
    """Zones, and flows by pair of them: the largest ones, and how many more there are."""
    chosen = published[request["product"]]
    whole, parts = _releases(published, chosen, asked)
    zones, number = _zones(published, [*whole, *parts["release_id"].unique()])
    rows = _added(published, whole, parts, asked.segment, number)
    rows = rows.sort_values(["trips", *_ENDS], ascending=[False, True, True], ignore_index=True)
    shown = rows.head(FLOWS)
    used = np.unique(shown[[*_ENDS]].to_numpy(np.int64))
    place = np.full(len(zones), -1)
    place[used] = np.arange(len(used))
    return {
        "zones": encode_zones(zones.iloc[used]),
        "flows": {
            "o": place[shown["origin_zone"]].tolist(),
            "d": place[shown["destination_zone"]].tolist(),
            "trips": shown["trips"].round(1).tolist(),
            "rest": shown["rest"].astype(int).tolist(),
        },
        "trips": round(float(rows["trips"].sum()), 1),
        "left_out": len(rows) - len(shown),
    }


def _releases(published: Publications, chosen: PublishedProduct, asked: WhenAsked) -> tuple[list[str], pd.DataFrame]:
    """Releases that lie in the time asked for, and of the others (release_id, time_start, time_end, share) of their rows."""
    since, until = chosen._span(asked.since, asked.until)
    whole, cut = [], []
    for manifest in manifests_of(published, chosen.name):
        start = date.fromisoformat(manifest["window_start"])
        end = next_window(start, manifest.get("window", "day"))
        first, last = chosen._instant(start), chosen._instant(end)
        if since <= first and last <= until:
            whole.append(manifest["release_id"])
        elif first < until and since < last:
            cut.append(manifest)
    return whole, _shares(published, cut, pd.Timestamp(since), pd.Timestamp(until))


def _shares(
    published: Publications, manifests: list[dict[str, Any]], since: pd.Timestamp, until: pd.Timestamp
) -> pd.DataFrame:
    """Which share of the times of rows is asked for."""
    columns = ["release_id", "time_start", "time_end", "share"]
    if not manifests:
        return pd.DataFrame(columns=columns)
    names = texts(manifest["release_id"] for manifest in manifests)
    rows = published.sql(f"SELECT DISTINCT release_id, time_start, time_end FROM flows WHERE release_id IN ({names})")
    start, end = (pd.to_datetime(rows[name], utc=True) for name in ("time_start", "time_end"))
    inside = end.clip(since, until) - start.clip(since, until)
    rows["share"] = inside / (end - start)
    for manifest in manifests:
        if (times := told_times(manifest)) is not None:
            told = {(a, b): share for a, b, share in times.shares(since, until)}
            here = rows["release_id"] == manifest["release_id"]
            rows.loc[here, "share"] = [told[key] for key in zip(start[here], end[here], strict=True)]
    return rows.loc[rows["share"] > 0, columns]


def _zones(published: Publications, releases: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Outlines that differ, and the number of each by zone_id, and by release where an id has several outlines."""
    import shapely

    where = f"release_id IN ({texts(releases)})" if releases else "false"
    rows = published.sql(f"SELECT DISTINCT {', '.join(_SHAPES)} FROM zones WHERE {where} ORDER BY zone_id")
    outlines = [bytes.fromhex(each) if isinstance(each, str) else bytes(each) for each in rows["geometry"]]
    rows = rows.assign(key=outlines).drop_duplicates(["zone_id", "key"], ignore_index=True)
    twice = rows.loc[rows["zone_id"].duplicated(keep=False), "zone_id"].unique()
    number = pd.DataFrame({"zone_id": rows["zone_id"], "number": np.arange(len(rows))})
    if len(twice):
        told = published.sql(f"SELECT release_id, zone_id, geometry FROM zones WHERE {where}")
        told["key"] = [bytes.fromhex(each) if isinstance(each, str) else bytes(each) for each in told["geometry"]]
        number = told.merge(rows[["zone_id", "key"]].assign(number=number["number"]), on=["zone_id", "key"])
        number = number[["release_id", "zone_id", "number"]]
    return rows.assign(geometry=shapely.from_wkb(rows["key"].to_numpy(object))), number


def _added(
    published: Publications, whole: list[str], parts: pd.DataFrame, segment: str | None, number: pd.DataFrame
) -> pd.DataFrame:
    """Rows by numbers of zones and whether they are rests, with their trips."""
    by_release = ["release_id"] if "release_id" in number else []
    keys = ", ".join([f"f.{name}" for name in (*by_release, *_ENDS, "kind")])
    only = "" if segment is None else f" AND f.segment = {texts([segment])}"
    asked = []
    if whole:
        asked.append(
            f"SELECT {keys}, sum(f.trips) AS trips FROM flows f WHERE f.release_id IN ({texts(whole)}){only} GROUP BY {keys}"
        )
    if len(parts):
        values = ", ".join(
            f"('{row.release_id}', '{row.time_start}'::timestamptz, '{row.time_end}'::timestamptz, {row.share!r}::double precision)"
            for row in parts.itertuples()
        )
        asked.append(
            f"SELECT {keys}, sum(f.trips * t.share) AS trips FROM flows f JOIN (VALUES {values})"
            " AS t (release_id, time_start, time_end, share) ON t.release_id = f.release_id"
            f" AND t.time_start = f.time_start AND t.time_end = f.time_end{only} GROUP BY {keys}"
        )
    found = [published.sql(query) for query in asked]
    if not found or not sum(map(len, found)):
        return pd.DataFrame({"origin_zone": [], "destination_zone": [], "rest": [], "trips": []}).astype(
            {"origin_zone": "int64", "destination_zone": "int64", "rest": "bool", "trips": "float64"}
        )
    rows = pd.concat(found, ignore_index=True).astype({"trips": "float64"})
    for side in _ENDS:
        names = number.rename(columns={"zone_id": side, "number": "at"})
        rows[side] = rows.merge(names, on=[*by_release, side], how="left")["at"].to_numpy()
    rows["rest"] = rows["kind"] == REST
    return rows.groupby([*_ENDS, "rest"], as_index=False)["trips"].sum()
