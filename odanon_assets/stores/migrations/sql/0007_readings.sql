-- A release may be read in several ways: evenly over the ground of zones, or by weights of their own parts.
ALTER TABLE published.release ADD COLUMN reading text NOT NULL DEFAULT 'even',
                              ADD COLUMN readings text[] NOT NULL DEFAULT '{even}';
COMMENT ON COLUMN published.release.reading IS 'What the reading auto means: the one with the smaller loss in the manifest.';
COMMENT ON COLUMN published.release.readings IS 'Readings that the release was published with.';

ALTER TABLE published.flow ADD COLUMN spread_fitted double precision,
                           ADD COLUMN spread_prior double precision;
COMMENT ON COLUMN published.flow.spread_fitted IS
    'What to multiply with the shares of the fitted weights of both zones inside drawn areas; null without that reading.';
COMMENT ON COLUMN published.flow.spread_prior IS
    'What to multiply with the shares of the prior weights of both zones inside drawn areas; null without that reading.';

-- No foreign keys, as for flows.
CREATE TABLE published.weight (
    release_no integer NOT NULL,
    time_bin timestamptz NOT NULL,
    zone_no integer NOT NULL,
    position integer NOT NULL,
    weight double precision NOT NULL,
    inner_weight double precision NOT NULL,
    outer_weight double precision NOT NULL,
    total_weight double precision NOT NULL,
    reading text NOT NULL,
    side text NOT NULL,
    chain integer[] NOT NULL
);
CREATE INDEX weight_by_zone ON published.weight (zone_no, time_bin);
CREATE INDEX weight_by_release ON published.weight USING brin (release_no) WITH (pages_per_range = 32);
COMMENT ON TABLE published.weight IS 'Weights of the own parts of zones by number, for each reading, time bin and side; read the view weights.';
COMMENT ON COLUMN published.weight.release_no IS 'The release.';
COMMENT ON COLUMN published.weight.time_bin IS 'Start of the time bin of departure.';
COMMENT ON COLUMN published.weight.zone_no IS 'The area.';
COMMENT ON COLUMN published.weight.position IS 'Place of the row in the release, from 0.';
COMMENT ON COLUMN published.weight.weight IS 'Share of all that leaves or enters that lies in the zone and in no zone inside it.';
COMMENT ON COLUMN published.weight.inner_weight IS 'The weight that the zone would have if all of it were like its own part.';
COMMENT ON COLUMN published.weight.outer_weight IS 'The same if it were like the own part of the zone around it.';
COMMENT ON COLUMN published.weight.total_weight IS 'The weight of the zone with all zones inside it.';
COMMENT ON COLUMN published.weight.reading IS 'fitted or prior.';
COMMENT ON COLUMN published.weight.side IS 'origin or destination.';
COMMENT ON COLUMN published.weight.chain IS 'The area and those around it that the same side of the time bin uses, from the inside out.';

CREATE VIEW published.visible_weight AS
SELECT w.product, t.release_no, t.time_bin, t.reading, t.side, t.zone_no, t.weight, t.inner_weight, t.outer_weight,
       t.total_weight, t.chain
FROM published.weight t JOIN published.release_window w USING (release_no) WHERE NOT w.purged;
COMMENT ON VIEW published.visible_weight IS 'Weights of visible releases with the numbers of their zones, for functions.';

CREATE VIEW published.weights AS
SELECT r.product, r.release_id, t.time_bin, t.reading, t.side, z.zone_id, a.zone_id AS around, t.weight
FROM published.weight t
JOIN published.release_window w USING (release_no)
JOIN published.release r USING (release_no)
JOIN published.zone z ON z.zone_no = t.zone_no
LEFT JOIN published.zone a ON a.zone_no = t.chain[2]
WHERE NOT w.purged;
COMMENT ON VIEW published.weights IS
    'Where in the zones of visible releases trips are likely to start or end: weights of own parts, by reading, time bin and side.';

