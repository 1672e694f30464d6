"""What the map shows: the zones of all releases of some time, each outline once, and the rows between them added up."""

from typing import Any

import numpy as np
import pandas as pd

from odanon.client.asked import refuse_unpublished
from odanon.client.publications import Publications, PublishedProduct
from odanon.model.release import REST
from odanon.model.when import When
from odanon.model.when.clock import pieces_of
from odanon.model.when.shares import AskedTime, Steps, microseconds
from odanon.reconstruct.answers.bounds import EDGE
from odanon.report.encode import encode_zones
from odanon_assets.explore.answers.tables import texts
from odanon_assets.explore.limits import FLOWS
from odanon_assets.explore.models import WhenAsked

_ENDS = ("origin_zone", "destination_zone")
_FEW = 31  # releases whose zones are read whole: a query that names shapes takes the embedded store half a second more
_DISTINCT = "DISTINCT zone_id, level, n_tiles, area_km2, geometry, name"


def flows(published: Publications, request: dict[str, Any], asked: WhenAsked) -> dict[str, Any]:
    """Zones, and flows by pair of them: the largest ones, and how many more there are."""
    chosen = published[request["product"]]
    asks = asked.told(chosen.timezone)
    segment = asks.pop("segment", None)
    when = chosen.when(**asks)
    whole, parts = _releases(published, chosen, when)
    zones, number = _zones(published, [*whole, *parts["release_id"].unique()])
    rows = _added(published, whole, parts, segment, number)
    if rows.empty:
        refuse_unpublished(chosen, when, segment)
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


def _releases(published: Publications, chosen: PublishedProduct, when: When) -> tuple[list[str], pd.DataFrame]:
    """Releases that are asked for wholly, and of the others (release_id, time_start, time_end, share) of their rows."""
    step = np.array([microseconds(when.since)]), np.array([microseconds(when.until)])
    whole, cut = [], {}
    for manifest in chosen.manifests():
        time = AskedTime.of(pieces_of(manifest), when)
        some = time.between(*step)[0]
        if some > time.total * (1 - EDGE):
            whole.append(manifest["release_id"])
        elif some > 0:
            cut[manifest["release_id"]] = time
    return whole, _shares(published, cut, step)


def _shares(published: Publications, cut: dict[str, AskedTime], step: Steps) -> pd.DataFrame:
    """Which share of the times of rows is asked for."""
    if not cut:
        return pd.DataFrame(columns=["release_id", "time_start", "time_end", "share"])
    rows = published.sql(
        f"SELECT DISTINCT release_id, time_start, time_end FROM flows WHERE release_id IN ({texts(cut)})"
    )
    for name in ("time_start", "time_end"):
        rows[name] = pd.to_datetime(rows[name], utc=True).astype("datetime64[us, UTC]")
    # Rows that are older than ends of bins count where they start.
    ends = rows["time_end"].fillna(rows["time_start"] + pd.Timedelta(microseconds=1))
    start, end = (moment.to_numpy("datetime64[us]").astype(np.int64) for moment in (rows["time_start"], ends))
    rows["share"] = 0.0
    for release, at in rows.groupby("release_id").indices.items():
        asked, _, share, _ = cut[str(release)].shares(start[at], end[at], step)
        rows.loc[at[asked], "share"] = share
    return rows[rows["share"] > 0]


def _zones(published: Publications, releases: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Outlines that differ, and the number of each by zone_id, and by release where an id has several outlines."""
    import shapely

    where, few = f"release_id IN ({texts(releases)})" if releases else "false", len(releases) <= _FEW
    told = _outlined(published.sql(f"SELECT {'*' if few else _DISTINCT} FROM zones WHERE {where}"))
    # Where releases call the same outline differently, the first name in the order of text.
    rows = told.sort_values(["zone_id", "outline", "name"]).drop_duplicates(["zone_id", "outline"], ignore_index=True)
    number = pd.DataFrame({"zone_id": rows["zone_id"], "number": np.arange(len(rows))})
    if not rows["zone_id"].is_unique:
        if not few:
            told = _outlined(published.sql(f"SELECT release_id, zone_id, geometry FROM zones WHERE {where}"))
        number = told.merge(number.assign(outline=rows["outline"]), on=["zone_id", "outline"])
        number = number[["release_id", "zone_id", "number"]]
    return rows.assign(geometry=shapely.from_wkb(rows["outline"].to_numpy(object))), number


def _outlined(zones: pd.DataFrame) -> pd.DataFrame:
    """Zones with the bytes of their outlines."""
    return zones.assign(
        outline=[bytes.fromhex(each) if isinstance(each, str) else bytes(each) for each in zones["geometry"]]
    )


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
            f"({texts([row.release_id])}, {_instant(row.time_start)}, {_instant(row.time_end)}, {row.share!r}::double precision)"
            for row in parts.itertuples()
        )
        asked.append(
            f"SELECT {keys}, sum(f.trips * t.share) AS trips FROM flows f JOIN (VALUES {values})"
            " AS t (release_id, time_start, time_end, share) ON t.release_id = f.release_id"
            f" AND t.time_start = f.time_start AND t.time_end IS NOT DISTINCT FROM f.time_end{only} GROUP BY {keys}"
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


def _instant(at: pd.Timestamp) -> str:
    return "NULL::timestamptz" if pd.isna(at) else f"'{at}'::timestamptz"
