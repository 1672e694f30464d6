"""SQL over the folders of the embedded store, by DuckDB in memory."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odanon.reconstruct.readings import TILE_COLUMNS, WEIGHT_COLUMNS
from odanon_assets.stores.bundle import FLOW_COLUMNS
from odanon_assets.stores.interface import zoning_version
from odanon_assets.stores.seal import MANIFEST, NAMED, TILES, WEIGHTS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

_RELEASE = "string_split(filename, '/')[-2]"
_TIME = ("time_bin", "time_start", "time_end", "day_type", "since", "until", "days")  # what manifests tell of times
Windows = Sequence[tuple[str, str, str, str]]  # product, start, standing, release
# The columns of flows and zones where no release is left to name them.
_NO_FLOWS = (
    "product text, window_start date, time_start timestamptz, time_end timestamptz, segment text, origin_zone text,"
    " destination_zone text, kind text, trips bigint, spread double, spread_fitted double, spread_prior double, persons_band text,"
    " release_id text"
)
_NO_WEIGHTS = "release_id text, time_bin timestamptz, reading text, side text, zone_id text, around text, weight double"
_NO_TILES = "release_id text, tile text, zones text[], leaving double, entering double, geometry blob"
_NO_ZONES = (
    "release_id text, zone_id text, hierarchy text, level smallint, n_tiles bigint, area_km2 double, tiles text[],"
    " geometry blob, name text"
)


# Sums of the rows of windows that begin in a month, by local clock; an area of the same name and another shape is another row.
_MONTHS = """
CREATE VIEW months AS
SELECT f.product, date_trunc('month', f.window_start)::date AS month,
       strftime(timezone(r.zone, f.time_start), '%H:%M') AS since,
       replace(strftime(timezone(r.zone, f.time_end), '%H:%M'), '00:00', '24:00') AS until,
       f.segment, f.origin_zone, f.destination_zone, f.kind, sum(f.trips)::bigint AS trips, sum(f.spread) AS spread,
       count(DISTINCT f.window_start)::integer AS windows
FROM flows f
JOIN (SELECT release_id, coalesce(json_extract_string(manifest, '$.timezone'), 'UTC') AS zone FROM releases) r USING (release_id)
JOIN (SELECT release_id, zone_id, hash(geometry) AS shape FROM zones) o
  ON o.release_id = f.release_id AND o.zone_id = f.origin_zone
