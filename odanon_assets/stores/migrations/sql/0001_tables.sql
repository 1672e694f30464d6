CREATE SCHEMA IF NOT EXISTS raw;
CREATE SCHEMA IF NOT EXISTS work;
CREATE SCHEMA IF NOT EXISTS published;
CREATE SCHEMA IF NOT EXISTS odanon;
COMMENT ON SCHEMA raw IS 'Source tables as they come in; restricted to odanon_admin.';
COMMENT ON SCHEMA work IS 'Restricted book-keeping: the audit log.';
COMMENT ON SCHEMA published IS 'What the public may see: flows, zones, releases.';
COMMENT ON SCHEMA odanon IS 'Functions for analysts and for the publisher.';

CREATE TABLE published.zoning (
    version text PRIMARY KEY,
    zoning jsonb,
    hierarchy jsonb,
    first_seen timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE published.zoning IS 'Versions of zoning and hierarchy; odanon.crosswalk leads from one to another.';
COMMENT ON COLUMN published.zoning.version IS 'Short digest of the parameters below.';
COMMENT ON COLUMN published.zoning.zoning IS 'Zoning plugin and its parameters.';
COMMENT ON COLUMN published.zoning.hierarchy IS 'Hierarchy plugin and its parameters.';
COMMENT ON COLUMN published.zoning.first_seen IS 'When the first release with this version was published.';

CREATE TABLE published.release (
    release_no integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    release_id text NOT NULL UNIQUE,
    product text NOT NULL,
    window_start date NOT NULL,
    zoning_version text NOT NULL REFERENCES published.zoning,
    manifest text NOT NULL,
    report text,
    published_at timestamptz NOT NULL DEFAULT now(),
    published_by text NOT NULL DEFAULT session_user
);
CREATE INDEX release_by_window ON published.release (product, window_start);
COMMENT ON TABLE published.release IS 'The ledger: every release ever published, visible or not.';
COMMENT ON COLUMN published.release.release_no IS 'Number of the release inside this database.';
COMMENT ON COLUMN published.release.release_id IS 'Name of the release: product, window and a digest of what went in.';
COMMENT ON COLUMN published.release.product IS 'Name of the data product.';
COMMENT ON COLUMN published.release.window_start IS 'First local day of the window that the release covers.';
COMMENT ON COLUMN published.release.zoning_version IS 'Version of zoning and hierarchy.';
COMMENT ON COLUMN published.release.manifest IS 'The sealed manifest: parameters, versions, digests, verdicts, metrics.';
COMMENT ON COLUMN published.release.report IS 'The HTML report; null once the release is purged.';
COMMENT ON COLUMN published.release.published_at IS 'When the transaction of the release began.';
COMMENT ON COLUMN published.release.published_by IS 'Database user that published it.';

CREATE TABLE published.release_window (
    product text NOT NULL,
    window_start date NOT NULL,
    release_no integer NOT NULL UNIQUE REFERENCES published.release,
    purged boolean NOT NULL DEFAULT false,
    PRIMARY KEY (product, window_start)
);
COMMENT ON TABLE published.release_window IS 'The pointer: the one release that a window shows.';
COMMENT ON COLUMN published.release_window.product IS 'Name of the data product.';
COMMENT ON COLUMN published.release_window.window_start IS 'First local day of the window.';
COMMENT ON COLUMN published.release_window.release_no IS 'The release that the window shows.';
COMMENT ON COLUMN published.release_window.purged IS 'True once the tables of the window were deleted; it stays closed.';

CREATE TABLE published.zone (
    zone_no integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest bytea NOT NULL UNIQUE,
    zone_id text NOT NULL,
    hierarchy text NOT NULL,
    level smallint NOT NULL,
    n_tiles bigint NOT NULL,
    area_km2 double precision,
    tiles text[],
    geometry geometry(MultiPolygon, 4326),
    ground_m2 double precision GENERATED ALWAYS AS (ST_Area(ST_Transform(geometry, 6933))) STORED
);
CREATE INDEX zone_geometry ON published.zone USING gist (geometry);
CREATE INDEX zone_by_id ON published.zone USING hash (zone_id);
COMMENT ON TABLE published.zone IS 'Areas of releases; an area that does not change is kept once for all releases.';
COMMENT ON COLUMN published.zone.zone_no IS 'Number of the area inside this database.';
COMMENT ON COLUMN published.zone.digest IS 'SHA-256 of all values; the same area is never kept twice.';
COMMENT ON COLUMN published.zone.zone_id IS 'Name of the zone, such as an H3 cell.';
COMMENT ON COLUMN published.zone.hierarchy IS 'Kind of hierarchy the zone is a node of.';
COMMENT ON COLUMN published.zone.level IS 'Level of the node in its hierarchy; the root has the lowest.';
COMMENT ON COLUMN published.zone.n_tiles IS 'Number of tiles in the zone.';
COMMENT ON COLUMN published.zone.area_km2 IS 'Ground area in square kilometres.';
COMMENT ON COLUMN published.zone.tiles IS 'Member tiles; null when they are too many to list.';
COMMENT ON COLUMN published.zone.geometry IS 'Outline in EPSG:4326.';
COMMENT ON COLUMN published.zone.ground_m2 IS 'Area in the equal-area projection EPSG:6933, the measure of shares.';

CREATE TABLE published.release_zone (
    release_no integer NOT NULL REFERENCES published.release,
    zone_no integer NOT NULL REFERENCES published.zone,
    position integer NOT NULL,
    PRIMARY KEY (release_no, position)
);
CREATE INDEX release_zone_by_zone ON published.release_zone (zone_no, release_no);
COMMENT ON TABLE published.release_zone IS 'Which areas a release uses, in its order.';
COMMENT ON COLUMN published.release_zone.release_no IS 'The release.';
COMMENT ON COLUMN published.release_zone.zone_no IS 'The area.';
COMMENT ON COLUMN published.release_zone.position IS 'Place of the zone in the release, from 0.';

CREATE TABLE published.metric (
    release_no integer NOT NULL REFERENCES published.release,
    name text NOT NULL,
    value double precision NOT NULL,
    PRIMARY KEY (release_no, name)
);
COMMENT ON TABLE published.metric IS 'Rounded figures of each release.';
COMMENT ON COLUMN published.metric.release_no IS 'The release.';
COMMENT ON COLUMN published.metric.name IS 'What is measured.';
COMMENT ON COLUMN published.metric.value IS 'Its rounded value.';

-- No foreign keys here: a trigger a row would cost more than the load; the publisher takes the numbers from the
-- rows it wrote in the same transaction.
CREATE TABLE published.flow (
    window_start date NOT NULL,
    release_no integer NOT NULL,
    time_bin timestamptz NOT NULL,
    origin_no integer NOT NULL,
    destination_no integer NOT NULL,
    trips bigint NOT NULL,
    position integer NOT NULL,
    segment text NOT NULL,
    persons_band text
) PARTITION BY RANGE (window_start);
CREATE INDEX flow_by_zones ON published.flow (origin_no, destination_no, time_bin) INCLUDE (trips, release_no);
CREATE INDEX flow_by_release ON published.flow USING brin (release_no) WITH (pages_per_range = 32);
COMMENT ON TABLE published.flow IS 'Released flows by number, one partition a month of windows; read the view flows.';
COMMENT ON COLUMN published.flow.window_start IS 'First local day of the window; the partition key.';
COMMENT ON COLUMN published.flow.release_no IS 'The release that the flow belongs to.';
COMMENT ON COLUMN published.flow.time_bin IS 'Start of the time bin of departure.';
COMMENT ON COLUMN published.flow.origin_no IS 'Area where the trips start.';
COMMENT ON COLUMN published.flow.destination_no IS 'Area where the trips end.';
COMMENT ON COLUMN published.flow.trips IS 'Number of trips.';
COMMENT ON COLUMN published.flow.position IS 'Place of the flow in its release, from 0.';
COMMENT ON COLUMN published.flow.segment IS 'Part of the population; all when there is one.';
COMMENT ON COLUMN published.flow.persons_band IS 'Band of the number of people behind the flow; null where nobody is counted.';

CREATE TABLE work.audit_log (
    entry_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    db_user text NOT NULL DEFAULT session_user,
    act text NOT NULL CHECK (act IN ('publish', 'supersede', 'purge')),
    product text NOT NULL,
    window_start date NOT NULL,
    release_id text NOT NULL,
    by_name text,
    reason text
);
COMMENT ON TABLE work.audit_log IS 'Every act of publication; rows can only be added.';
COMMENT ON COLUMN work.audit_log.entry_no IS 'Order of the entries.';
COMMENT ON COLUMN work.audit_log.at IS 'When the act was written.';
COMMENT ON COLUMN work.audit_log.db_user IS 'Database user who did it.';
COMMENT ON COLUMN work.audit_log.act IS 'publish, supersede or purge.';
COMMENT ON COLUMN work.audit_log.product IS 'Name of the data product.';
COMMENT ON COLUMN work.audit_log.window_start IS 'First local day of the window.';
COMMENT ON COLUMN work.audit_log.release_id IS 'The release that was published or purged.';
COMMENT ON COLUMN work.audit_log.by_name IS 'Who answers for a supersede or purge.';
COMMENT ON COLUMN work.audit_log.reason IS 'Why it was done.';

CREATE FUNCTION work.refuse_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
COMMENT ON FUNCTION work.refuse_change() IS 'Keeps the audit log append-only, also for its owner.';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON work.audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION work.refuse_change();

CREATE FUNCTION odanon.ensure_month(day date) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    first date := date_trunc('month', day)::date;
    next date := (date_trunc('month', day) + interval '1 month')::date;
    child text := format('flow_%s', to_char(first, 'YYYY_MM'));
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('odanon month ' || child, 0));
    IF to_regclass(format('published.%I', child)) IS NULL THEN
        -- Attaching, unlike creating in place, does not stop readers of the other months.
        EXECUTE format('CREATE TABLE published.%I (LIKE published.flow INCLUDING DEFAULTS INCLUDING COMMENTS)', child);
        EXECUTE format('ALTER TABLE published.flow ATTACH PARTITION published.%I FOR VALUES FROM (%L) TO (%L)',
                       child, first, next);
    END IF;
END $$;
COMMENT ON FUNCTION odanon.ensure_month(date) IS 'Makes the partition of flows for the month of a day.';
