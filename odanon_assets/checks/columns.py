"""The columns that each stage's main table promises, and the columns of earlier stages they come from.

One list serves three readers: the schema check, the column pages of the UI and its column lineage.
"""

from dataclasses import dataclass

TEXT, COUNT, NUMBER, TIME, DATE = "text", "integer", "number", "time", "date"


@dataclass(frozen=True)
class Column:
    """A column: its kind, what it means, and `stage.column` of what it is made from."""

    name: str
    kind: str
    meaning: str
    made_from: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """The main table of a stage: the files that hold it and its columns."""

    files: str
    columns: tuple[Column, ...]


_PAIR = (
    Column("time_bin", TIME, "start of the time bin, UTC", ("trips.start",)),
    Column("segment", TEXT, "segment of the people, all where there is one", ("traces.person",)),
    Column("origin", TEXT, "tile in which the trips start", ("trips.o_lat", "trips.o_lon")),
    Column("destination", TEXT, "tile in which the trips end", ("trips.d_lat", "trips.d_lon")),
)

TABLES: dict[str, Table] = {
    "traces": Table(
        "bucket-*.parquet",
        (
            Column("person", COUNT, "pseudonym under the key of the day"),
            Column("time", TIME, "instant of the fix, UTC"),
            Column("lat", NUMBER, "latitude, degrees"),
            Column("lon", NUMBER, "longitude, degrees"),
        ),
    ),
    "staypoints": Table(
        "bucket-*.parquet",
        (
            Column("person", COUNT, "pseudonym under the key of the day", ("traces.person",)),
            Column("start", TIME, "first fix of the stay, UTC", ("traces.time",)),
            Column("end", TIME, "last fix of the stay, UTC", ("traces.time",)),
            Column("lat", NUMBER, "latitude of the stay, degrees", ("traces.lat",)),
            Column("lon", NUMBER, "longitude of the stay, degrees", ("traces.lon",)),
        ),
    ),
    "trips": Table(
        "bucket-*.parquet",
        (
            Column("person", COUNT, "pseudonym under the key of the day", ("staypoints.person",)),
            Column("start", TIME, "departure, UTC", ("staypoints.end",)),
            Column("end", TIME, "arrival, UTC", ("staypoints.start",)),
            Column("o_lat", NUMBER, "latitude of the origin, degrees", ("staypoints.lat",)),
            Column("o_lon", NUMBER, "longitude of the origin, degrees", ("staypoints.lon",)),
            Column("d_lat", NUMBER, "latitude of the destination, degrees", ("staypoints.lat",)),
            Column("d_lon", NUMBER, "longitude of the destination, degrees", ("staypoints.lon",)),
            Column("distance_m", NUMBER, "great-circle distance, metres", ("staypoints.lat", "staypoints.lon")),
        ),
    ),
    "od": Table(
        "pairs.parquet",
        (*_PAIR, Column("trips", COUNT, "trips of the pair", ("trips.start",))),
    ),
    "hierarchy": Table(
        "tree.parquet",
        (
            Column("label", TEXT, "name of the tile or area", ("od.origin", "od.destination")),
            Column("parent", COUNT, "row of the area above, -1 at the top"),
            Column("n_tiles", COUNT, "tiles inside"),
            Column("level", COUNT, "level of the hierarchy"),
            Column("lat", NUMBER, "latitude of the middle, degrees"),
            Column("lon", NUMBER, "longitude of the middle, degrees"),
        ),
    ),
    "anonymized": Table(
        "flows.parquet",
        (
            Column("time_bin", TIME, "start of the time bin, UTC", ("od.time_bin",)),
            Column("origin", TEXT, "area in which the trips start", ("od.origin", "hierarchy.label")),
            Column("destination", TEXT, "area in which the trips end", ("od.destination", "hierarchy.label")),
            Column("kind", TEXT, "flow, or rest: the trips between its areas that no finer row counts"),
            Column("trips", COUNT, "trips of the row", ("od.trips",)),
            Column("persons", COUNT, "distinct people behind the row", ("od.trips",)),
            Column("origin_tiles", COUNT, "tiles of the origin area", ("hierarchy.n_tiles",)),
            Column("destination_tiles", COUNT, "tiles of the destination area", ("hierarchy.n_tiles",)),
        ),
    ),
    "published": Table(
        "flows",
        (
            Column("product", TEXT, "name of the product"),
            Column("window_start", DATE, "the day"),
            Column("time_start", TIME, "start of the time of departure, UTC", ("anonymized.time_bin",)),
            Column("time_end", TIME, "end of it, UTC", ("anonymized.time_bin",)),
            Column("segment", TEXT, "segment of the people", ("od.segment",)),
            Column("origin_zone", TEXT, "zone in which the trips start", ("anonymized.origin",)),
            Column("destination_zone", TEXT, "zone in which the trips end", ("anonymized.destination",)),
            Column(
                "kind",
                TEXT,
                "flow, or rest: the trips between its zones that no finer row counts",
                ("anonymized.kind",),
            ),
            Column("trips", COUNT, "trips of the row, or those of the population it stands for", ("anonymized.trips",)),
            Column("spread", NUMBER, "what to multiply with shares of the two zones; trips where there are no rests"),
            Column("spread_fitted", NUMBER, "the same with shares of fitted weights; empty without that reading"),
            Column(
                "spread_prior", NUMBER, "the same with shares of public weights of tiles; empty without that reading"
            ),
            Column("persons_band", TEXT, "how many people stand behind the row, as a band", ("anonymized.persons",)),
            Column("release_id", TEXT, "the release"),
        ),
    ),
}
