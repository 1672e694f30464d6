-- Every estimate comes with the trips that are certain and those that are possible (docs/algorithms.md, Bounds).
ALTER TABLE published.flow ADD COLUMN around integer;
COMMENT ON COLUMN published.flow.around IS
    'Position of the first row of the rest directly around this one, -1 for none; null in releases without rests and those older than this column.';
CREATE OR REPLACE VIEW published.visible_flow AS
SELECT w.product, f.window_start, f.release_no, f.time_start, f.segment, f.origin_no, f.destination_no, f.trips,
       f.persons_band, f.kind, coalesce(f.spread, f.trips) AS spread, f.spread_fitted, f.spread_prior, f.time_end,
       f.position, f.around
FROM published.flow f JOIN published.release_window w USING (release_no) WHERE NOT w.purged;
COMMENT ON COLUMN published.visible_flow.position IS 'Place of the row in the release, from 0.';
COMMENT ON COLUMN published.visible_flow.around IS 'Position of the first row of the rest directly around this one, -1 or null for none.';

-- What is estimated stays as it was, under names of its own: flow and matrix now tell bounds as well.
DO $$
DECLARE
    old text; new text; made text;
BEGIN
    FOR old, new IN VALUES ('flow', 'estimate'), ('matrix', 'estimates') LOOP
        SELECT pg_get_functiondef(p.oid) INTO STRICT made
        FROM pg_proc p WHERE p.pronamespace = 'odanon'::regnamespace AND p.proname = old;
        made := replace(made, 'odanon.' || old || '(', 'odanon.' || new || '(');
        EXECUTE regexp_replace(made, '\m' || old || '\.', new || '.', 'g');  -- parameters are named after their function
    END LOOP;
END $$;
DROP FUNCTION odanon.flow(geometry, geometry, timestamptz, timestamptz, text, text);
DROP FUNCTION odanon.matrix(regclass, name, name, timestamptz, timestamptz, text, text);
COMMENT ON FUNCTION odanon.estimate(geometry, geometry, timestamptz, timestamptz, text, text) IS
    'The estimate of odanon.flow alone.';
COMMENT ON FUNCTION odanon.estimates(regclass, name, name, timestamptz, timestamptz, text, text) IS
    'The estimates of odanon.matrix alone.';

