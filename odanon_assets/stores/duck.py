"""SQL and reconstruction over the folders of the embedded store, by DuckDB in memory."""

import json
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from odanon.errors import OdanonError
from odanon.reconstruct.areas import ground, spread, zone_shares
from odanon.reconstruct.readings import EVEN, WEIGHT_COLUMNS, resolved, spread_column
from odanon_assets.stores.bundle import FLOW_COLUMNS
from odanon_assets.stores.interface import zoning_version
from odanon_assets.stores.seal import MANIFEST, WEIGHTS, zone_digests

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from geopandas import GeoDataFrame, GeoSeries

_RELEASE = "string_split(filename, '/')[-2]"
_MARGIN = timedelta(days=2)  # a window is a local day, whose bins may lie in another one in UTC
Windows = Sequence[tuple[str, str, str, str]]  # product, start, standing, release
# The columns of flows and zones where no release is left to name them.
_NO_FLOWS = (
    "product text, window_start date, time_start timestamptz, time_end timestamptz, segment text, origin_zone text, destination_zone text,"
    " kind text, trips bigint, spread double, spread_fitted double, spread_prior double, persons_band text,"
    " release_id text"
)
_NO_WEIGHTS = "release_id text, time_bin timestamptz, reading text, side text, zone_id text, around text, weight double"
_NO_ZONES = (
    "release_id text, zone_id text, hierarchy text, level smallint, n_tiles bigint, area_km2 double, tiles text[],"
    " geometry blob"
)


def session_over(folders: list[Path], windows: Windows = ()) -> "DuckDBPyConnection":
    """The views flows, zones, weights, releases and metrics over releases, and what became of windows."""
    import duckdb

    session = duckdb.connect(config={"autoload_known_extensions": False, "autoinstall_known_extensions": False})
    session.execute("SET TimeZone = 'UTC'")
    if folders:
        _view_flows(session, [str(folder / "flows.parquet") for folder in folders])
        zones = session.read_parquet([str(folder / "zones.parquet") for folder in folders], filename=True)
        columns = "zone_id, hierarchy, level, n_tiles, area_km2, tiles, geometry"
        zones.project(f"{_RELEASE} AS release_id, {columns}").create_view("zones")
    else:
        session.execute(f"CREATE TABLE flows ({_NO_FLOWS}); CREATE TABLE zones ({_NO_ZONES})")
    if weighed := [str(folder / WEIGHTS) for folder in folders if (folder / WEIGHTS).is_file()]:
        weights = session.read_parquet(weighed, filename=True)
        weights.project(f"{_RELEASE} AS release_id, {', '.join(WEIGHT_COLUMNS)}").create_view("weights")
    else:
        session.execute(f"CREATE TABLE weights ({_NO_WEIGHTS})")
    session.execute("CREATE TABLE windows (product text, window_start date, status text, release_id text)")
    if windows:
        session.executemany("INSERT INTO windows VALUES (?, ?, ?, ?)", list(windows))
    manifests = [_manifest(folder) for folder in folders]
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
    return session


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


def answer(folders: list[Path], windows: Windows, sql: str) -> pd.DataFrame:
    """The rows of one reading query, which sees the views over the releases and no other file, variable or setting."""
    import duckdb

    session = session_over(folders, windows)
    files = [str(folder / name) for folder in folders for name in ("flows.parquet", "zones.parquet", WEIGHTS)]
    session.execute("SET python_enable_replacements = false")
    session.execute(f"SET allowed_paths = [{', '.join(_quoted(path) for path in files)}]")
    session.execute("SET enable_external_access = false")
    session.execute("SET lock_configuration = true")
    try:
        statements = session.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise OdanonError("only one query that reads is answered; ask with one SELECT")
        return session.execute(statements[0]).df()
    except duckdb.Error as error:
        raise OdanonError(f"DuckDB does not accept the query: {str(error).splitlines()[0]}") from None


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def matrix_over(
    folders: list[Path], areas: "GeoSeries", since: datetime, until: datetime, reading: str
) -> pd.DataFrame:
    """Estimated trips between areas; the shapes are compared once for all releases that share them."""
    readings = {
        folder.name: resolved(reading, _manifest(folder)) for folder in folders if _overlaps(folder, since, until)
    }
    chosen = [folder for folder in folders if folder.name in readings]
    nothing = pd.DataFrame({"origin": [], "destination": [], "trips": []})
    if not chosen:
        return nothing
    zones, names = _distinct_zones(chosen)
    shares = zone_shares(zones, areas)
    session = session_over(chosen)
    session.register("names", names)
    session.execute("CREATE TABLE asked AS SELECT ?::timestamptz AS since, ?::timestamptz AS until", [since, until])
    parts = []
    for how in sorted({*readings.values()}):
        session.register("read", pd.DataFrame({"release_id": [name for name, each in readings.items() if each == how]}))
        flows = session.execute(_VOLUME[how == EVEN].format(spread=spread_column(how))).df()
        if how == EVEN:
            parts.append(spread(flows, zones, shares))
            continue
        weights = session.execute(_WEIGHTS, [how]).df()
        if len(weights):
            size = pd.Series(ground(zones.geometry.to_numpy()), index=zones["zone_id"].to_numpy())
            parts.append(spread(flows, zones, shares, reading=how, weights=weights, size=size))
    table = pd.concat([nothing, *(part for part in parts if len(part))], ignore_index=True)
    return table.groupby(["origin", "destination"], as_index=False)["trips"].sum()


