-- The reading prior is as fine as the tiles that public weights are given for. Those of a zone are a function of the zone and
-- of the file that they come from, so they are kept once for all releases.
CREATE TABLE published.prior (
    prior_no integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sha256 text NOT NULL UNIQUE
);
COMMENT ON TABLE published.prior IS 'Files of public weights by tile that releases were published with.';
COMMENT ON COLUMN published.prior.prior_no IS 'Number of the file inside this database.';
COMMENT ON COLUMN published.prior.sha256 IS 'Digest of the file, as manifests name it.';

CREATE TABLE published.tile (
    tile_no integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest bytea NOT NULL UNIQUE,
    tile text NOT NULL,
    geometry geometry(MultiPolygon, 4326) NOT NULL,
    ground_m2 double precision GENERATED ALWAYS AS (ST_Area(ST_Transform(geometry, 6933))) STORED
);
CREATE INDEX tile_geometry ON published.tile USING gist (geometry);
COMMENT ON TABLE published.tile IS 'Tiles with public weights; one that does not change is kept once.';
COMMENT ON COLUMN published.tile.tile_no IS 'Number of the tile inside this database.';
COMMENT ON COLUMN published.tile.digest IS 'SHA-256 of name and outline.';
COMMENT ON COLUMN published.tile.tile IS 'Name of the tile.';
COMMENT ON COLUMN published.tile.geometry IS 'Outline in EPSG:4326.';
COMMENT ON COLUMN published.tile.ground_m2 IS 'Area in the equal-area projection EPSG:6933, the measure of shares.';

-- No foreign keys, as for flows.
CREATE TABLE published.zone_tile (
    prior_no integer NOT NULL,
    zone_no integer NOT NULL,
    tile_no integer NOT NULL,
    leaving double precision NOT NULL,
    entering double precision NOT NULL
);
CREATE INDEX zone_tile_by_tile ON published.zone_tile (tile_no);
CREATE INDEX zone_tile_by_zone ON published.zone_tile (zone_no);
COMMENT ON TABLE published.zone_tile IS 'The tiles inside each area and their public weights, by file; read the view tiles.';
COMMENT ON COLUMN published.zone_tile.prior_no IS 'The file that the weights are from.';
COMMENT ON COLUMN published.zone_tile.zone_no IS 'The area.';
COMMENT ON COLUMN published.zone_tile.tile_no IS 'The tile.';
COMMENT ON COLUMN published.zone_tile.leaving IS 'Share of the tile in all weights of the file, for what leaves.';
COMMENT ON COLUMN published.zone_tile.entering IS 'The same for what enters.';

CREATE TABLE published.zone_prior (
    prior_no integer NOT NULL,
    zone_no integer NOT NULL,
    leaving double precision NOT NULL,
    entering double precision NOT NULL,
    PRIMARY KEY (zone_no, prior_no)
);
COMMENT ON TABLE published.zone_prior IS 'The public weights of whole areas, by file.';
COMMENT ON COLUMN published.zone_prior.prior_no IS 'The file that the weights are from.';
COMMENT ON COLUMN published.zone_prior.zone_no IS 'The area.';
COMMENT ON COLUMN published.zone_prior.leaving IS 'Weight of its tiles and of its ground, for what leaves.';
COMMENT ON COLUMN published.zone_prior.entering IS 'The same for what enters.';

ALTER TABLE published.release ADD COLUMN prior_no integer;
COMMENT ON COLUMN published.release.prior_no IS 'The file of public weights by tile; null without the reading prior.';
-- Releases from before were as fine as zones under this reading; the functions read none of that kind any more.
UPDATE published.release SET readings = array_remove(readings, 'prior');

CREATE OR REPLACE VIEW published.readings AS
SELECT r.product, r.window_start, r.release_id, r.release_no, r.reading, r.readings, r.prior_no
FROM published.release r JOIN published.release_window w USING (release_no) WHERE NOT w.purged;
COMMENT ON COLUMN published.readings.prior_no IS 'The file of public weights by tile; null without the reading prior.';