CREATE FUNCTION odanon.exact_share(low double precision, estimate double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN estimate <> 0 THEN least(greatest(low / estimate, 0), 1) END
$$;
COMMENT ON FUNCTION odanon.exact_share(double precision, double precision) IS
    'Which share of an estimate is exact; null where it is 0.';

-- A share of less than 1e-9 is rounding, and one of more than 1 - 1e-9 is all.
CREATE FUNCTION odanon.bounds(from_areas text[], from_zones integer[], from_shares double precision[],
                              to_areas text[], to_zones integer[], to_shares double precision[],
                              since timestamptz, until timestamptz, name text)
RETURNS TABLE (origin text, destination text, low double precision, high double precision, hours double precision)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan SET jit = off SET work_mem = '64MB' AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH o AS MATERIALIZED (
        SELECT s.* FROM unnest(from_areas, from_zones, from_shares) AS s (area, zone_no, share) WHERE s.share > 1e-9
    ), d AS MATERIALIZED (
        SELECT s.* FROM unnest(to_areas, to_zones, to_shares) AS s (area, zone_no, share) WHERE s.share > 1e-9
    ), met AS MATERIALIZED (
        SELECT f.release_no, f.origin_no, f.destination_no, f.time_start, f.time_end, f.position, f.around, f.kind, f.trips,
               f.trips * extract(epoch FROM f.time_end - f.time_start)::double precision / 3600 AS hours,
               r.moments, r.passed,
               odanon.time_share(f.time_start, f.time_end, since, until, r.moments, r.passed) AS share
        FROM published.visible_flow f JOIN published.readings r ON r.release_no = f.release_no
        WHERE f.product = name
          AND f.time_start < until AND coalesce(f.time_end, f.time_start + interval '1 microsecond') > since
          AND f.window_start BETWEEN since::date - 33 AND until::date + 2
          AND f.origin_no = ANY (ARRAY(SELECT DISTINCT zone_no FROM o))
          AND f.destination_no = ANY (ARRAY(SELECT DISTINCT zone_no FROM d))
    ), volume AS (
        SELECT m.origin_no, m.destination_no, sum(m.trips) FILTER (WHERE m.share > 1 - 1e-9) AS low,
               sum(m.trips) FILTER (WHERE m.kind <> 'rest' AND m.share > 0) AS high,
               sum(m.hours) FILTER (WHERE m.kind <> 'rest' AND m.share > 0) AS hours
        FROM met m GROUP BY m.origin_no, m.destination_no
    ), cells AS (
        -- Rests and what lies in them, all segments of two areas and a time together.
        SELECT m.release_no, m.origin_no, m.destination_no, min(m.position) AS place, max(m.around) AS around,
               bool_or(m.kind = 'rest') AS rest, sum(m.trips) AS trips, sum(m.hours) AS hours,
               max(m.share) * CASE WHEN m.time_end IS NULL THEN 1
                                   WHEN max(m.moments) IS NULL THEN extract(epoch FROM m.time_end - m.time_start)::double precision
                                   ELSE odanon.passed(max(m.moments), max(m.passed), m.time_end)
                                        - odanon.passed(max(m.moments), max(m.passed), m.time_start) END AS length
        FROM met m WHERE m.share > 0 AND (m.kind = 'rest' OR m.around >= 0)
        GROUP BY m.release_no, m.origin_no, m.destination_no, m.time_start, m.time_end
    ), parts AS MATERIALIZED (
        SELECT o.area AS origin, d.area AS destination, c.release_no, c.place, c.around, c.rest, c.trips, c.hours,
               x.ground_m2 * o.share * y.ground_m2 * d.share * c.length AS inside
        FROM cells c JOIN o ON o.zone_no = c.origin_no JOIN d ON d.zone_no = c.destination_no
        JOIN published.zone x ON x.zone_no = c.origin_no JOIN published.zone y ON y.zone_no = c.destination_no
    ), finer AS (
        SELECT p.origin, p.destination, p.release_no, p.around, sum(p.inside) AS inside
        FROM parts p WHERE p.around >= 0 GROUP BY 1, 2, 3, 4
    ), told AS (
        SELECT o.area AS origin, d.area AS destination,
               CASE WHEN o.share > 1 - 1e-9 AND d.share > 1 - 1e-9 THEN v.low END AS low, v.high, v.hours
        FROM volume v JOIN o ON o.zone_no = v.origin_no JOIN d ON d.zone_no = v.destination_no
        UNION ALL
        SELECT p.origin, p.destination, NULL, p.trips, p.hours
        FROM parts p LEFT JOIN finer f
          ON f.origin = p.origin AND f.destination = p.destination AND f.release_no = p.release_no AND f.around = p.place
        WHERE p.rest AND p.inside - coalesce(f.inside, 0) > 1e-9 * p.inside
    )
    SELECT t.origin, t.destination, coalesce(sum(t.low), 0)::double precision, coalesce(sum(t.high), 0)::double precision,
           coalesce(sum(t.hours), 0)::double precision
    FROM told t GROUP BY t.origin, t.destination;
END $$;
COMMENT ON FUNCTION odanon.bounds(text[], integer[], double precision[], text[], integer[], double precision[], timestamptz, timestamptz, text) IS
    'Trips of rows that lie wholly inside areas and time (low), of all rows that may have trips there (high), and these times how many hours rows are long, given the shares of zones in areas.';

CREATE FUNCTION odanon.answer(origin geometry, destination geometry, since timestamptz, until timestamptz, name text, reading text)
RETURNS TABLE (low double precision, estimate double precision, high double precision, hours double precision)
LANGUAGE sql STABLE ROWS 1 AS $$
    WITH o AS (
        SELECT array_agg('origin'::text) AS areas, array_agg(zone_no) AS zones, array_agg(share) AS shares
        FROM odanon.zone_shares(answer.origin)
    ), d AS (
        SELECT array_agg('destination'::text) AS areas, array_agg(zone_no) AS zones, array_agg(share) AS shares
        FROM odanon.zone_shares(answer.destination)
    )
    SELECT coalesce(b.low, 0), e.trips, coalesce(b.high, 0), coalesce(b.hours, 0)
    FROM odanon.estimate(answer.origin, answer.destination, answer.since, answer.until, answer.name, answer.reading) e (trips)
    LEFT JOIN LATERAL (
        SELECT t.* FROM o, d, LATERAL odanon.bounds(
            o.areas, o.zones, o.shares, d.areas, d.zones, d.shares, answer.since, answer.until, answer.name) t
    ) b ON true
$$;
COMMENT ON FUNCTION odanon.answer(geometry, geometry, timestamptz, timestamptz, text, text) IS
    'Estimate and bounds between two drawn areas of a product from since to until, and the high one times how many hours rows are long.';

CREATE FUNCTION odanon.flow(origin geometry, destination geometry, since timestamptz, until timestamptz,
                            product text DEFAULT NULL, reading text DEFAULT 'auto')
RETURNS TABLE (low double precision, estimate double precision, high double precision, exact double precision)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT a.low, a.estimate, a.high, odanon.exact_share(a.low, a.estimate)
    FROM odanon.answer(flow.origin, flow.destination, flow.since, flow.until, odanon.the_product(flow.product), flow.reading) a
$$;
COMMENT ON FUNCTION odanon.flow(geometry, geometry, timestamptz, timestamptz, text, text) IS
    'Trips between two drawn areas from since to until: low is certain, high is possible, and estimate takes of every row its share of areas and time. exact: low by estimate. reading: even spreads rows over the ground of their zones, fitted and prior by weights, auto as the manifest of each release says.';

CREATE FUNCTION odanon.matrix(areas regclass, id_column name, geometry_column name, since timestamptz,
                              until timestamptz, product text DEFAULT NULL, reading text DEFAULT 'auto')
RETURNS TABLE (origin text, destination text, low double precision, estimate double precision, high double precision,
               exact double precision)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    chosen text := odanon.the_product(matrix.product);
    names text[]; zones integer[]; shares double precision[];
BEGIN
    EXECUTE format('SELECT array_agg(a.%1$I::text), array_agg(s.zone_no), array_agg(s.share)'
                   ' FROM %3$s a CROSS JOIN LATERAL odanon.zone_shares(a.%2$I) s', id_column, geometry_column, areas)
    INTO names, zones, shares;
    RETURN QUERY
    SELECT t.origin, t.destination, sum(t.low), sum(t.estimate), sum(t.high), odanon.exact_share(sum(t.low), sum(t.estimate))
    FROM (
        SELECT e.origin, e.destination, 0::double precision AS low, e.trips AS estimate, 0::double precision AS high
        FROM odanon.estimates(areas, id_column, geometry_column, since, until, chosen, matrix.reading) e
        UNION ALL
        SELECT b.origin, b.destination, b.low, 0, b.high
        FROM odanon.bounds(names, zones, shares, names, zones, shares, since, until, chosen) b
    ) t GROUP BY t.origin, t.destination;
END $$;
COMMENT ON FUNCTION odanon.matrix(regclass, name, name, timestamptz, timestamptz, text, text) IS
    'Trips between all pairs of polygons of a table, as odanon.flow tells them; name its id and geometry columns.';

-- A flow of several time bins may follow what is published of its areas from bin to bin (docs/algorithms.md, Bounds).
CREATE TABLE published.pulse (
    release_no integer NOT NULL,
    zone_no integer NOT NULL,
    time_start timestamptz NOT NULL,
    time_end timestamptz NOT NULL,
    trips double precision NOT NULL,
    side text NOT NULL
);
CREATE INDEX pulse_by_zone ON published.pulse (release_no, zone_no);
COMMENT ON TABLE published.pulse IS 'What leaves or enters areas over time, where rows of a release are of several time bins; read the view pulses.';
CREATE VIEW published.pulses AS
SELECT w.product, p.release_no, p.side, p.zone_no, p.time_start, p.time_end, p.trips
FROM published.pulse p JOIN published.release_window w USING (release_no) WHERE NOT w.purged;
COMMENT ON VIEW published.pulses IS
    'What leaves or enters areas of visible releases over time, by the even reading; none where every row is of one time bin.';
DO $$
DECLARE
    rel text; col text;
    said constant jsonb := '{
        "product": "Name of the data product.",
        "release_no": "Number of the release.",
        "side": "origin for what leaves, destination for what enters.",
        "zone_no": "Number of the area.",
        "time_start": "Where some row of the release starts or ends.",
        "time_end": "Where the next one does.",
        "trips": "Trips between the two, by the even reading of all rows of the release."}';
