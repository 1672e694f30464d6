-- A row is of some time, one bin or several: it says when that starts and ends (docs/architecture.md, Time).
DROP VIEW published.daily_means;
ALTER TABLE published.flow RENAME COLUMN time_bin TO time_start;
ALTER TABLE published.flow ADD COLUMN time_end timestamptz;
COMMENT ON COLUMN published.flow.time_start IS 'Start of the time of departure.';
COMMENT ON COLUMN published.flow.time_end IS
    'End of the time of departure; null in rows that are older than this column, which are of the bin that starts then.';

ALTER VIEW published.visible_flow RENAME COLUMN time_bin TO time_start;
CREATE OR REPLACE VIEW published.visible_flow AS
SELECT w.product, f.window_start, f.release_no, f.time_start, f.segment, f.origin_no, f.destination_no, f.trips,
       f.persons_band, f.kind, coalesce(f.spread, f.trips) AS spread, f.spread_fitted, f.spread_prior, f.time_end
FROM published.flow f JOIN published.release_window w USING (release_no) WHERE NOT w.purged;

ALTER VIEW published.flows RENAME COLUMN time_bin TO time_start;
CREATE OR REPLACE VIEW published.flows AS
SELECT r.product, f.window_start, f.time_start, f.segment, o.zone_id AS origin_zone, d.zone_id AS destination_zone,
       f.trips, f.persons_band, r.release_id, f.kind, coalesce(f.spread, f.trips) AS spread, f.spread_fitted, f.spread_prior,
       f.time_end
FROM published.flow f
JOIN published.release_window w USING (release_no)
JOIN published.release r USING (release_no)
JOIN published.zone o ON o.zone_no = f.origin_no
JOIN published.zone d ON d.zone_no = f.destination_no
WHERE NOT w.purged;

-- Where bins of one length are of unlike numbers of days, time passes unevenly.
ALTER TABLE published.release ADD COLUMN moments timestamptz[], ADD COLUMN passed double precision[];
COMMENT ON COLUMN published.release.moments IS
    'Starts and ends of the time bins of a window longer than a day whose rows are of several of them, in turn; null elsewhere.';
COMMENT ON COLUMN published.release.passed IS 'How many seconds of all its time bins, on all their days, have passed by each moment.';
CREATE OR REPLACE VIEW published.readings AS
SELECT r.product, r.window_start, r.release_id, r.release_no, r.reading, r.readings, r.prior_no, r.moments, r.passed
FROM published.release r JOIN published.release_window w USING (release_no) WHERE NOT w.purged;
COMMENT ON COLUMN published.readings.moments IS
    'Starts and ends of the time bins of a window longer than a day whose rows are of several of them, in turn; null elsewhere.';
COMMENT ON COLUMN published.readings.passed IS 'How many seconds of all its time bins, on all their days, have passed by each moment.';

CREATE VIEW published.daily_means AS
SELECT f.product, f.window_start, f.time_start, f.time_end, b.told ->> 'day_type' AS day_type, b.told ->> 'since' AS since,
       b.told ->> 'until' AS until, (b.told ->> 'days')::integer AS days, f.segment, f.origin_zone, f.destination_zone, f.kind,
       f.trips, f.trips / (b.told ->> 'days')::double precision AS trips_per_day, f.release_id
FROM published.flows f
JOIN (
    SELECT r.release_id, coalesce(t.told ->> 'time_start', t.told ->> 'time_bin')::timestamptz AS time_start, t.told
    FROM published.releases r
    CROSS JOIN LATERAL jsonb_array_elements((r.manifest -> 'bins') || coalesce(r.manifest -> 'intervals', '[]')) AS t(told)
    WHERE (t.told ->> 'days')::integer > 0
) b ON b.release_id = f.release_id AND b.time_start = f.time_start
   AND coalesce((b.told ->> 'time_end')::timestamptz = f.time_end, true);
COMMENT ON VIEW published.daily_means IS 'Flows of windows longer than a day with their mean over the days of their time.';

DO $$
DECLARE
    col text;
    said constant jsonb := '{
        "product": "Name of the data product.",
        "window_start": "First local day of the window.",
        "time_start": "Start of the time of departure, on the first day of its time bin.",
        "time_end": "End of the time of departure, on the first day of its time bin; null in rows that are older than this column.",
        "day_type": "Days that the time is of: all; working, saturday or sunday_holiday; a day of the week; or several of these.",
        "since": "Local clock time from which the time lasts on each of its days.",
        "until": "Local clock time until which it does.",
        "days": "Days of the window whose trips are in it.",
        "segment": "Segment of the people; all where there are none.",
        "origin_zone": "Zone in which the trips start.",
        "destination_zone": "Zone in which the trips end.",
        "kind": "flow, or rest: the trips between its zones that no finer row counts.",
        "trips": "Trips of the row over the whole window.",
        "trips_per_day": "Trips of the row over the days of its time.",
        "release_id": "Name of the release."}';
