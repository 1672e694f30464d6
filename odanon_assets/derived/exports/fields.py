"""What the files of an export hold, in words: fields of tables, keys, and everything else by its ending."""

Field = tuple[str, str, str]

_RELEASE: Field = ("release_id", "string", "Name of the release.")
_FLOWS: tuple[Field, ...] = (
    ("product", "string", "Name of the data product."),
    ("window_start", "date", "First local day of the window that the release covers."),
    ("time_start", "datetime", "Start of the time of departure, in UTC."),
    ("time_end", "datetime", "End of it; empty in releases that are older than this column."),
    ("local_start", "datetime", "The same start on the local clock."),
    ("local_end", "datetime", "The same end on the local clock."),
    ("segment", "string", "Part of the population; all: everybody, in a flow that is not split."),
    ("origin_zone", "string", "Zone where the trips start."),
    ("destination_zone", "string", "Zone where the trips end."),
    ("kind", "string", "flow, or rest: the trips between its zones that no finer row of the same time counts."),
    ("trips", "integer", "Number of trips; of a release about the population, its rounded estimate."),
    (
        "spread",
        "number",
        "What to multiply with the shares of both zones that lie in areas of your own; without rests, trips.",
    ),
    (
        "spread_fitted",
        "number",
        "The same with shares of the fitted weights of both zones; empty without that reading.",
    ),
    (
        "spread_prior",
        "number",
        "The same with shares of the public weights of the tiles of both zones; empty without that reading.",
    ),
    ("persons_band", "string", "Band of the number of people behind the row."),
    _RELEASE,
)
_ZONES: tuple[Field, ...] = (
    _RELEASE,
    ("zone_id", "string", "Name of the zone."),
    ("name", "string", "What people call the place; empty where nobody says."),
    ("hierarchy", "string", "Kind of hierarchy the zone is a node of."),
    ("level", "integer", "Level of the node in its hierarchy; the root has the lowest."),
    ("n_tiles", "integer", "Number of tiles in the zone."),
    ("area_km2", "number", "Ground area in square kilometres."),
    ("tiles", "array", "Member tiles; empty when they are too many to list."),
    ("geometry", "any", "Outline in EPSG:4326 (WKT in CSV)."),
)
_WEIGHTS: tuple[Field, ...] = (
    _RELEASE,
    ("time_bin", "datetime", "Start of the time bin of departure, in UTC."),
    ("local_bin", "datetime", "The same start on the local clock."),
    ("reading", "string", "fitted: from the published rows alone."),
    ("side", "string", "origin: of what leaves; destination: of what enters."),
    ("zone_id", "string", "Name of the zone."),
    ("around", "string", "The zone directly around it that the same side of the time bin uses; empty for none."),
    ("weight", "number", "Share of all that leaves or enters that lies in the zone and in no zone inside it."),
)
_TILES: tuple[Field, ...] = (
    _RELEASE,
    ("tile", "string", "Name of the tile."),
    ("zones", "array", "The zones of the release around it, from the inside out."),
    ("leaving", "number", "Share of the tile in all public weights, such as residents, for what leaves."),
    ("entering", "number", "The same for what enters."),
    ("geometry", "any", "Outline in EPSG:4326 (WKT in CSV)."),
)
_LOCATIONS: tuple[Field, ...] = (
    ("id", "string", "Name of the zone; with a mark where one name stands for several shapes."),
    ("name", "string", "What people call the place, or its id."),
    ("lat", "number", "Latitude of a point inside the zone, in degrees."),
    ("lon", "number", "Longitude of it."),
)
_COUNT: Field = ("count", "integer", "Number of trips, of flows and rests and of all segments.")
_CLOCK: Field = ("time", "datetime", "Start of the time of departure on the local clock.")
_BETWEEN: tuple[Field, ...] = (
    ("origin", "string", "Location where the trips start."),
    ("dest", "string", "Location where the trips end."),
    _COUNT,
    _CLOCK,
)
_CELLS: tuple[Field, ...] = (
    ("source", "string", "H3 cell where the trips start."),
    ("target", "string", "H3 cell where the trips end."),
    _COUNT,
    _CLOCK,
)
_POINTS: tuple[Field, ...] = (
    ("source", "string", "Zone where the trips start."),
    ("target", "string", "Zone where the trips end."),
    _COUNT,
    _CLOCK,
    ("source_lat", "number", "Latitude of a point inside the one zone, in degrees."),
    ("source_lon", "number", "Longitude of it."),
    ("target_lat", "number", "Latitude of a point inside the other zone, in degrees."),
    ("target_lon", "number", "Longitude of it."),
    ("source_name", "string", "What people call the one zone, or its id."),
    ("target_name", "string", "The same of the other."),
)
# Fields and primary key of a table, by the name of its file without the ending.
TABLES: dict[str, tuple[tuple[Field, ...], list[str]]] = {
    "flows": (_FLOWS, ["release_id", "time_start", "time_end", "segment", "origin_zone", "destination_zone"]),
    "zones": (_ZONES, ["release_id", "zone_id"]),
    "weights": (_WEIGHTS, ["release_id", "time_bin", "reading", "side", "zone_id"]),
    "tiles": (_TILES, ["release_id", "tile"]),
    "flowmap_locations": (_LOCATIONS, ["id"]),
    "flowmap_flows": (_BETWEEN, ["origin", "dest", "time"]),
    "kepler_cells": (_CELLS, ["source", "target", "time"]),
    "kepler_points": (_POINTS, ["source", "target", "time"]),
}
# Columns that name rows of another table, and the key there.
REFERENCES: dict[str, tuple[str, list[list[str]], list[str]]] = {
    "flows": ("zones", [["release_id", "origin_zone"], ["release_id", "destination_zone"]], ["release_id", "zone_id"]),
    "weights": ("zones", [["release_id", "zone_id"]], ["release_id", "zone_id"]),
    "flowmap_flows": ("flowmap_locations", [["origin"], ["dest"]], ["id"]),
}
# How text files write times that are not in UTC.
CLOCKS = {
    "local_start": "%Y-%m-%dT%H:%M:%S",
    "local_end": "%Y-%m-%dT%H:%M:%S",
    "local_bin": "%Y-%m-%dT%H:%M:%S",
    "time": "%Y-%m-%d %H:%M:%S",
}
MEDIA_TYPES = {
    ".parquet": "application/vnd.apache.parquet",
    ".csv": "text/csv",
    ".gpkg": "application/geopackage+sqlite3",
    ".geojson": "application/geo+json",
    ".json": "application/json",
    ".omx": "application/x-hdf5",
}
# What files that are no table hold, by name or ending.
MEANINGS = {
    "releases.json": "The sealed manifests of the releases: parameters, digests, verdicts.",
    "zones.geojson": "The zones of the releases with their outlines.",
    "desire_lines.geojson": "A line for each pair of zones, kind of row and window, with its trips and the names of both places.",
    "kepler.json": "A saved map of kepler.gl: the trips, drawn by its flow layer.",
    ".gpkg": "Layers zones, desire_lines and, where there are any, tiles; the tables flows and, where there are any, weights;"
    " layer_styles, how QGIS draws them.",
    ".omx": "Estimated trips between zones of the reader's own: a matrix for each time bin, total, and the lookup zone_id.",
}