BEGIN
    FOREACH rel IN ARRAY ARRAY['pulse', 'pulses'] LOOP
        FOR col IN SELECT attname FROM pg_attribute WHERE attrelid = ('published.' || rel)::regclass AND attnum > 0 LOOP
            EXECUTE format('COMMENT ON COLUMN published.%I.%I IS %L', rel, col, said ->> col);
        END LOOP;
    END LOOP;
END $$;

CREATE FUNCTION odanon.shift(origin geometry, destination geometry, since timestamptz, until timestamptz, name text, reading text)
RETURNS double precision LANGUAGE sql STABLE AS $$
    WITH o AS MATERIALIZED (
        SELECT NULL::integer AS prior_no, s.zone_no, s.share FROM odanon.zone_shares(shift.origin) s WHERE shift.reading <> 'prior'
        UNION ALL
        SELECT s.prior_no, s.zone_no, s.share FROM odanon.prior_shares(shift.origin, 'origin') s WHERE shift.reading = 'prior'
    ), d AS MATERIALIZED (
        SELECT NULL::integer AS prior_no, s.zone_no, s.share FROM odanon.zone_shares(shift.destination) s WHERE shift.reading <> 'prior'
        UNION ALL
        SELECT s.prior_no, s.zone_no, s.share FROM odanon.prior_shares(shift.destination, 'destination') s WHERE shift.reading = 'prior'
    ), cut AS MATERIALIZED (
        -- Flows of which a part of the time is asked.
        SELECT f.release_no, f.origin_no, f.destination_no, f.time_start, f.time_end, r.moments, r.passed,
               f.trips * o.share * d.share AS trips,
               odanon.time_share(f.time_start, f.time_end, shift.since, shift.until, r.moments, r.passed) AS share
        FROM published.visible_flow f
        JOIN published.readings r ON r.release_no = f.release_no
        JOIN o ON o.zone_no = f.origin_no AND (o.prior_no IS NULL OR o.prior_no = r.prior_no)
        JOIN d ON d.zone_no = f.destination_no AND (d.prior_no IS NULL OR d.prior_no = r.prior_no)
        WHERE f.product = shift.name AND f.kind = 'flow' AND f.time_start < shift.until AND f.time_end > shift.since
          AND NOT (f.time_start >= shift.since AND f.time_end <= shift.until)
          AND f.window_start BETWEEN shift.since::date - 33 AND shift.until::date + 2
    )
    SELECT coalesce(sum(c.trips * (p.share - c.share)), 0)
    FROM cut c CROSS JOIN LATERAL (
        SELECT sum(p.trips * CASE WHEN p.time_start < shift.until AND p.time_end > shift.since
                                  THEN odanon.time_share(p.time_start, p.time_end, shift.since, shift.until, c.moments, c.passed)
                                  ELSE 0 END) / nullif(sum(p.trips), 0) AS share
        FROM published.pulses p
        WHERE p.release_no = c.release_no AND p.time_start >= c.time_start AND p.time_end <= c.time_end
          AND (p.zone_no, p.side) IN ((c.origin_no, 'origin'), (c.destination_no, 'destination'))
    ) p