BEGIN
    FOR col IN SELECT attname FROM pg_attribute WHERE attrelid = 'published.daily_means'::regclass AND attnum > 0 LOOP
        EXECUTE format('COMMENT ON COLUMN published.daily_means.%I IS %L', col, said ->> col);
    END LOOP;
END $$;

DO $$
DECLARE
    rel name;
BEGIN
    FOR rel IN SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
               WHERE c.relnamespace = 'published'::regnamespace AND c.relkind = 'v' AND c.relname LIKE 'product\_%'
                 AND a.attname = 'time_bin' LOOP
        EXECUTE format('ALTER VIEW published.%I RENAME COLUMN time_bin TO time_start', rel);
    END LOOP;
    FOREACH rel IN ARRAY ARRAY['visible_flow', 'flows'] LOOP
        EXECUTE format('COMMENT ON COLUMN published.%I.time_start IS %L', rel, 'Start of the time of departure.');
        EXECUTE format('COMMENT ON COLUMN published.%I.time_end IS %L', rel,
                       'End of the time of departure; null in rows that are older than this column.');
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION odanon.comment_columns(relation regclass) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    meaning constant jsonb := '{
        "product": "Name of the data product.",
        "window_start": "First local day of the window.",
        "time_start": "Start of the time of departure.",
        "time_end": "End of the time of departure; null in rows that are older than this column.",
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
        "kind": "flow, or rest: the trips between its zones that no finer row of the same time counts.",
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
               WHERE attrelid = to_regclass(format('published.%I', view_name)) AND attname = 'time_end') THEN
        RETURN;
    END IF;
    EXECUTE format($view$
        CREATE OR REPLACE VIEW published.%I AS
        SELECT f.window_start, f.time_start, f.segment, o.zone_id AS origin_zone, o.level AS origin_level,
               d.zone_id AS destination_zone, d.level AS destination_level, f.trips, f.persons_band,
               o.geometry AS origin_geometry, d.geometry AS destination_geometry, r.release_id,
               f.kind, f.spread, f.time_end
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

CREATE FUNCTION odanon.passed(moments timestamptz[], passed double precision[], moment timestamptz)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN at = 0 THEN 0
                WHEN at = cardinality(moments) THEN passed[at]
                ELSE passed[at] + (passed[at + 1] - passed[at]) * (extract(epoch FROM moment - moments[at])
                                  / extract(epoch FROM moments[at + 1] - moments[at]))::double precision
           END
    FROM (SELECT width_bucket(moment, moments)) AS found (at)
$$;
COMMENT ON FUNCTION odanon.passed(timestamptz[], double precision[], timestamptz) IS
    'How many seconds of the time bins of a release have passed by a moment, on all their days.';

CREATE FUNCTION odanon.time_share(first timestamptz, last timestamptz, since timestamptz, until timestamptz,
                                  moments timestamptz[], passed double precision[])
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN last IS NULL OR (first >= since AND last <= until) THEN 1.0::double precision
                WHEN moments IS NULL
                THEN (extract(epoch FROM least(last, until) - greatest(first, since)) / extract(epoch FROM last - first))::double precision
                ELSE (odanon.passed(moments, passed, least(last, until)) - odanon.passed(moments, passed, greatest(first, since)))
                     / (odanon.passed(moments, passed, last) - odanon.passed(moments, passed, first))
           END
$$;
COMMENT ON FUNCTION odanon.time_share(timestamptz, timestamptz, timestamptz, timestamptz, timestamptz[], double precision[]) IS
    'Which share of the time of a row that meets [since, until) lies in it; rows are spread evenly over their time.';

CREATE FUNCTION odanon.bin_around(releases integer[], moment timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT coalesce(max(w.time_bin), moment) FROM published.visible_weight w
    WHERE w.release_no = ANY (releases) AND w.time_bin <= moment
$$;
COMMENT ON FUNCTION odanon.bin_around(integer[], timestamptz) IS 'The start of the last bin with weights that begins by a moment.';

CREATE OR REPLACE FUNCTION odanon.flow(origin geometry, destination geometry, since timestamptz, until timestamptz,
                            product text DEFAULT NULL, reading text DEFAULT 'auto')
RETURNS double precision LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan SET jit = off
SET enable_nestloop = on SET work_mem = '64MB' AS $$
#variable_conflict use_column
DECLARE
    chosen text := odanon.the_product(flow.product);
    weighted integer[] := odanon.weighted_releases(chosen, flow.since, flow.until, flow.reading);
    evenly boolean := odanon.some_evenly(chosen, flow.since, flow.until, flow.reading);
    earliest timestamptz := odanon.bin_around(weighted, flow.since);
    origins integer[]; destinations integer[]; shares double precision[]; firsts date[]; lasts date[];
    total double precision := 0;
BEGIN
    IF evenly THEN
        SELECT array_agg(p.origin_no), array_agg(p.destination_no), array_agg(p.share),
               array_agg(p.first_window), array_agg(p.last_window)
        INTO origins, destinations, shares, firsts, lasts
        FROM odanon.zone_pairs(origin, destination, chosen) p
        -- A window of local days may have begun a month before, and lie a day off in UTC.
        WHERE p.last_window >= since::date - 33 AND p.first_window <= until::date + 2;
        total := coalesce((
            SELECT sum(f.spread * p.share * odanon.time_share(f.time_start, f.time_end, since, until, r.moments, r.passed))
            FROM unnest(origins, destinations, shares, firsts, lasts)
                 AS p (origin_no, destination_no, share, first_window, last_window)
            JOIN published.visible_flow f
              ON f.origin_no = p.origin_no AND f.destination_no = p.destination_no
             AND f.window_start BETWEEN p.first_window AND p.last_window
            JOIN published.readings r ON r.release_no = f.release_no
            WHERE f.time_start < until AND coalesce(f.time_end, f.time_start + interval '1 microsecond') > since
              AND f.window_start BETWEEN since::date - 33 AND until::date + 2
              AND f.product = chosen
              AND f.release_no <> ALL (weighted)
        ), 0);
    END IF;
    IF cardinality(weighted) > 0 AND flow.reading = 'prior' THEN
        PERFORM set_config('enable_nestloop', 'off', true);
        total := coalesce((
            WITH o AS MATERIALIZED (SELECT * FROM odanon.prior_shares(origin, 'origin')),
                 d AS MATERIALIZED (SELECT * FROM odanon.prior_shares(destination, 'destination'))
            SELECT sum(f.spread_prior * o.share * d.share * odanon.time_share(f.time_start, f.time_end, since, until, r.moments, r.passed))
            FROM published.visible_flow f
            JOIN published.readings r ON r.release_no = f.release_no
            JOIN o ON o.prior_no = r.prior_no AND o.zone_no = f.origin_no
            JOIN d ON d.prior_no = r.prior_no AND d.zone_no = f.destination_no
            WHERE f.origin_no = ANY (ARRAY(SELECT zone_no FROM o))
              AND f.release_no = ANY (weighted)
              AND f.time_start < until AND coalesce(f.time_end, f.time_start + interval '1 microsecond') > since
              AND f.window_start BETWEEN since::date - 33 AND until::date + 2
        ), 0);
    ELSIF cardinality(weighted) > 0 THEN
        -- Nobody can tell beforehand how many rows shares have: hash them, rather than go through all of them for every flow.
        PERFORM set_config('enable_nestloop', 'off', true);
        total := total + coalesce((
            WITH o AS MATERIALIZED (
                SELECT s.*
                FROM (SELECT array_agg(zone_no) AS zones, array_agg(share) AS shares FROM odanon.zone_shares(origin)) z
                CROSS JOIN LATERAL odanon.weight_shares(
                    '{}', z.zones, z.shares, 'origin', 'fitted', weighted, earliest, until) s
            ), d AS MATERIALIZED (
                SELECT s.*
                FROM (SELECT array_agg(zone_no) AS zones, array_agg(share) AS shares FROM odanon.zone_shares(destination)) z
                CROSS JOIN LATERAL odanon.weight_shares(
                    '{}', z.zones, z.shares, 'destination', 'fitted', weighted, earliest, until) s
            )
            SELECT sum(f.spread_fitted * o.share * d.share * odanon.time_share(f.time_start, f.time_end, since, until, NULL, NULL))
            FROM published.visible_flow f
            JOIN o ON o.release_no = f.release_no AND o.time_bin = f.time_start AND o.zone_no = f.origin_no
            JOIN d ON d.release_no = f.release_no AND d.time_bin = f.time_start AND d.zone_no = f.destination_no
            WHERE f.origin_no = ANY (ARRAY(SELECT DISTINCT zone_no FROM o))
              AND f.destination_no = ANY (ARRAY(SELECT DISTINCT zone_no FROM d))
              AND f.time_start < until AND coalesce(f.time_end, f.time_start + interval '1 microsecond') > since
              AND f.window_start BETWEEN since::date - 33 AND until::date + 2
        ), 0);
    END IF;
    RETURN total;
END $$;

COMMENT ON FUNCTION odanon.flow(geometry, geometry, timestamptz, timestamptz, text, text) IS
    'Estimated trips between two drawn areas from since to until; a row of a longer time gives its even share. reading: even spreads rows over the ground of their zones, fitted and prior by weights, auto as the manifest of each release says.';

CREATE OR REPLACE FUNCTION odanon.matrix(areas regclass, id_column name, geometry_column name, since timestamptz,
                              until timestamptz, product text DEFAULT NULL, reading text DEFAULT 'auto')
RETURNS TABLE (origin text, destination text, trips double precision)
LANGUAGE plpgsql STABLE SET jit = off SET enable_nestloop = on SET work_mem = '64MB' AS $$
DECLARE
    chosen text := odanon.the_product(matrix.product);
    weighted integer[] := odanon.weighted_releases(chosen, matrix.since, matrix.until, matrix.reading);
    evenly boolean := odanon.some_evenly(chosen, matrix.since, matrix.until, matrix.reading);
    earliest timestamptz := odanon.bin_around(weighted, matrix.since);
    even constant text := $query$
        WITH shares AS MATERIALIZED (
            SELECT a.%1$I::text AS area, s.zone_no, s.share
            FROM %3$s a CROSS JOIN LATERAL odanon.zone_shares(a.%2$I) s
        ), inside AS MATERIALIZED (
            SELECT DISTINCT zone_no FROM shares
        ), volume AS MATERIALIZED (
            SELECT f.origin_no, f.destination_no, sum(f.spread * odanon.time_share(f.time_start, f.time_end, $1, $2, r.moments, r.passed)) AS spread
            FROM published.visible_flow f JOIN published.readings r ON r.release_no = f.release_no
            WHERE f.product = $3 AND f.time_start < $2 AND coalesce(f.time_end, f.time_start + interval '1 microsecond') > $1
              AND f.window_start BETWEEN $1::date - 33 AND $2::date + 2
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
            FROM drawn z CROSS JOIN LATERAL odanon.weight_shares(z.areas, z.zones, z.shares, 'origin', 'fitted', $4, $5, $2) s
        ), d AS MATERIALIZED (
            SELECT s.*
            FROM drawn z
            CROSS JOIN LATERAL odanon.weight_shares(z.areas, z.zones, z.shares, 'destination', 'fitted', $4, $5, $2) s
        )
        SELECT o.area, d.area,
               sum(f.spread_fitted * o.share * d.share * odanon.time_share(f.time_start, f.time_end, $1, $2, NULL, NULL))
        FROM published.visible_flow f
        JOIN o ON o.release_no = f.release_no AND o.time_bin = f.time_start AND o.zone_no = f.origin_no
        JOIN d ON d.release_no = f.release_no AND d.time_bin = f.time_start AND d.zone_no = f.destination_no
        WHERE f.origin_no = ANY (ARRAY(SELECT DISTINCT zone_no FROM o))
          AND f.time_start < $2 AND coalesce(f.time_end, f.time_start + interval '1 microsecond') > $1
          AND f.window_start BETWEEN $1::date - 33 AND $2::date + 2
        GROUP BY o.area, d.area$query$;
    by_tiles constant text := $query$
        WITH o AS MATERIALIZED (
            SELECT a.%1$I::text AS area, s.*
            FROM %3$s a CROSS JOIN LATERAL odanon.prior_shares(a.%2$I, 'origin') s
        ), d AS MATERIALIZED (
            SELECT a.%1$I::text AS area, s.*
            FROM %3$s a CROSS JOIN LATERAL odanon.prior_shares(a.%2$I, 'destination') s
        )
        SELECT o.area, d.area, sum(f.spread_prior * o.share * d.share * odanon.time_share(f.time_start, f.time_end, $1, $2, r.moments, r.passed))
        FROM published.visible_flow f
        JOIN published.readings r ON r.release_no = f.release_no
        JOIN o ON o.prior_no = r.prior_no AND o.zone_no = f.origin_no
        JOIN d ON d.prior_no = r.prior_no AND d.zone_no = f.destination_no
        WHERE f.origin_no = ANY (ARRAY(SELECT DISTINCT zone_no FROM o))
          AND f.release_no = ANY ($4) AND f.product = $3
          AND f.time_start < $2 AND coalesce(f.time_end, f.time_start + interval '1 microsecond') > $1
          AND f.window_start BETWEEN $1::date - 33 AND $2::date + 2
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
            USING since, until, chosen, weighted, earliest;
    ELSE
        RETURN QUERY EXECUTE format('SELECT origin, destination, sum(trips) FROM ((' || even || ') UNION ALL ('
                                    || by_weights || ')) read (origin, destination, trips) GROUP BY 1, 2',
                                    id_column, geometry_column, areas)
            USING since, until, chosen, weighted, earliest;
    END IF;
END $$;
COMMENT ON FUNCTION odanon.matrix(regclass, name, name, timestamptz, timestamptz, text, text) IS
    'Estimated trips between all pairs of polygons of a table; name its id and geometry columns. reading as in odanon.flow.';