CREATE VIEW published.tiles AS
SELECT r.product, r.release_id, t.tile, array_agg(z.zone_id ORDER BY m.position) AS zones, x.leaving, x.entering, t.geometry
FROM published.release_window w
JOIN published.release r USING (release_no)
JOIN published.release_zone m USING (release_no)
JOIN published.zone z ON z.zone_no = m.zone_no
JOIN published.zone_tile x ON x.zone_no = m.zone_no AND x.prior_no = r.prior_no
JOIN published.tile t ON t.tile_no = x.tile_no
WHERE NOT w.purged
GROUP BY r.product, r.release_id, t.tile_no, x.leaving, x.entering;
COMMENT ON VIEW published.tiles IS 'Tiles in the zones of visible releases that have public weights, such as residents and jobs.';
COMMENT ON COLUMN published.tiles.product IS 'Name of the data product.';
COMMENT ON COLUMN published.tiles.release_id IS 'Name of the release.';
COMMENT ON COLUMN published.tiles.tile IS 'Name of the tile.';
COMMENT ON COLUMN published.tiles.zones IS 'The zones of the release around it, from the inside out.';
COMMENT ON COLUMN published.tiles.leaving IS 'Share of the tile in all weights of the file, for what leaves.';
COMMENT ON COLUMN published.tiles.entering IS 'The same for what enters.';
COMMENT ON COLUMN published.tiles.geometry IS 'Outline in EPSG:4326.';

-- An area takes the weights of the tiles inside it, and of the ground of a zone as much as its part: a little lies everywhere.
CREATE FUNCTION odanon.prior_shares(area geometry, side text)
RETURNS TABLE (prior_no integer, zone_no integer, share double precision)
LANGUAGE plpgsql STABLE ROWS 1000 SET jit = off AS $$
#variable_conflict use_column
DECLARE
    drawn geometry := odanon.drawn(area);
BEGIN
    RETURN QUERY
    WITH inside AS MATERIALIZED (
        SELECT t.tile_no,
               CASE WHEN ST_Covers(drawn, t.geometry) THEN 1
                    ELSE ST_Area(ST_Transform(ST_Intersection(drawn, t.geometry), 6933)) / nullif(t.ground_m2, 0)
               END AS share
        FROM published.tile t WHERE ST_Intersects(t.geometry, drawn)
    ), held AS (
        SELECT x.prior_no, x.zone_no, i.share * CASE prior_shares.side WHEN 'origin' THEN x.leaving ELSE x.entering END AS weight
        FROM inside i JOIN published.zone_tile x ON x.tile_no = i.tile_no
        UNION ALL
        SELECT p.prior_no, p.zone_no, s.share * 1e-8 * z.ground_m2 / 1e6
        FROM odanon.zone_shares(area) s
        JOIN published.zone z ON z.zone_no = s.zone_no
        JOIN published.zone_prior p ON p.zone_no = s.zone_no
    )
    SELECT h.prior_no, h.zone_no,
           sum(h.weight) / max(CASE prior_shares.side WHEN 'origin' THEN p.leaving ELSE p.entering END)
    FROM held h JOIN published.zone_prior p ON p.zone_no = h.zone_no AND p.prior_no = h.prior_no
    GROUP BY h.prior_no, h.zone_no;
END $$;
COMMENT ON FUNCTION odanon.prior_shares(geometry, text) IS
    'Which share of the public weights of each zone lies inside an area, by the file that they are from.';

CREATE OR REPLACE FUNCTION odanon.flow(origin geometry, destination geometry, since timestamptz, until timestamptz,
                            product text DEFAULT NULL, reading text DEFAULT 'auto')
RETURNS double precision LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan SET jit = off
SET enable_nestloop = on SET work_mem = '64MB' AS $$
#variable_conflict use_column
DECLARE
    chosen text := odanon.the_product(flow.product);
    weighted integer[] := odanon.weighted_releases(chosen, flow.since, flow.until, flow.reading);
    evenly boolean := odanon.some_evenly(chosen, flow.since, flow.until, flow.reading);
    origins integer[]; destinations integer[]; shares double precision[]; firsts date[]; lasts date[];
    total double precision := 0;