$$;
COMMENT ON FUNCTION odanon.shift(geometry, geometry, timestamptz, timestamptz, text, text) IS
    'What an estimate has more, or less, if flows of several time bins follow what is published of their areas instead of the clock.';

CREATE FUNCTION odanon.profile(origin geometry, destination geometry, since timestamptz, until timestamptz, step interval,
                               product text DEFAULT NULL, reading text DEFAULT 'auto', along text DEFAULT 'even')
RETURNS TABLE (time_start timestamptz, time_end timestamptz, low double precision, estimate double precision,
               high double precision, exact double precision, spread_over_hours double precision)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    chosen text := odanon.the_product(profile.product);
BEGIN
    IF along IS NULL OR along NOT IN ('even', 'surroundings') THEN
        RAISE EXCEPTION 'along is none of even, surroundings' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF since + step <= since OR until <= since THEN
        RAISE EXCEPTION 'a profile needs a step and a time that are longer than nothing; give a step such as an hour'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (until - since) / 10000 > step THEN
        RAISE EXCEPTION 'the profile has more than 10000 steps; ask for a shorter time or a longer step'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    SELECT t.first, t.last, a.low, e.trips, a.high, odanon.exact_share(a.low, e.trips), a.hours / nullif(a.high, 0)
    FROM (SELECT s.first, least(s.first + step, until) AS last
          FROM generate_series(since, until - interval '1 microsecond', step) AS s (first)) t
    CROSS JOIN LATERAL odanon.answer(origin, destination, t.first, t.last, chosen, profile.reading) a
    CROSS JOIN LATERAL (
        SELECT a.estimate + CASE WHEN along = 'even' THEN 0
                                 ELSE odanon.shift(origin, destination, t.first, t.last, chosen, profile.reading) END
    ) e (trips);
END $$;
COMMENT ON FUNCTION odanon.profile(geometry, geometry, timestamptz, timestamptz, interval, text, text, text) IS
    'Trips between two drawn areas in every step from since to until, as odanon.flow tells them. spread_over_hours: mean length of the rows behind high; where it is longer than the step, the estimate spreads them over their time. along: even, or surroundings, by which flows of several time bins follow what is published of their areas.';
