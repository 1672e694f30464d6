-- A row is a flow, or a rest: the trips between its zones that no finer row of the same release and time bin counts.
ALTER TABLE published.flow ADD COLUMN kind text NOT NULL DEFAULT 'flow',
                           ADD COLUMN spread double precision;
COMMENT ON TABLE published.flow IS 'Released flows and rests by number, one partition a month of windows; read the view flows.';
COMMENT ON COLUMN published.flow.kind IS 'flow, or rest: the trips between its zones that no finer row counts.';
COMMENT ON COLUMN published.flow.spread IS
    'What to multiply with the shares of both zones inside drawn areas; null in rows that are older than rests: trips.';
COMMENT ON COLUMN published.flow.persons_band IS 'Band of the number of people behind the row; null where nobody is counted.';
DROP INDEX published.flow_by_zones;
CREATE INDEX flow_by_zones ON published.flow (origin_no, destination_no, time_bin) INCLUDE (trips, spread, release_no);

CREATE OR REPLACE VIEW published.visible_flow AS
SELECT w.product, f.window_start, f.release_no, f.time_bin, f.segment, f.origin_no, f.destination_no, f.trips,
       f.persons_band, f.kind, coalesce(f.spread, f.trips) AS spread
FROM published.flow f JOIN published.release_window w USING (release_no) WHERE NOT w.purged;

CREATE OR REPLACE VIEW published.flows AS
SELECT r.product, f.window_start, f.time_bin, f.segment, o.zone_id AS origin_zone, d.zone_id AS destination_zone,
       f.trips, f.persons_band, r.release_id, f.kind, coalesce(f.spread, f.trips) AS spread
FROM published.flow f
JOIN published.release_window w USING (release_no)
JOIN published.release r USING (release_no)
JOIN published.zone o ON o.zone_no = f.origin_no
JOIN published.zone d ON d.zone_no = f.destination_no
WHERE NOT w.purged;
COMMENT ON VIEW published.flows IS 'Flows and rests of all visible releases; every trip is counted in one row.';

CREATE OR REPLACE VIEW published.desire_lines AS
SELECT concat_ws(':', f.release_no, f.origin_no, f.destination_no, nullif(f.kind, 'flow')) AS line_key, f.product,
       f.window_start, o.zone_id AS origin_zone, d.zone_id AS destination_zone, f.trips,
       ST_MakeLine(ST_PointOnSurface(o.geometry), ST_PointOnSurface(d.geometry))::geometry(LineString, 4326) AS geometry,
       f.kind
FROM (
    SELECT product, window_start, release_no, origin_no, destination_no, kind, sum(trips)::bigint AS trips
    FROM published.visible_flow
    WHERE origin_no <> destination_no
    GROUP BY product, window_start, release_no, origin_no, destination_no, kind
) f
JOIN published.zone o ON o.zone_no = f.origin_no
JOIN published.zone d ON d.zone_no = f.destination_no;
COMMENT ON VIEW published.desire_lines IS
    'A line for each pair of zones, kind of row and window; a layer for GIS, with line_key as its key. Filter on window_start.';

CREATE OR REPLACE FUNCTION odanon.comment_columns(relation regclass) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    meaning constant jsonb := '{
        "product": "Name of the data product.",
        "window_start": "First local day of the window.",
        "time_bin": "Start of the time bin of departure.",
        "segment": "Part of the population; all when there is one.",
        "origin_zone": "Zone where the trips start.",
        "destination_zone": "Zone where the trips end.",
        "origin_level": "Level of the origin zone in its hierarchy.",
        "destination_level": "Level of the destination zone in its hierarchy.",
        "origin_geometry": "Outline of the origin zone.",
        "destination_geometry": "Outline of the destination zone.",
        "origin_no": "Number of the origin area.",
        "destination_no": "Number of the destination area.",
        "release_no": "Number of the release.",
        "kind": "flow, or rest: the trips between its zones that no finer row of the same time bin counts.",
        "trips": "Number of trips.",
        "spread": "What to multiply with the shares of both zones that lie in areas of your own; without rests, trips.",
        "persons_band": "Band of the number of people behind the row.",
        "release_id": "Name of the release.",
        "zone_key": "Unique key of zone and release, for GIS.",
        "line_key": "Unique key of the line, for GIS.",
        "zone_id": "Name of the zone.",
        "hierarchy": "Kind of hierarchy the zone is a node of.",
        "level": "Level of the node in its hierarchy.",
        "n_tiles": "Number of tiles in the zone.",
        "area_km2": "Ground area in square kilometres.",
        "tiles": "Member tiles; null when they are too many to list.",
        "geometry": "Shape in EPSG:4326.",
        "zoning_version": "Version of zoning and hierarchy.",
        "manifest": "The sealed manifest as JSON.",
        "published_at": "When the transaction of the release began.",
        "name": "What is measured.",
        "value": "Its rounded value."}';
    col name;
BEGIN
    FOR col IN SELECT attname FROM pg_attribute WHERE attrelid = relation AND attnum > 0 LOOP
        EXECUTE format('COMMENT ON COLUMN %s.%I IS %L', relation, col, meaning ->> col::text);
    END LOOP;
END $$;

SELECT odanon.comment_columns(c.oid::regclass)
FROM pg_class c WHERE c.relnamespace = 'published'::regnamespace AND c.relkind = 'v';

