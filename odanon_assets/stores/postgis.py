"""The PostGIS store: schemas and functions by `odanon db init`, bulk rows by COPY, one transaction a release."""

import json
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from odanon.errors import OdanonError
from odanon.model.when import When
from odanon.reconstruct.prior import no_tiles
from odanon.reconstruct.readings import AUTO, EVEN, TILE_COLUMNS, WEIGHT_COLUMNS
from odanon.reconstruct.weights import no_weights
from odanon_assets.stores import load
from odanon_assets.stores.answers.session import query_in
from odanon_assets.stores.answers.tables import flow_in, matrix_in, profile_in
from odanon_assets.stores.bundle import FLOW_COLUMNS, ZONE_COLUMNS, Bundle, check_bundle, check_name
from odanon_assets.stores.database import address_of, execute, transaction
from odanon_assets.stores.interface import (
    AUDIT_COLUMNS,
    LEDGER_COLUMNS,
    Act,
    Estimate,
    Gate,
    Standing,
    closed,
    data_locks,
    ledger_row,
    refusal,
    shares_input,
    starts_near,
    taken_back,
)
from odanon_assets.stores.seal import content_problems, read_sealed, sealed_manifest

if TYPE_CHECKING:
    from geopandas import GeoDataFrame
    from shapely.geometry.base import BaseGeometry
    from sqlalchemy import Connection