CREATE VIEW published.readings AS
SELECT r.product, r.window_start, r.release_id, r.release_no, r.reading, r.readings
FROM published.release r JOIN published.release_window w USING (release_no) WHERE NOT w.purged;
COMMENT ON VIEW published.readings IS 'How each visible release can be read, and which reading auto means.';

CREATE OR REPLACE VIEW published.visible_flow AS
SELECT w.product, f.window_start, f.release_no, f.time_bin, f.segment, f.origin_no, f.destination_no, f.trips,
       f.persons_band, f.kind, coalesce(f.spread, f.trips) AS spread, f.spread_fitted, f.spread_prior
FROM published.flow f JOIN published.release_window w USING (release_no) WHERE NOT w.purged;

CREATE OR REPLACE VIEW published.flows AS
SELECT r.product, f.window_start, f.time_bin, f.segment, o.zone_id AS origin_zone, d.zone_id AS destination_zone,
       f.trips, f.persons_band, r.release_id, f.kind, coalesce(f.spread, f.trips) AS spread, f.spread_fitted, f.spread_prior
FROM published.flow f
JOIN published.release_window w USING (release_no)
JOIN published.release r USING (release_no)
JOIN published.zone o ON o.zone_no = f.origin_no
JOIN published.zone d ON d.zone_no = f.destination_no
WHERE NOT w.purged;

DO $$
DECLARE
    rel text; col text; meaning text;
    said constant jsonb := '{
        "product": "Name of the data product.",
        "window_start": "First local day of the window.",
        "release_id": "Name of the release.",
        "release_no": "Number of the release.",
        "time_bin": "Start of the time bin of departure.",
        "reading": "fitted or prior.",
        "readings": "Readings that the release was published with.",
        "side": "origin or destination.",
        "zone_no": "Number of the area.",
        "zone_id": "Name of the zone.",
        "around": "The zone directly around it that the same side of the time bin uses; null for none.",
        "weight": "Share of all that leaves or enters that lies in the zone and in no zone inside it.",
        "inner_weight": "The weight that the zone would have if all of it were like its own part.",
        "outer_weight": "The same if it were like the own part of the zone around it.",
        "total_weight": "The weight of the zone with all zones inside it.",
        "chain": "The area and those around it, from the inside out."}';
BEGIN
    FOREACH rel IN ARRAY ARRAY['visible_weight', 'weights', 'readings'] LOOP
        FOR col IN SELECT attname FROM pg_attribute WHERE attrelid = ('published.' || rel)::regclass AND attnum > 0 LOOP
            EXECUTE format('COMMENT ON COLUMN published.%I.%I IS %L', rel, col, said ->> col);
        END LOOP;
    END LOOP;
    FOREACH rel IN ARRAY ARRAY['visible_flow', 'flows'] LOOP
        EXECUTE format('COMMENT ON COLUMN published.%I.spread_fitted IS %L', rel,
                       'As spread, with shares of the fitted weights of both zones; null without that reading.');
        EXECUTE format('COMMENT ON COLUMN published.%I.spread_prior IS %L', rel,
                       'As spread, with shares of the prior weights of both zones; null without that reading.');
    END LOOP;
END $$;
COMMENT ON COLUMN published.readings.reading IS 'What the reading auto means.';

CREATE FUNCTION odanon.weighted_releases(name text, since timestamptz, until timestamptz, reading text)
RETURNS integer[] LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    lacking text;
    found integer[];