def _overlaps(folder: Path, since: datetime, until: datetime) -> bool:
    """Whether times of a release may lie in [since, until)."""
    start = date.fromisoformat(_manifest(folder)["window_start"])
    return since.date() - _MARGIN <= start <= until.date() + _MARGIN


# Rows by distinct zone; a reading with weights keeps releases and time bins apart, since each has its own.
_BY_ZONE = (
    "SELECT {keys} o.zone AS origin_zone, d.zone AS destination_zone, sum(f.{{spread}} * {share}) AS {{spread}}"
    " FROM flows f CROSS JOIN asked JOIN read USING (release_id)"
    " JOIN names o ON o.release_id = f.release_id AND o.zone_id = f.origin_zone"
    " JOIN names d ON d.release_id = f.release_id AND d.zone_id = f.destination_zone"
    " WHERE f.time_start < asked.until AND coalesce(f.time_end, f.time_start + INTERVAL 1 MICROSECOND) > asked.since"
    " GROUP BY ALL ORDER BY ALL"
)
# Rows are spread evenly over their time; those that are older than ends of bins count where they start.
_SHARE = (
    "CASE WHEN f.time_end IS NULL OR (f.time_start >= asked.since AND f.time_end <= asked.until) THEN 1.0"
    " ELSE (epoch(least(f.time_end, asked.until)) - epoch(greatest(f.time_start, asked.since)))"
    " / (epoch(f.time_end) - epoch(f.time_start)) END"
)
_VOLUME = {
    True: _BY_ZONE.format(keys="", share=_SHARE),
    False: _BY_ZONE.format(keys="f.release_id, f.time_start AS time_bin,", share=_SHARE),
}
_WEIGHTS = (
    "SELECT w.release_id, w.time_bin, w.reading, w.side, z.zone AS zone_id, a.zone AS around, w.weight"
    " FROM weights w JOIN read USING (release_id)"
    " JOIN names z ON z.release_id = w.release_id AND z.zone_id = w.zone_id"
    " LEFT JOIN names a ON a.release_id = w.release_id AND a.zone_id = w.around"
    " CROSS JOIN asked WHERE w.reading = ? AND w.time_bin < asked.until AND w.time_bin >= coalesce("
    "(SELECT max(b.time_bin) FROM weights b JOIN read USING (release_id) WHERE b.time_bin <= asked.since), asked.since)"
    " ORDER BY ALL"
)


def crosswalk_over(folders: list[Path], old: str, new: str) -> pd.DataFrame:
    """How the zones of one zoning version lie in those of another."""
    import geopandas

    sides = []
    for version in (old, new):
        chosen = [folder for folder in folders if _version(folder) == version]
        if not chosen:
            raise OdanonError(f"no visible release has the zoning version {version[:20]!r}")
        sides.append(_distinct_zones(chosen)[0])
    before, after = sides
    shares = zone_shares(before, geopandas.GeoSeries(after.geometry, crs="EPSG:4326"))
    table = pd.DataFrame(
        {
            "zone": before["name"].to_numpy()[shares["zone"]],
            "area": after["name"].to_numpy()[shares["area"]],
            "share": shares["share"],
        }
    )
    return table.sort_values(["zone", "area"], ignore_index=True)


def _version(folder: Path) -> str:
    return zoning_version(_manifest(folder))


def _manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return found


def _distinct_zones(folders: list[Path]) -> tuple["GeoDataFrame", pd.DataFrame]:
    """Areas that differ (zone_id is a number here, name the zone's), and the number of each release's zones."""
    import geopandas

    kept: dict[bytes, int] = {}
    rows, names = [], []
    for folder in folders:
        zones = geopandas.read_parquet(folder / "zones.parquet").drop(columns="bbox", errors="ignore")
        numbers = []
        for digest, name, shape in zip(zone_digests(zones), zones["zone_id"], zones.geometry, strict=True):
            if digest not in kept:
                kept[digest] = len(kept)
                rows.append((kept[digest], name, shape))
            numbers.append(kept[digest])
        names.append(pd.DataFrame({"release_id": folder.name, "zone_id": zones["zone_id"], "zone": numbers}))
    table = geopandas.GeoDataFrame(
        {"zone_id": [row[0] for row in rows], "name": [row[1] for row in rows]},
        geometry=[row[2] for row in rows],
        crs="EPSG:4326",
    )
    return table, pd.concat(names, ignore_index=True)
