"""Which products are published, and what became of their windows."""

import hashlib
from datetime import date
from typing import Any

import pandas as pd

from odanon.client.publications import Publications
from odanon.errors import OdanonError
from odanon.model.when import DAYS
from odanon.model.window import Length, next_window
from odanon_assets.derived.reports import report_address
from odanon_assets.explore.answers.tables import texts

_ALL = "all"  # the segment of rows that are of everybody
_DAY_TYPES = dict.fromkeys(("working", "saturday", "sunday_holiday", *DAYS))  # in the order of a menu


def standing(published: Publications, request: dict[str, Any]) -> dict[str, str]:
    """A digest of what every product shows: the answers to the same question are the same as long as it is."""
    windows = _windows(published)
    return {
        str(name): hashlib.sha256(rows.to_json(date_format="iso").encode()).hexdigest()
        for name, rows in windows.groupby("product")
    }


def catalogue(published: Publications, request: dict[str, Any]) -> dict[str, Any]:
    """A line for every product; the base map is the server's."""
    windows, lines = _windows(published), []
    for name, rows in windows.groupby("product"):
        shown = rows.loc[rows["status"] == "published", "window_start"]
        manifest = published[str(name)].manifest() if len(shown) else {}
        lines.append(
            {
                "name": name,
                "title": manifest.get("title", name),
                "timezone": manifest.get("timezone") or "UTC",
                "licence": manifest.get("licence"),
                "windows": len(shown),
                "first": shown.min() if len(shown) else None,
                "last": shown.max() if len(shown) else None,
            }
        )
    return {"products": lines, "basemap": request["basemap"]}


def product(published: Publications, request: dict[str, Any]) -> dict[str, Any]:
    """What a product is and promises, and its calendar."""
    name = request["product"]
    windows = _windows(published, name)
    if not (windows["status"] == "published").any():
        raise OdanonError(f"of {name} nothing is published any more; its windows were withdrawn or purged")
    chosen = published[name]
    manifests = chosen.manifests()
    latest = manifests[-1]
    shown = {told["window_start"]: told for told in manifests}
    usual: Length = latest.get("window", "day")
    return {
        "name": name,
        "title": latest.get("title", name),
        "timezone": latest.get("timezone") or "UTC",
        "licence": latest.get("licence"),
        "citation": _citation(latest),
        "promise": {"k": latest["parameters"]["k"], "unit": latest["parameters"]["unit"]},
        "readings": ["auto", *latest.get("readings", ["even"])],
        "segments": [segment for segment in chosen.segments() if segment != _ALL],
        "day_types": _day_types(manifests),
        "months": chosen.months(),
        "windows": _calendar(windows, shown, usual, request["at"]),
        "box": [round(float(side), 5) for side in chosen.zones().total_bounds],
    }


def _windows(published: Publications, product: str | None = None) -> pd.DataFrame:
    """product, window_start, status and release_id of every window that was ever published."""
    where = "" if product is None else f" WHERE product = {texts([product])}"
    rows = published.sql(
        f"SELECT product, window_start, status, release_id FROM windows{where} ORDER BY product, window_start"
    )
    return rows.assign(window_start=pd.to_datetime(rows["window_start"]).dt.strftime("%Y-%m-%d"))


def _calendar(
    windows: pd.DataFrame, manifests: dict[str, dict[str, Any]], usual: Length, at: str
) -> list[dict[str, Any]]:
    """Every window, with what its manifest says; those that are not shown any more have none."""
    found = []
    for row in windows.to_dict("records"):
        shown, told = row["status"] == "published", manifests.get(row["window_start"], {})
        length = told.get("window", "day") if told else usual
        release = None if "://" in at else row["release_id"]  # the files of a folder are there, a database has copies
        found.append(
            {
                "start": row["window_start"],
                "end": next_window(date.fromisoformat(row["window_start"]), length).isoformat(),
                "length": length,
                "status": row["status"],
                "missing": told.get("missing_days", []),
                "trips": _trips(told),
                "report": report_address(row["product"], row["window_start"], release) if shown else None,
            }
        )
    return found


def _trips(manifest: dict[str, Any]) -> float | None:
    """What a manifest says of the trips of its window, rounded as it is there."""
    told = manifest.get("metrics", {}).get("trips_published")
    return None if told is None else float(told)


def _day_types(manifests: list[dict[str, Any]]) -> list[str]:
    """Those that can be asked for: all where windows are days, else those that the bins of windows are of."""
    told = {each["day_type"] for manifest in manifests for each in manifest.get("bins", ()) if each["days"]}
    days = any(manifest.get("window", "day") == "day" for manifest in manifests)
    return [name for name in _DAY_TYPES if days or name in told]


def _citation(manifest: dict[str, Any]) -> str:
    return (
        f"{manifest.get('owner', '')}: {manifest.get('title', manifest['product'])}. Product {manifest['product']}."
        f" Licence: {manifest.get('licence', 'not given')}."
    ).removeprefix(": ")