@dataclass(frozen=True, repr=False)
class PostgisStore:
    """Releases in a PostgreSQL database with PostGIS."""

    url: str

    @property
    def address(self) -> str:
        return address_of(self.url)

    def publish(self, bundle: Bundle, gate: Gate, act: Act | None = None) -> bool:
        check_bundle(bundle)
        with transaction(self.url) as connection:
            # On its own: a new month must not keep the catalogue locked while its first release loads.
            execute(connection, "SELECT odanon.ensure_month(:day)", {"day": bundle.window_start})
        with transaction(self.url) as connection:
            _lock(connection, bundle.product, bundle.window_start)
            _lock_data(connection, bundle.manifest)
            manifest = sealed_manifest(bundle)
            current = _pointer(connection, bundle.product, bundle.window_start)
            if current is not None and current.manifest == manifest and current.standing == "published":
                return False
            if current is not None and (act is None or current.standing == "purged"):
                raise _refused(bundle, current)
            if _known(connection, bundle.release_id):
                raise closed(bundle.product, bundle.window_start)
            gate()
            release_no = load.release(connection, bundle, manifest)
            _point(connection, bundle, release_no, replacing=current is not None)
            what = "publish" if current is None else "supersede"
            _audit(connection, what, bundle.product, bundle.window_start, bundle.release_id, act if current else None)
            execute(connection, "SELECT odanon.ensure_product_view(:product)", {"product": bundle.product})
        return True

    def withdraw(self, product: str, window_start: date, act: Act) -> bool:
        return self._take_away("withdraw", product, window_start, act)

    def purge(self, product: str, window_start: date, act: Act) -> bool:
        return self._take_away("purge", product, window_start, act)

    def _take_away(self, what: str, product: str, window_start: date, act: Act) -> bool:
        """Delete the tables of a window in one transaction; whether it showed a release."""
        check_name(product)
        with transaction(self.url) as connection:
            _lock(connection, product, window_start)
            current = _pointer(connection, product, window_start)
            if current is None or current.standing != "published":
                return False
            where = {"product": product, "window_start": window_start, "withdrawn": what == "withdraw"}
            for statement in _TAKE_AWAY:
                execute(connection, statement, where)
            _audit(connection, what, product, window_start, current.release_id, act)
        return True

    def released(self, product: str, window_start: date) -> str | None:
        with transaction(self.url) as connection:
            return execute(
                connection,
                "SELECT release_id FROM published.releases WHERE product = :product AND window_start = :window",
                {"product": product, "window": window_start},
            ).scalar_one_or_none()

    def window_folder(self, product: str, window_start: date) -> Path | None:
        """None: the tables are in the database."""
        return None

    def windows(self, product: str) -> list[str]:
        return [day for day, standing in self.standings(product).items() if standing == "published"]

    def standings(self, product: str) -> dict[str, Standing]:
        with transaction(self.url) as connection:
            found = execute(
                connection,
                "SELECT window_start, status FROM published.windows WHERE product = :product ORDER BY 1",
                {"product": product},
            )
            return {day.isoformat(): status for day, status in found}

    def flows(self, release_id: str) -> pd.DataFrame:
        with transaction(self.url) as connection:
            release = _release(connection, release_id)
            rows = execute(
                connection,
                "SELECT f.time_start, f.time_end, f.segment, o.zone_id, d.zone_id, f.kind, f.trips,"
                " coalesce(f.spread, f.trips), f.spread_fitted, f.spread_prior, f.persons_band"
                " FROM published.flow f"
                " JOIN published.zone o ON o.zone_no = f.origin_no"
                " JOIN published.zone d ON d.zone_no = f.destination_no"
                " WHERE f.release_no = :no AND f.window_start = :window ORDER BY f.position",
                {"no": release.release_no, "window": release.window_start},
            ).all()
        plain = [(release.product, release.window_start, *row, release_id) for row in rows]
        frame = pd.DataFrame(plain, columns=list(FLOW_COLUMNS))
        spreads, times = [name for name in FLOW_COLUMNS if name.startswith("spread")], ("time_start", "time_end")
        text_columns = dict.fromkeys(set(FLOW_COLUMNS) - {"window_start", *times, "trips", *spreads}, "str")
        frame = frame.astype({**text_columns, "trips": "int64", **dict.fromkeys(spreads, "float64")})
        for name in times:
            frame[name] = pd.to_datetime(frame[name], utc=True).astype("datetime64[us, UTC]")
        return frame

    def zones(self, release_id: str) -> "GeoDataFrame":
        import shapely
        from geopandas import GeoDataFrame

        with transaction(self.url) as connection:
            release = _release(connection, release_id)
            rows = execute(
                connection,
                "SELECT z.zone_id, z.name, z.hierarchy, z.level, z.n_tiles, z.area_km2, z.tiles, ST_AsBinary(z.geometry)"
                " FROM published.release_zone m JOIN published.zone z USING (zone_no)"
                " WHERE m.release_no = :no ORDER BY m.position",
                {"no": release.release_no},
            ).all()
        frame = pd.DataFrame([row[:-1] for row in rows], columns=list(ZONE_COLUMNS[:-1]))
        frame = frame.astype(
            {"zone_id": "str", "name": "str", "hierarchy": "str", "level": "int16", "n_tiles": "int64"}
        )
        shapes = [None if row[-1] is None else shapely.from_wkb(bytes(row[-1])) for row in rows]
        return GeoDataFrame(frame, geometry=shapes, crs="EPSG:4326")

    def report(self, release_id: str) -> str:
        with transaction(self.url) as connection:
            shown = execute(
                connection, "SELECT report FROM published.reports WHERE release_id = :id", {"id": release_id}
            ).scalar_one_or_none()
            # Readers may see what is visible; a release that was replaced is for the publisher.
            return shown if shown is not None else _release(connection, release_id).report

    def weights(self, release_id: str) -> pd.DataFrame:
        with transaction(self.url) as connection:
            release = _release(connection, release_id)
            rows = execute(
                connection,
                "SELECT w.time_bin, w.reading, w.side, z.zone_id, a.zone_id, w.weight FROM published.weight w"
                " JOIN published.zone z ON z.zone_no = w.zone_no"
                " LEFT JOIN published.zone a ON a.zone_no = w.chain[2]"
                " WHERE w.release_no = :no ORDER BY w.position",
                {"no": release.release_no},
            ).all()
        if not rows:
            return no_weights()
        frame = pd.DataFrame(rows, columns=list(WEIGHT_COLUMNS))
        frame["time_bin"] = pd.to_datetime(frame["time_bin"], utc=True)
        return frame.astype(no_weights().dtypes.to_dict())

    def tiles(self, release_id: str) -> "GeoDataFrame":
        import shapely
        from geopandas import GeoDataFrame

        with transaction(self.url) as connection:
            release = _release(connection, release_id)
            rows = execute(
                connection,
                "SELECT t.tile, array_agg(z.zone_id ORDER BY m.position), x.leaving, x.entering, ST_AsBinary(t.geometry)"
                " FROM published.release_zone m JOIN published.zone z USING (zone_no)"
                " JOIN published.zone_tile x ON x.zone_no = m.zone_no AND x.prior_no = :prior"
                " JOIN published.tile t USING (tile_no) WHERE m.release_no = :no"
                ' GROUP BY t.tile_no, x.leaving, x.entering ORDER BY t.tile COLLATE "C"',
                {"no": release.release_no, "prior": release.prior_no},
            ).all()
        if not rows:
            return no_tiles()
        frame = pd.DataFrame([row[:-1] for row in rows], columns=list(TILE_COLUMNS[:-1])).astype({"tile": "str"})
        return GeoDataFrame(frame, geometry=[shapely.from_wkb(bytes(row[-1])) for row in rows], crs="EPSG:4326")

    def manifest_text(self, release_id: str) -> str:
        with transaction(self.url) as connection:
            return _release(connection, release_id).manifest

    def problems(self, release_id: str) -> list[str]:
        manifest, problems = read_sealed(self.manifest_text(release_id).encode())
        tables = self.flows(release_id), self.zones(release_id)
        more = self.weights(release_id), self.tiles(release_id)
        return problems or content_problems(manifest, (*tables, self.report(release_id), *more))

    def ledger(self) -> pd.DataFrame:
        with transaction(self.url) as connection:
            rows = execute(
                connection,
                "SELECT r.manifest, CASE WHEN r.withdrawn THEN 'withdrawn' WHEN r.report IS NULL THEN 'purged'"
                " WHEN w.release_no IS NULL THEN 'superseded' ELSE 'visible' END FROM published.release r"
                " LEFT JOIN published.release_window w USING (release_no)"
                " ORDER BY r.product, r.window_start, r.release_no",
            ).all()
        return pd.DataFrame([ledger_row(json.loads(m), status) for m, status in rows], columns=list(LEDGER_COLUMNS))

    def sharing(self, product: str, data_sha256: str, start: datetime, end: datetime) -> list[dict[str, Any]]:
        days = starts_near(start, end)
        with transaction(self.url) as connection:
            found = execute(
                connection,
                "SELECT manifest FROM published.release WHERE"
                " (data_sha256 = :data OR data_sha256 IS NULL OR product = :product)"
                " AND window_start BETWEEN :first AND :last ORDER BY release_no",
                {"data": data_sha256, "product": product, "first": days[0], "last": days[-1]},
            ).scalars()
            manifests = [json.loads(manifest) for manifest in found]
        return [manifest for manifest in manifests if shares_input(manifest, product, data_sha256, start, end)]

    def audit_log(self) -> pd.DataFrame:
        with transaction(self.url) as connection:
            rows = execute(connection, f"SELECT {', '.join(AUDIT_COLUMNS)} FROM work.audit_log ORDER BY entry_no").all()
        return pd.DataFrame(rows, columns=list(AUDIT_COLUMNS)).astype({"window_start": "str"})

    def query(self, sql: str, product: str | None = None, areas: "GeoDataFrame | None" = None) -> pd.DataFrame:
        return query_in(self.url, sql, product, areas)

    def flow(
        self,
        product: str,
        origin: "BaseGeometry",
        destination: "BaseGeometry",
        when: When,
        reading: str = AUTO,
        segment: str | None = None,
    ) -> Estimate:
        return flow_in(self.url, product, (origin, destination), when, reading, segment)

    def matrix(
        self, product: str, areas: "GeoDataFrame", when: When, reading: str = AUTO, segment: str | None = None
    ) -> pd.DataFrame:
        return matrix_in(self.url, product, areas, when, reading, segment)

    def profile(
        self,
        product: str,
        origin: "BaseGeometry",
        destination: "BaseGeometry",
        when: When,
        step: timedelta,
        reading: str = AUTO,
        along: str = EVEN,
        segment: str | None = None,
    ) -> pd.DataFrame:
        return profile_in(self.url, product, (origin, destination), when, step, reading, along, segment)

    def crosswalk(self, product: str, old: str, new: str) -> pd.DataFrame:
        with transaction(self.url) as connection:
            found = execute(
                connection,
                'SELECT * FROM odanon.crosswalk(:product, :old, :new) ORDER BY zone COLLATE "C", area COLLATE "C"',
                {"product": product, "old": old, "new": new},
            ).all()
        return pd.DataFrame(found, columns=["zone", "area", "share"])