CREATE OR REPLACE FUNCTION odanon.ensure_product_view(name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- Identifiers end at 63 bytes, so that a long name carries a digest instead of its tail.
    plain text := 'product_' || replace(name, '-', '_');
    view_name text := CASE WHEN octet_length(plain) <= 63 THEN plain ELSE left(plain, 52) || '_' || left(md5(name), 10) END;
BEGIN
    IF name !~ '^[a-z][a-z0-9-]{0,62}$' THEN
        RAISE EXCEPTION 'not the name of a product' USING ERRCODE = 'invalid_name';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('odanon view ' || view_name, 0));
    IF EXISTS (SELECT FROM pg_attribute
               WHERE attrelid = to_regclass(format('published.%I', view_name)) AND attname = 'spread') THEN
        RETURN;
    END IF;
    EXECUTE format($view$
        CREATE OR REPLACE VIEW published.%I AS
        SELECT f.window_start, f.time_bin, f.segment, o.zone_id AS origin_zone, o.level AS origin_level,
               d.zone_id AS destination_zone, d.level AS destination_level, f.trips, f.persons_band,
               o.geometry AS origin_geometry, d.geometry AS destination_geometry, r.release_id,
               f.kind, f.spread
        FROM published.visible_flow f
        JOIN published.release r USING (release_no)
        JOIN published.zone o ON o.zone_no = f.origin_no
        JOIN published.zone d ON d.zone_no = f.destination_no
        WHERE f.product = %L$view$, view_name, name);
    EXECUTE format('COMMENT ON VIEW published.%I IS %L', view_name,
                   'Flows of the product ' || name || ' with the names and outlines of their zones.');
    EXECUTE format('GRANT SELECT ON published.%I TO odanon_reader, odanon_publisher, odanon_admin', view_name);
    PERFORM odanon.comment_columns(format('published.%I', view_name)::regclass);
END $$;

SELECT odanon.ensure_product_view(product) FROM (SELECT DISTINCT product FROM published.release) known;

-- The rests of a release are spread over what its finer rows leave: a row inside a rest adds its own trips less those that the
-- rest would put there, which `spread` says of every row.
CREATE OR REPLACE FUNCTION odanon.flow(origin geometry, destination geometry, since timestamptz, until timestamptz,
                            product text DEFAULT NULL)
RETURNS double precision LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    chosen text := odanon.the_product(flow.product);
    origins integer[]; destinations integer[]; shares double precision[]; firsts date[]; lasts date[];
BEGIN
    SELECT array_agg(p.origin_no), array_agg(p.destination_no), array_agg(p.share),
           array_agg(p.first_window), array_agg(p.last_window)
    INTO origins, destinations, shares, firsts, lasts
    FROM odanon.zone_pairs(origin, destination, chosen) p
    -- A window is a local day, so its bins may lie a day off in UTC.
    WHERE p.last_window >= since::date - 2 AND p.first_window <= until::date + 2;
    RETURN coalesce((
        SELECT sum(f.spread * p.share)
        FROM unnest(origins, destinations, shares, firsts, lasts)
             AS p (origin_no, destination_no, share, first_window, last_window)
        JOIN published.visible_flow f
          ON f.origin_no = p.origin_no AND f.destination_no = p.destination_no
         AND f.window_start BETWEEN p.first_window AND p.last_window
        WHERE f.time_bin >= since AND f.time_bin < until
          AND f.window_start BETWEEN since::date - 2 AND until::date + 2
          AND f.product = chosen
    ), 0);
END $$;
COMMENT ON FUNCTION odanon.flow(geometry, geometry, timestamptz, timestamptz, text) IS
    'Estimated trips between two drawn areas in time bins that start in [since, until): flows are spread evenly over the ground of their zones, rests over what no finer row covers.';

CREATE OR REPLACE FUNCTION odanon.matrix(areas regclass, id_column name, geometry_column name, since timestamptz,
                                         until timestamptz, product text DEFAULT NULL)
RETURNS TABLE (origin text, destination text, trips double precision)
LANGUAGE plpgsql STABLE SET jit = off SET work_mem = '64MB' AS $$
BEGIN
    RETURN QUERY EXECUTE format($query$
        WITH shares AS MATERIALIZED (
            SELECT a.%1$I::text AS area, s.zone_no, s.share
            FROM %3$s a CROSS JOIN LATERAL odanon.zone_shares(a.%2$I) s
        ), inside AS MATERIALIZED (
            SELECT DISTINCT zone_no FROM shares
        ), volume AS MATERIALIZED (
            SELECT f.origin_no, f.destination_no, sum(f.spread) AS spread
            FROM published.visible_flow f
            WHERE f.product = $3 AND f.time_bin >= $1 AND f.time_bin < $2
              AND f.window_start BETWEEN $1::date - 2 AND $2::date + 2
              AND f.origin_no = ANY (ARRAY(SELECT zone_no FROM inside))
              AND f.destination_no IN (SELECT zone_no FROM inside)
            GROUP BY f.origin_no, f.destination_no
        )
        SELECT o.area, d.area, sum(v.spread * o.share * d.share)
        FROM volume v JOIN shares o ON o.zone_no = v.origin_no JOIN shares d ON d.zone_no = v.destination_no
        GROUP BY o.area, d.area$query$, id_column, geometry_column, areas)
    USING since, until, odanon.the_product(matrix.product);
END $$;
