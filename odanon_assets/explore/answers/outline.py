"""The outline of one published zone to the last digit: as an area of one's own it holds the flows of the zone wholly."""

from typing import Any

import pandas as pd

from odanon.client.publications import Publications
from odanon.errors import OdanonError
from odanon_assets.explore.answers.tables import texts
from odanon_assets.explore.models import ZoneAsked


def zone(published: Publications, request: dict[str, Any], asked: ZoneAsked) -> dict[str, Any]:
    """A zone as a feature of GeoJSON, in the outline of the latest release that has it."""
    import shapely

    rows = published.sql(
        "SELECT z.* FROM zones z JOIN releases r ON r.release_id = z.release_id"
        f" WHERE r.product = {texts([request['product']])} AND z.zone_id = {texts([asked.id])}"
        " ORDER BY r.window_start DESC LIMIT 1"
    )
    if rows.empty:
        raise OdanonError("no release has a zone of this name; choose one that the map shows")
    told = rows["geometry"].iloc[0]
    outline = shapely.from_wkb(bytes.fromhex(told) if isinstance(told, str) else bytes(told))
    name = rows["name"].iloc[0]
    called = asked.id if pd.isna(name) else str(name)
    return {"type": "Feature", "properties": {"name": called}, "geometry": shapely.geometry.mapping(outline)}
