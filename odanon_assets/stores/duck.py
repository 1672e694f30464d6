"""SQL and reconstruction over the folders of the embedded store, by DuckDB in memory."""

import json
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from odanon.errors import OdanonError
from odanon.model.window import Times
from odanon.reconstruct.areas import ground, spread, zone_shares
from odanon.reconstruct.readings import EVEN, PRIOR, TILE_COLUMNS, WEIGHT_COLUMNS, resolved, spread_column
from odanon_assets.stores.bundle import FLOW_COLUMNS
from odanon_assets.stores.interface import zoning_version
from odanon_assets.stores.seal import MANIFEST, TILES, WEIGHTS, zone_digests

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from geopandas import GeoDataFrame, GeoSeries

_RELEASE = "string_split(filename, '/')[-2]"
_AFTER = timedelta(days=2)  # days of a window are local, and its bins may lie in others in UTC
_BEFORE = timedelta(days=33)  # bins of a month may start at its end
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
    " geometry blob"
)


def session_over(folders: list[Path], windows: Windows = ()) -> "DuckDBPyConnection":
    """The views flows, zones, weights, tiles, releases, metrics, bins and daily_means over releases, and what became of windows."""
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
    _view_some(session, "weights", [folder / WEIGHTS for folder in folders], WEIGHT_COLUMNS, _NO_WEIGHTS)
    _view_some(session, "tiles", [folder / TILES for folder in folders], TILE_COLUMNS, _NO_TILES)
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
    _create_bins(session, manifests)
    return session


def _view_some(
    session: "DuckDBPyConnection", name: str, files: list[Path], columns: Sequence[str], nothing: str
) -> None:
    """A table that not every release has."""
    if found := [str(path) for path in files if path.is_file()]:
        rows = session.read_parquet(found, filename=True)
        rows.project(f"{_RELEASE} AS release_id, {', '.join(columns)}").create_view(name)
    else:
        session.execute(f"CREATE TABLE {name} ({nothing})")


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


def answer(folders: list[Path], windows: Windows, sql: str) -> pd.DataFrame:
    """The rows of one reading query, which sees the views over the releases and no other file, variable or setting."""
    import duckdb

    session = session_over(folders, windows)
    files = [str(folder / name) for folder in folders for name in ("flows.parquet", "zones.parquet", WEIGHTS, TILES)]
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
    readings = {folder.name: _resolved(reading, folder) for folder in folders if _overlaps(folder, since, until)}
    chosen = [folder for folder in folders if folder.name in readings]
    nothing = pd.DataFrame({"origin": [], "destination": [], "trips": []})
    if not chosen:
        return nothing
    zones, names = _distinct_zones(chosen)
    shares = zone_shares(zones, areas)
    session = session_over(chosen)
    session.register("names", names)
    session.execute("CREATE TABLE asked AS SELECT ?::timestamptz AS since, ?::timestamptz AS until", [since, until])
    session.register("uneven", _uneven_times(chosen, since, until))
    parts = []
    for how in sorted({*readings.values()}):
        session.register("read", pd.DataFrame({"release_id": [name for name, each in readings.items() if each == how]}))
        flows = session.execute(_VOLUME[how == EVEN].format(spread=spread_column(how))).df()
        if how == EVEN:
            parts.append(spread(flows, zones, shares))
            continue
        size = pd.Series(ground(zones.geometry.to_numpy()) / 1e6, index=zones["zone_id"].to_numpy())
        if how == PRIOR:
            given = {folder.name: _manifest(folder)["weights"]["sha256"] for folder in chosen}
            for file, here in flows.groupby(flows["release_id"].map(given)):
                tiles = _distinct_tiles([folder for folder in chosen if given[folder.name] == file], names)
                inside = zone_shares(tiles, areas)
                parts.append(spread(here, zones, shares, reading=how, weights=tiles, size=size, inside=inside))
            continue
        weights = session.execute(_WEIGHTS, [how]).df()
        if len(weights):
            parts.append(spread(flows, zones, shares, reading=how, weights=weights, size=size))
    table = pd.concat([nothing, *(part for part in parts if len(part))], ignore_index=True)
    return table.groupby(["origin", "destination"], as_index=False)["trips"].sum()


def _resolved(reading: str, folder: Path) -> str:
    """The reading that is meant; prior by zones, as some time ago, is none any more."""
    manifest = _manifest(folder)
    offered = manifest.get("readings", [EVEN])
    if not (folder / TILES).is_file():
        manifest = {**manifest, "readings": [name for name in offered if name != PRIOR]}
    return resolved(reading, manifest)


def _distinct_tiles(folders: list[Path], names: pd.DataFrame) -> "GeoDataFrame":
    """The tiles of releases that share a file of weights, each with the numbers of all zones of theirs around it."""
    import geopandas

    number = names.set_index(["release_id", "zone_id"])["zone"]
    tables = [geopandas.read_parquet(folder / TILES).assign(release_id=folder.name) for folder in folders]
    every = pd.concat(tables, ignore_index=True)
    around = every[["tile", "release_id", "zones"]].explode("zones")
    around["zones"] = number.loc[list(zip(around["release_id"], around["zones"], strict=True))].to_numpy()
    zones = around.drop_duplicates(["tile", "zones"]).groupby("tile")["zones"].agg(list)
    tiles = every.drop_duplicates("tile", ignore_index=True)
    return tiles.assign(zones=zones.loc[tiles["tile"]].to_list())


def _uneven_times(folders: list[Path], since: datetime, until: datetime) -> pd.DataFrame:
    """Which share of the times of rows is asked for, where bins of one length are not of as many days."""
    found = [
        (folder.name, *each)
        for folder in folders
        if "intervals" in (manifest := _manifest(folder))
        for each in Times.of_told(manifest["bins"]).shares(since, until)
    ]
    instant = "datetime64[us, UTC]"
    columns = {"release_id": "str", "time_start": instant, "time_end": instant, "share": "float64"}
    return pd.DataFrame(found, columns=list(columns)).astype(columns)


def _overlaps(folder: Path, since: datetime, until: datetime) -> bool:
    """Whether times of a release may lie in [since, until)."""
    start = date.fromisoformat(_manifest(folder)["window_start"])
    return since.date() <= start + _BEFORE and start - _AFTER <= until.date()


# Rows by distinct zone; a reading with weights keeps releases and time bins apart, since each has its own.
_BY_ZONE = (
    "SELECT {keys} o.zone AS origin_zone, d.zone AS destination_zone, sum(f.{{spread}} * {share}) AS {{spread}}"
    " FROM flows f CROSS JOIN asked JOIN read USING (release_id)"
    " JOIN names o ON o.release_id = f.release_id AND o.zone_id = f.origin_zone"
    " JOIN names d ON d.release_id = f.release_id AND d.zone_id = f.destination_zone"
    " LEFT JOIN uneven u ON u.release_id = f.release_id AND u.time_start = f.time_start AND u.time_end = f.time_end"
    " WHERE f.time_start < asked.until AND coalesce(f.time_end, f.time_start + INTERVAL 1 MICROSECOND) > asked.since"
    " GROUP BY ALL ORDER BY ALL"
)
# Rows are spread evenly over their time; those that are older than ends of bins count where they start.
_SHARE = (
    "CASE WHEN u.share IS NOT NULL THEN u.share"
    " WHEN f.time_end IS NULL OR (f.time_start >= asked.since AND f.time_end <= asked.until) THEN 1.0"
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