_TAKE_AWAY = (
    load.ONE_AT_A_TIME,  # a tile that nobody needs any more may be needed by whoever publishes at this moment
    "DELETE FROM published.flow f USING published.release r WHERE f.release_no = r.release_no"
    " AND f.window_start = :window_start AND r.product = :product AND r.window_start = :window_start",
    "DELETE FROM published.weight w USING published.release r WHERE w.release_no = r.release_no"
    " AND r.product = :product AND r.window_start = :window_start",
    *(
        f"DELETE FROM published.{table} x USING published.release r WHERE x.release_no = r.release_no"
        " AND r.product = :product AND r.window_start = :window_start"
        for table in ("pulse", "piece", "flow_time", "part")
    ),
    "DELETE FROM published.release_zone m USING published.release r WHERE m.release_no = r.release_no"
    " AND r.product = :product AND r.window_start = :window_start",
    "DELETE FROM published.metric m USING published.release r WHERE m.release_no = r.release_no"
    " AND r.product = :product AND r.window_start = :window_start",
    "UPDATE published.release SET report = NULL, withdrawn = :withdrawn WHERE report IS NOT NULL"
    " AND product = :product AND window_start = :window_start",
    "UPDATE published.release_window SET purged = true WHERE product = :product AND window_start = :window_start",
    "DELETE FROM published.zone z WHERE NOT EXISTS (SELECT FROM published.release_zone m WHERE m.zone_no = z.zone_no)",
    *(
        f"DELETE FROM published.{table} x WHERE NOT EXISTS (SELECT FROM published.zone z WHERE z.zone_no = x.zone_no)"
        for table in ("zone_prior", "zone_tile")
    ),
    "DELETE FROM published.tile t WHERE NOT EXISTS (SELECT FROM published.zone_tile x WHERE x.tile_no = t.tile_no)",
)