BEGIN
    IF reading IS NULL OR reading NOT IN ('auto', 'even', 'fitted', 'prior') THEN
        RAISE EXCEPTION 'the reading is none of auto, even, fitted, prior' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- A window is a local day, so its bins may lie a day off in UTC.
    SELECT min(r.release_id) FILTER (WHERE reading <> 'auto' AND NOT reading = ANY (r.readings)),
           array_agg(r.release_no) FILTER (WHERE reading <> 'auto' OR r.reading <> 'even')
    INTO lacking, found
    FROM published.readings r
    WHERE reading <> 'even' AND r.product = name AND r.window_start BETWEEN since::date - 2 AND until::date + 2;
    IF lacking IS NOT NULL THEN
        RAISE EXCEPTION 'the reading % has no weights in %; ask for auto or even', reading, lacking
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN coalesce(found, '{}');
END $$;
COMMENT ON FUNCTION odanon.weighted_releases(text, timestamptz, timestamptz, text) IS
    'Numbers of the releases that a reading reads by weights; an error where one lacks them.';

CREATE FUNCTION odanon.some_evenly(name text, since timestamptz, until timestamptz, reading text)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT some_evenly.reading = 'even' OR some_evenly.reading = 'auto' AND EXISTS (
        SELECT FROM published.readings r
        WHERE r.product = name AND r.reading = 'even' AND r.window_start BETWEEN since::date - 2 AND until::date + 2)
$$;
COMMENT ON FUNCTION odanon.some_evenly(text, timestamptz, timestamptz, text) IS
    'Whether a reading reads a release evenly.';

-- A zone takes (share) x inner of itself and (share) x (inner - outer) of each zone inside it, of its total.
CREATE FUNCTION odanon.weight_shares(areas text[], zones integer[], shares double precision[], side text, reading text,
                                     releases integer[], since timestamptz, until timestamptz)
RETURNS TABLE (area text, release_no integer, time_bin timestamptz, zone_no integer, share double precision)
LANGUAGE plpgsql STABLE ROWS 20000 SET plan_cache_mode = force_custom_plan SET jit = off SET enable_nestloop = on AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT s.area, w.release_no, w.time_bin, c.zone_no,
           sum(s.share * CASE WHEN c.step = 1 THEN w.inner_weight ELSE w.inner_weight - w.outer_weight END)
           / max(w.total_weight) FILTER (WHERE c.step = 1)
    FROM unnest(areas, zones, shares) AS s (area, zone_no, share)
    JOIN published.visible_weight w ON w.zone_no = s.zone_no
    CROSS JOIN LATERAL unnest(w.chain) WITH ORDINALITY AS c (zone_no, step)
    WHERE w.release_no = ANY (releases) AND w.reading = weight_shares.reading AND w.side = weight_shares.side
      AND w.time_bin >= since AND w.time_bin < until
    GROUP BY s.area, w.release_no, w.time_bin, c.zone_no
    HAVING bool_or(c.step = 1);
END $$;
COMMENT ON FUNCTION odanon.weight_shares(text[], integer[], double precision[], text, text, integer[], timestamptz, timestamptz) IS
    'Which share of the weight of each zone lies inside areas, by release and time bin, given the shares of zones in them.';

DROP FUNCTION odanon.flow(geometry, geometry, timestamptz, timestamptz, text);
CREATE FUNCTION odanon.flow(origin geometry, destination geometry, since timestamptz, until timestamptz,
                            product text DEFAULT NULL, reading text DEFAULT 'auto')
