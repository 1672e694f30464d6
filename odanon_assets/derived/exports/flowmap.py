"""The two tables of flowmap.blue and flowmap.gl: locations, and flows between them."""

from pathlib import Path

from odanon.tables.spreadsheet import write_csv
from odanon_assets.derived.exports.places import places_and_trips
from odanon_assets.derived.exports.tables import Published


def flowmap(published: Published, folder: Path) -> None:
    """Write locations (id, name, lat, lon) and flows (origin, dest, count, time)."""
    places, trips = places_and_trips(published)
    write_csv(places, folder / "flowmap_locations.csv")
    write_csv(trips, folder / "flowmap_flows.csv")