def _lock(connection: "Connection", product: str, window_start: date) -> None:
    """One publisher per window at a time; the lock ends with the transaction, however it ends."""
    execute(
        connection,
        "SELECT pg_advisory_xact_lock(hashtextextended(:key, 0))",
        {"key": f"odanon {product} {window_start}"},
    )


def _lock_data(connection: "Connection", manifest: dict[str, Any]) -> None:
    """One publisher per data set and time at a time, so that no two products pass the auditor side by side."""
    for name in data_locks(manifest):
        execute(connection, "SELECT pg_advisory_xact_lock(hashtextextended(:key, 0))", {"key": f"odanon {name}"})


def _pointer(connection: "Connection", product: str, window_start: date) -> Any:
    return execute(
        connection,
        "SELECT r.release_id, r.manifest, w.status AS standing FROM published.windows w"
        " JOIN published.release r USING (release_id) WHERE w.product = :product AND w.window_start = :window",
        {"product": product, "window": window_start},
    ).one_or_none()


def _refused(bundle: Bundle, current: Any) -> OdanonError:
    if current.standing == "purged":
        return closed(bundle.product, bundle.window_start)
    if current.standing == "withdrawn":
        return taken_back(bundle.product, bundle.window_start)
    return refusal(bundle.product, bundle.window_start, current.release_id)


def _known(connection: "Connection", release_id: str) -> bool:
    found = execute(connection, "SELECT 1 FROM published.release WHERE release_id = :id", {"id": release_id})
    return found.first() is not None


def _release(connection: "Connection", release_id: str) -> Any:
    found = execute(
        connection, "SELECT * FROM published.release WHERE release_id = :id", {"id": release_id}
    ).one_or_none()
    if found is None or found.report is None:
        raise OdanonError(f"there is no release {release_id[:100]!r} in the database, or it was withdrawn or purged")
    return found


def _point(connection: "Connection", bundle: Bundle, release_no: int, *, replacing: bool) -> None:
    statement = (
        "UPDATE published.release_window SET release_no = :no, purged = false"
        " WHERE product = :product AND window_start = :window"
        if replacing
        else "INSERT INTO published.release_window (product, window_start, release_no) VALUES (:product, :window, :no)"
    )
    execute(connection, statement, {"product": bundle.product, "window": bundle.window_start, "no": release_no})


def _audit(
    connection: "Connection", what: str, product: str, window_start: date, release_id: str, act: Act | None
) -> None:
    execute(
        connection,
        "INSERT INTO work.audit_log (act, product, window_start, release_id, by_name, reason)"
        " VALUES (:act, :product, :window, :id, :by, :reason)",
        {
            "act": what,
            "product": product,
            "window": window_start,
            "id": release_id,
            "by": act and act.by_name,
            "reason": act and act.reason,
        },
    )