BEGIN
    IF evenly THEN
        SELECT array_agg(p.origin_no), array_agg(p.destination_no), array_agg(p.share),
               array_agg(p.first_window), array_agg(p.last_window)
        INTO origins, destinations, shares, firsts, lasts
        FROM odanon.zone_pairs(origin, destination, chosen) p
        -- A window is a local day, so its bins may lie a day off in UTC.
        WHERE p.last_window >= since::date - 2 AND p.first_window <= until::date + 2;
        total := coalesce((
            SELECT sum(f.spread * p.share)
            FROM unnest(origins, destinations, shares, firsts, lasts)
                 AS p (origin_no, destination_no, share, first_window, last_window)
            JOIN published.visible_flow f
              ON f.origin_no = p.origin_no AND f.destination_no = p.destination_no
             AND f.window_start BETWEEN p.first_window AND p.last_window
            WHERE f.time_bin >= since AND f.time_bin < until
              AND f.window_start BETWEEN since::date - 2 AND until::date + 2
              AND f.product = chosen
              AND f.release_no <> ALL (weighted)
        ), 0);
    END IF;
    IF cardinality(weighted) > 0 AND flow.reading = 'prior' THEN
        PERFORM set_config('enable_nestloop', 'off', true);
        total := coalesce((
            WITH o AS MATERIALIZED (SELECT * FROM odanon.prior_shares(origin, 'origin')),
                 d AS MATERIALIZED (SELECT * FROM odanon.prior_shares(destination, 'destination'))
            SELECT sum(f.spread_prior * o.share * d.share)
            FROM published.visible_flow f
            JOIN published.readings r ON r.release_no = f.release_no
            JOIN o ON o.prior_no = r.prior_no AND o.zone_no = f.origin_no
            JOIN d ON d.prior_no = r.prior_no AND d.zone_no = f.destination_no
            WHERE f.origin_no = ANY (ARRAY(SELECT zone_no FROM o))
              AND f.release_no = ANY (weighted)
              AND f.time_bin >= since AND f.time_bin < until
              AND f.window_start BETWEEN since::date - 2 AND until::date + 2
        ), 0);
    ELSIF cardinality(weighted) > 0 THEN
        -- Nobody can tell beforehand how many rows shares have: hash them, rather than go through all of them for every flow.
        PERFORM set_config('enable_nestloop', 'off', true);
        total := total + coalesce((
            WITH o AS MATERIALIZED (
                SELECT s.*
                FROM (SELECT array_agg(zone_no) AS zones, array_agg(share) AS shares FROM odanon.zone_shares(origin)) z
                CROSS JOIN LATERAL odanon.weight_shares(
                    '{}', z.zones, z.shares, 'origin', 'fitted', weighted, since, until) s
            ), d AS MATERIALIZED (
                SELECT s.*
                FROM (SELECT array_agg(zone_no) AS zones, array_agg(share) AS shares FROM odanon.zone_shares(destination)) z
                CROSS JOIN LATERAL odanon.weight_shares(
                    '{}', z.zones, z.shares, 'destination', 'fitted', weighted, since, until) s
            )
            SELECT sum(f.spread_fitted * o.share * d.share)
            FROM published.visible_flow f
            JOIN o ON o.release_no = f.release_no AND o.time_bin = f.time_bin AND o.zone_no = f.origin_no
            JOIN d ON d.release_no = f.release_no AND d.time_bin = f.time_bin AND d.zone_no = f.destination_no
            WHERE f.origin_no = ANY (ARRAY(SELECT DISTINCT zone_no FROM o))
              AND f.destination_no = ANY (ARRAY(SELECT DISTINCT zone_no FROM d))
              AND f.time_bin >= since AND f.time_bin < until
              AND f.window_start BETWEEN since::date - 2 AND until::date + 2
        ), 0);
    END IF;
    RETURN total;
END $$;

CREATE OR REPLACE FUNCTION odanon.matrix(areas regclass, id_column name, geometry_column name, since timestamptz,
                              until timestamptz, product text DEFAULT NULL, reading text DEFAULT 'auto')