JOIN (SELECT release_id, zone_id, hash(geometry) AS shape FROM zones) d
  ON d.release_id = f.release_id AND d.zone_id = f.destination_zone
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, o.shape, d.shape
"""


def session_over(
    folders: list[Path], windows: Windows = (), extend: Callable[["DuckDBPyConnection"], None] | None = None
) -> "DuckDBPyConnection":
    """The views flows, zones, weights, tiles, releases, metrics, bins and daily_means over releases, and what became of windows.

    With an extension that knows shapes, those of zones and tiles are such; without, their bytes (WKB).
    """
    session, manifests = flows_over(folders), [manifest_of(folder) for folder in folders]
    if extend is not None:
        extend(session)
    if folders:
        _view_zones(session, folders, [NAMED in manifest for manifest in manifests])
    else:
        session.execute(f"CREATE TABLE zones ({_NO_ZONES})")
    _view_some(session, "tiles", [folder / TILES for folder in folders], TILE_COLUMNS, _NO_TILES)
    session.execute("CREATE TABLE windows (product text, window_start date, status text, release_id text)")
    if windows:
        session.executemany("INSERT INTO windows VALUES (?, ?, ?, ?)", list(windows))
    releases = [(m["release_id"], m["product"], m["window_start"], zoning_version(m), json.dumps(m)) for m in manifests]
    session.execute(
        "CREATE TABLE releases (release_id text, product text, window_start date, zoning_version text, manifest text)"
    )
    if releases:
        session.executemany("INSERT INTO releases VALUES (?, ?, ?, ?, ?)", releases)
    metrics = [
        (m["product"], m["window_start"], m["release_id"], name, float(value))
        for m in manifests
        for name, value in m.get("metrics", {}).items()
        if isinstance(value, int | float)
    ]
    session.execute("CREATE TABLE metrics (product text, window_start date, release_id text, name text, value double)")
    if metrics:
        session.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?)", metrics)
    _create_bins(session, manifests)
    session.execute(_MONTHS)
    return session


def flows_over(folders: list[Path]) -> "DuckDBPyConnection":
    """The views flows and weights over releases, which answers are made from."""
    import duckdb

    session = duckdb.connect(config={"autoload_known_extensions": False, "autoinstall_known_extensions": False})
    session.execute("SET TimeZone = 'UTC'")
    if folders:
        _view_flows(session, [str(folder / "flows.parquet") for folder in folders])
    else:
        session.execute(f"CREATE TABLE flows ({_NO_FLOWS})")
    _view_some(session, "weights", [folder / WEIGHTS for folder in folders], WEIGHT_COLUMNS, _NO_WEIGHTS)
    return session


def _view_zones(session: "DuckDBPyConnection", folders: list[Path], named: list[bool]) -> None:
    """The zones of all releases. Manifests tell which files have names: to look into each takes a second a year of days."""
    parts = []
    for has_names, name in ((False, "NULL::text AS name"), (True, "name")):
        files = [str(folder / "zones.parquet") for folder, has in zip(folders, named, strict=True) if has == has_names]
        if files:
            rows = session.read_parquet(files, filename=True)
            columns = "zone_id, hierarchy, level, n_tiles, area_km2, tiles"
            parts.append(rows.project(f"{_RELEASE} AS release_id, {columns}, {_shape(rows)}, {name}"))
    (parts[0] if len(parts) == 1 else parts[0].union(parts[1])).create_view("zones")


def _view_some(
    session: "DuckDBPyConnection", name: str, files: list[Path], columns: Sequence[str], nothing: str
) -> None:
    """A table that not every release has."""
    if found := [str(path) for path in files if path.is_file()]:
        rows = session.read_parquet(found, filename=True)
        told = [_shape(rows) if column == "geometry" else column for column in columns]
        rows.project(f"{_RELEASE} AS release_id, {', '.join(told)}").create_view(name)
    else:
        session.execute(f"CREATE TABLE {name} ({nothing})")


def _shape(rows: "DuckDBPyRelation") -> str:
    """Outlines without what DuckDB may know of their reference system, which is always the same."""
    kind = str(dict(zip(rows.columns, rows.types, strict=True))["geometry"])
    return "geometry::GEOMETRY AS geometry" if kind.startswith("GEOMETRY") else "geometry"


def _create_bins(session: "DuckDBPyConnection", manifests: list[dict[str, Any]]) -> None:
    """The time bins of windows longer than a day with the days behind them, and their flows as means by day."""
    times = [
        (m["product"], m["window_start"], m["release_id"], kind, *(each.get(name) for name in _TIME))
        for m in manifests
        for kind in ("bins", "intervals")  # what the time of a row may be; the second where rows are of several bins
        for each in m.get(kind, ())
    ]
    session.execute(
        "CREATE TABLE told_times (product text, window_start date, release_id text, kind text, time_bin timestamptz,"
        " time_start timestamptz, time_end timestamptz, day_type text, since text, until text, days integer)"
    )
    if times:
        session.executemany("INSERT INTO told_times VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", times)
    session.execute(
        "CREATE VIEW bins AS SELECT product, window_start, release_id, time_bin, day_type, since, until, days"
        " FROM told_times WHERE kind = 'bins'"
    )
    session.execute(
        "CREATE VIEW daily_means AS SELECT f.product, f.window_start, f.time_start, f.time_end, b.day_type, b.since,"
        " b.until, b.days, f.segment, f.origin_zone, f.destination_zone, f.kind, f.trips,"
        " f.trips / b.days::double AS trips_per_day, f.release_id FROM flows f"
        " JOIN told_times b ON b.release_id = f.release_id AND coalesce(b.time_start, b.time_bin) = f.time_start"
        " AND coalesce(b.time_end = f.time_end, true) WHERE b.days > 0"
    )


def _view_flows(session: "DuckDBPyConnection", files: list[str]) -> None:
    """The flows of all releases; those of files that are older than rests are flows, read evenly, and than ends of bins have none."""
    session.read_parquet(files, union_by_name=True).create_view("flow_files")
    known = set(session.view("flow_files").columns)
    columns = {name: name for name in FLOW_COLUMNS}
    columns["kind"] = "coalesce(kind, 'flow') AS kind" if "kind" in known else "'flow' AS kind"
    columns["spread"] = "coalesce(spread, trips) AS spread" if "spread" in known else "trips::double AS spread"
    columns |= {name: f"NULL::double AS {name}" for name in ("spread_fitted", "spread_prior") if name not in known}
    if "time_bin" in known:
        start = "coalesce(time_start, time_bin)" if "time_start" in known else "time_bin"
        columns["time_start"] = f"{start} AS time_start"
    if "time_end" not in known:
        columns["time_end"] = "NULL::timestamptz AS time_end"
    session.view("flow_files").project(", ".join(columns.values())).create_view("flows")


def quoted(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def manifest_of(folder: Path) -> dict[str, Any]:
    """The manifest of a release."""
    found: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return found