RETURNS double precision LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan SET jit = off
SET enable_nestloop = on SET work_mem = '64MB' AS $$
#variable_conflict use_column
DECLARE
    chosen text := odanon.the_product(flow.product);
    weighted integer[] := odanon.weighted_releases(chosen, flow.since, flow.until, flow.reading);
    weights text := CASE WHEN flow.reading = 'prior' THEN 'prior' ELSE 'fitted' END;
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
    IF cardinality(weighted) > 0 THEN
        -- Nobody can tell beforehand how many rows shares have: hash them, rather than go through all of them for every flow.
        PERFORM set_config('enable_nestloop', 'off', true);
        total := total + coalesce((
            WITH o AS MATERIALIZED (
                SELECT s.*
                FROM (SELECT array_agg(zone_no) AS zones, array_agg(share) AS shares FROM odanon.zone_shares(origin)) z
                CROSS JOIN LATERAL odanon.weight_shares(
                    '{}', z.zones, z.shares, 'origin', weights, weighted, since, until) s
            ), d AS MATERIALIZED (
                SELECT s.*
                FROM (SELECT array_agg(zone_no) AS zones, array_agg(share) AS shares FROM odanon.zone_shares(destination)) z
                CROSS JOIN LATERAL odanon.weight_shares(
                    '{}', z.zones, z.shares, 'destination', weights, weighted, since, until) s
            )
            SELECT sum(CASE weights WHEN 'prior' THEN f.spread_prior ELSE f.spread_fitted END * o.share * d.share)
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
COMMENT ON FUNCTION odanon.flow(geometry, geometry, timestamptz, timestamptz, text, text) IS
    'Estimated trips between two drawn areas in time bins that start in [since, until). reading: even spreads rows over the ground of their zones, fitted and prior by weights, auto as the manifest of each release says.';

DROP FUNCTION odanon.matrix(regclass, name, name, timestamptz, timestamptz, text);
CREATE FUNCTION odanon.matrix(areas regclass, id_column name, geometry_column name, since timestamptz,
                              until timestamptz, product text DEFAULT NULL, reading text DEFAULT 'auto')
RETURNS TABLE (origin text, destination text, trips double precision)
LANGUAGE plpgsql STABLE SET jit = off SET enable_nestloop = on SET work_mem = '64MB' AS $$
DECLARE
    chosen text := odanon.the_product(matrix.product);
    weighted integer[] := odanon.weighted_releases(chosen, matrix.since, matrix.until, matrix.reading);
    weights text := CASE WHEN matrix.reading = 'prior' THEN 'prior' ELSE 'fitted' END;
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
            FROM drawn z CROSS JOIN LATERAL odanon.weight_shares(z.areas, z.zones, z.shares, 'origin', $5, $4, $1, $2) s
        ), d AS MATERIALIZED (
            SELECT s.*
            FROM drawn z
            CROSS JOIN LATERAL odanon.weight_shares(z.areas, z.zones, z.shares, 'destination', $5, $4, $1, $2) s
        )
        SELECT o.area, d.area,
               sum(CASE $5 WHEN 'prior' THEN f.spread_prior ELSE f.spread_fitted END * o.share * d.share)
        FROM published.visible_flow f
        JOIN o ON o.release_no = f.release_no AND o.time_bin = f.time_bin AND o.zone_no = f.origin_no
        JOIN d ON d.release_no = f.release_no AND d.time_bin = f.time_bin AND d.zone_no = f.destination_no
        WHERE f.origin_no = ANY (ARRAY(SELECT DISTINCT zone_no FROM o))
          AND f.time_bin >= $1 AND f.time_bin < $2
          AND f.window_start BETWEEN $1::date - 2 AND $2::date + 2
        GROUP BY o.area, d.area$query$;
BEGIN
    IF cardinality(weighted) > 0 THEN
        PERFORM set_config('enable_nestloop', 'off', true);
    END IF;
    IF cardinality(weighted) = 0 THEN
        RETURN QUERY EXECUTE format(even, id_column, geometry_column, areas) USING since, until, chosen, weighted;
    ELSIF NOT evenly THEN
        RETURN QUERY EXECUTE format(by_weights, id_column, geometry_column, areas)
            USING since, until, chosen, weighted, weights;
    ELSE
        RETURN QUERY EXECUTE format('SELECT origin, destination, sum(trips) FROM ((' || even || ') UNION ALL ('
                                    || by_weights || ')) read (origin, destination, trips) GROUP BY 1, 2',
                                    id_column, geometry_column, areas)
            USING since, until, chosen, weighted, weights;
    END IF;
END $$;
COMMENT ON FUNCTION odanon.matrix(regclass, name, name, timestamptz, timestamptz, text, text) IS
    'Estimated trips between all pairs of polygons of a table; name its id and geometry columns. reading as in odanon.flow.';