RETURNS TABLE (origin text, destination text, trips double precision)
LANGUAGE plpgsql STABLE SET jit = off SET enable_nestloop = on SET work_mem = '64MB' AS $$
DECLARE
    chosen text := odanon.the_product(matrix.product);
    weighted integer[] := odanon.weighted_releases(chosen, matrix.since, matrix.until, matrix.reading);
    evenly boolean := odanon.some_evenly(chosen, matrix.since, matrix.until, matrix.reading);
    even constant text := $query$
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
              AND f.release_no <> ALL ($4)
            GROUP BY f.origin_no, f.destination_no
        )
        SELECT o.area, d.area, sum(v.spread * o.share * d.share)
        FROM volume v JOIN shares o ON o.zone_no = v.origin_no JOIN shares d ON d.zone_no = v.destination_no
        GROUP BY o.area, d.area$query$;
    by_weights constant text := $query$
        WITH drawn AS MATERIALIZED (
            SELECT array_agg(a.%1$I::text) AS areas, array_agg(s.zone_no) AS zones, array_agg(s.share) AS shares
            FROM %3$s a CROSS JOIN LATERAL odanon.zone_shares(a.%2$I) s
        ), o AS MATERIALIZED (
            SELECT s.*
            FROM drawn z CROSS JOIN LATERAL odanon.weight_shares(z.areas, z.zones, z.shares, 'origin', 'fitted', $4, $1, $2) s
        ), d AS MATERIALIZED (
            SELECT s.*
            FROM drawn z
            CROSS JOIN LATERAL odanon.weight_shares(z.areas, z.zones, z.shares, 'destination', 'fitted', $4, $1, $2) s
        )
        SELECT o.area, d.area,
               sum(f.spread_fitted * o.share * d.share)
        FROM published.visible_flow f
        JOIN o ON o.release_no = f.release_no AND o.time_bin = f.time_bin AND o.zone_no = f.origin_no
        JOIN d ON d.release_no = f.release_no AND d.time_bin = f.time_bin AND d.zone_no = f.destination_no
        WHERE f.origin_no = ANY (ARRAY(SELECT DISTINCT zone_no FROM o))
          AND f.time_bin >= $1 AND f.time_bin < $2
          AND f.window_start BETWEEN $1::date - 2 AND $2::date + 2
        GROUP BY o.area, d.area$query$;
    by_tiles constant text := $query$
        WITH o AS MATERIALIZED (
            SELECT a.%1$I::text AS area, s.*
            FROM %3$s a CROSS JOIN LATERAL odanon.prior_shares(a.%2$I, 'origin') s
        ), d AS MATERIALIZED (
            SELECT a.%1$I::text AS area, s.*
            FROM %3$s a CROSS JOIN LATERAL odanon.prior_shares(a.%2$I, 'destination') s
        )
        SELECT o.area, d.area, sum(f.spread_prior * o.share * d.share)
        FROM published.visible_flow f
        JOIN published.readings r ON r.release_no = f.release_no
        JOIN o ON o.prior_no = r.prior_no AND o.zone_no = f.origin_no
        JOIN d ON d.prior_no = r.prior_no AND d.zone_no = f.destination_no
        WHERE f.origin_no = ANY (ARRAY(SELECT DISTINCT zone_no FROM o))
          AND f.release_no = ANY ($4) AND f.product = $3
          AND f.time_bin >= $1 AND f.time_bin < $2
          AND f.window_start BETWEEN $1::date - 2 AND $2::date + 2
        GROUP BY o.area, d.area$query$;
BEGIN
    IF cardinality(weighted) > 0 THEN
        PERFORM set_config('enable_nestloop', 'off', true);
    END IF;
    IF cardinality(weighted) > 0 AND matrix.reading = 'prior' THEN
        RETURN QUERY EXECUTE format(by_tiles, id_column, geometry_column, areas) USING since, until, chosen, weighted;
    ELSIF cardinality(weighted) = 0 THEN
        RETURN QUERY EXECUTE format(even, id_column, geometry_column, areas) USING since, until, chosen, weighted;
    ELSIF NOT evenly THEN
        RETURN QUERY EXECUTE format(by_weights, id_column, geometry_column, areas)
            USING since, until, chosen, weighted;
    ELSE
        RETURN QUERY EXECUTE format('SELECT origin, destination, sum(trips) FROM ((' || even || ') UNION ALL ('
                                    || by_weights || ')) read (origin, destination, trips) GROUP BY 1, 2',
                                    id_column, geometry_column, areas)
            USING since, until, chosen, weighted;
    END IF;
END $$;
