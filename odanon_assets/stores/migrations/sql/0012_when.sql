-- Questions have a day type, a span of the local clock and a segment, and a profile is one question (docs/algorithms.md, Bounds).
DROP FUNCTION odanon.flow(geometry, geometry, timestamptz, timestamptz, text, text);
DROP FUNCTION odanon.matrix(regclass, name, name, timestamptz, timestamptz, text, text);
DROP FUNCTION odanon.profile(geometry, geometry, timestamptz, timestamptz, interval, text, text, text);
DROP FUNCTION odanon.answer(geometry, geometry, timestamptz, timestamptz, text, text);
DROP FUNCTION odanon.shift(geometry, geometry, timestamptz, timestamptz, text, text);
DROP FUNCTION odanon.bounds(text[], integer[], double precision[], text[], integer[], double precision[], timestamptz, timestamptz, text);
DROP FUNCTION odanon.estimate(geometry, geometry, timestamptz, timestamptz, text, text);
DROP FUNCTION odanon.estimates(regclass, name, name, timestamptz, timestamptz, text, text);
DROP FUNCTION odanon.zone_pairs(geometry, geometry, text);
DROP FUNCTION odanon.weighted_releases(text, timestamptz, timestamptz, text);
DROP FUNCTION odanon.some_evenly(text, timestamptz, timestamptz, text);
DROP FUNCTION odanon.bin_around(integer[], timestamptz);
DROP FUNCTION odanon.time_share(timestamptz, timestamptz, timestamptz, timestamptz, timestamptz[], double precision[]);
DROP FUNCTION odanon.passed(timestamptz[], double precision[], timestamptz);

-- What moments and passed told of some releases, pieces tell of all.
DROP VIEW published.readings;
ALTER TABLE published.release DROP COLUMN moments, DROP COLUMN passed;

-- No foreign keys, as for flows.
CREATE TABLE published.piece (
    release_no integer NOT NULL,
    time_start timestamptz NOT NULL,
    time_end timestamptz NOT NULL,
    since integer NOT NULL,
    until integer NOT NULL,
    at timestamptz NOT NULL,
    days double precision NOT NULL,
    of_days boolean[] NOT NULL
);
CREATE INDEX piece_by_release ON published.piece (release_no);
COMMENT ON TABLE published.piece IS 'The time of releases as stretches of the local clock on one day each; read the view pieces.';
CREATE VIEW published.pieces AS
SELECT w.product, w.window_start, p.release_no, p.time_start, p.time_end, p.since, p.until, p.at, p.days, p.of_days
FROM published.piece p JOIN published.release_window w USING (release_no) WHERE NOT w.purged;
COMMENT ON VIEW published.pieces IS
    'The time of visible releases as stretches of the local clock on one day each: a day, or a time bin of a longer window on a day that it may be of.';

CREATE TABLE published.flow_time (
    release_no integer NOT NULL,
    time_start timestamptz NOT NULL,
    time_end timestamptz,
    seconds double precision NOT NULL
);
CREATE INDEX flow_time_by_release ON published.flow_time (release_no);
COMMENT ON TABLE published.flow_time IS 'The distinct times of the rows and pulses of releases; read the view flow_times.';
CREATE VIEW published.flow_times AS
SELECT w.product, w.window_start, t.release_no, t.time_start, t.time_end, t.seconds
FROM published.flow_time t JOIN published.release_window w USING (release_no) WHERE NOT w.purged;
COMMENT ON VIEW published.flow_times IS 'The distinct times of the rows and pulses of visible releases.';

CREATE TABLE published.part (
    release_no integer NOT NULL,
    time_start timestamptz NOT NULL,
    time_end timestamptz,
    origin_no integer NOT NULL,
    destination_no integer NOT NULL,
    spread double precision NOT NULL,
    spread_fitted double precision,
    spread_prior double precision,
    segment text NOT NULL
);
CREATE INDEX part_by_segment ON published.part (release_no, segment);
COMMENT ON TABLE published.part IS
    'What places carry of single segments in releases that have both rests and segments; read the view parts.';
CREATE VIEW published.parts AS
SELECT w.product, w.window_start, p.release_no, p.time_start, p.time_end, p.segment, p.origin_no, p.destination_no, p.spread,
       p.spread_fitted, p.spread_prior
FROM published.part p JOIN published.release_window w USING (release_no) WHERE NOT w.purged;
COMMENT ON VIEW published.parts IS
    'What places carry of single segments in visible releases that have both rests and segments, for functions.';

CREATE VIEW published.readings AS
SELECT r.product, r.window_start, r.release_id, r.release_no, r.reading, r.readings, r.prior_no,
       EXISTS (SELECT FROM published.part p WHERE p.release_no = r.release_no) AS parted
FROM published.release r JOIN published.release_window w USING (release_no) WHERE NOT w.purged;
COMMENT ON VIEW published.readings IS 'How each visible release may be read, and which of these ways its manifest calls the better.';

CREATE VIEW published.months AS
SELECT f.product, date_trunc('month', f.window_start)::date AS month, f.since, f.until, f.segment, o.zone_id AS origin_zone,
       d.zone_id AS destination_zone, f.kind, f.trips, f.spread, f.windows
FROM (
    SELECT v.product, min(v.window_start) AS window_start, c.since, c.until, v.segment, v.origin_no, v.destination_no, v.kind,
           sum(v.trips)::bigint AS trips, sum(v.spread) AS spread, count(DISTINCT v.window_start)::integer AS windows
    FROM published.visible_flow v
    JOIN (
        SELECT r.release_no, t.time_start, t.time_end, to_char(t.time_start AT TIME ZONE z.zone, 'HH24:MI') AS since,
               replace(to_char(t.time_end AT TIME ZONE z.zone, 'HH24:MI'), '00:00', '24:00') AS until
        FROM published.release r
        JOIN published.flow_time t USING (release_no)
        CROSS JOIN LATERAL (SELECT coalesce(r.manifest::jsonb ->> 'timezone', 'UTC')) AS z (zone)
    ) c ON c.release_no = v.release_no AND c.time_start = v.time_start AND c.time_end IS NOT DISTINCT FROM v.time_end
    GROUP BY v.product, date_trunc('month', v.window_start), c.since, c.until, v.segment, v.origin_no, v.destination_no, v.kind
) f
JOIN published.zone o ON o.zone_no = f.origin_no
JOIN published.zone d ON d.zone_no = f.destination_no;
COMMENT ON VIEW published.months IS
    'Sums of the rows of windows that begin in a month, by local clock; an area of the same name and another shape is another row.';

DO $$
DECLARE
    rel text; col text;
    said constant jsonb := '{
        "product": "Name of the data product.",
        "window_start": "First local day of the window.",
        "month": "First day of the month in which the windows begin.",
        "kind": "flow, or rest: the trips between its zones that no finer row counts.",
        "trips": "Trips of these windows: a lower bound where areas were joined or left out on a day.",
        "windows": "In how many windows the row was published.",
        "origin_zone": "Zone where the trips start.",
        "destination_zone": "Zone where the trips end.",
        "release_id": "Name of the release.",
        "release_no": "Number of the release.",
        "reading": "even, or fitted where the manifest calls that the better one.",
        "readings": "Readings that the release was published with.",
        "prior_no": "Number of the file of public weights; null without.",
        "parted": "Whether parts tell the spreads of single segments.",
        "time_start": "Where it starts; of a bin of a longer window, on the day that it is named after.",
        "time_end": "Where it ends; null in rows that are older than ends.",
        "since": "Local time of the day at which it starts, in seconds; of months, as hours and minutes.",
        "until": "Local time of the day at which it ends, likewise.",
        "at": "Instant at which it starts on its day.",
        "days": "How likely the day is one of those that the time bin adds up; 1 where that is known.",
        "of_days": "Whether the day is a Monday, ..., a Sunday, a working day, a Sunday or holiday.",
        "seconds": "How long it is on all its days.",
        "segment": "Part of the population.",
        "origin_no": "Number of the origin area.",
        "destination_no": "Number of the destination area.",
        "spread": "What to multiply with the shares of both zones, of this segment.",
        "spread_fitted": "As spread, with shares of the fitted weights of both zones; null without that reading.",
        "spread_prior": "As spread, with shares of the prior weights of both zones; null without that reading."}';
BEGIN
    FOREACH rel IN ARRAY ARRAY['piece', 'pieces', 'flow_time', 'flow_times', 'part', 'parts', 'readings', 'months'] LOOP
        FOR col IN SELECT attname FROM pg_attribute WHERE attrelid = ('published.' || rel)::regclass AND attnum > 0 LOOP
            EXECUTE format('COMMENT ON COLUMN published.%I.%I IS %L', rel, col, said ->> col);
        END LOOP;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION odanon.the_product(name text) RETURNS text LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    chosen text := coalesce(name, nullif(current_setting('odanon.product', true), ''));
    known text[];
BEGIN
    IF chosen IS NOT NULL THEN
        RETURN chosen;
    END IF;
    SELECT array_agg(DISTINCT product) INTO known FROM published.readings;
    IF cardinality(known) > 1 THEN
        RAISE EXCEPTION 'several products are published; name one, such as product => my-city'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN known[1];
END $$;
COMMENT ON FUNCTION odanon.the_product(text) IS 'The named product, that of the setting odanon.product, or the only one.';

CREATE FUNCTION odanon.time_zone(name text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT r.manifest ->> 'timezone' FROM published.releases r WHERE r.product = name
                     ORDER BY r.window_start DESC LIMIT 1), 'UTC')
$$;
COMMENT ON FUNCTION odanon.time_zone(text) IS 'The clock of the latest release of a product.';

CREATE FUNCTION odanon.instant(local timestamp, zone text) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT min(told.at) FROM (
        SELECT (local AT TIME ZONE zone) AS at
        UNION ALL
        SELECT (local AT TIME ZONE zone) - sooner FROM unnest(ARRAY[interval '30 minutes', '1 hour', '2 hours']) sooner
        WHERE ((local AT TIME ZONE zone) - sooner) AT TIME ZONE zone = local
    ) told
$$;
COMMENT ON FUNCTION odanon.instant(timestamp, text) IS
    'The instant of a local time, the first of a time that comes twice; one that clocks leave out is read as if they were not turned yet.';

CREATE FUNCTION odanon.window_span(day date, manifest jsonb) RETURNS timestamptz[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY[odanon.instant(day - a.days * interval '1 day', a.zone), odanon.instant(day + a.length + a.days * interval '1 day', a.zone)]
    FROM (
        SELECT coalesce(manifest ->> 'timezone', 'UTC'), ('1 ' || coalesce(manifest ->> 'window', 'day'))::interval,
               CASE WHEN manifest ->> 'timezone' IS NULL AND coalesce(manifest ->> 'window', 'day') = 'day' THEN 1 ELSE 0 END
    ) AS a (zone, length, days)
$$;
COMMENT ON FUNCTION odanon.window_span(date, jsonb) IS
    'The instants at which the window of a release starts and ends; those of a day without a time zone, anywhere on Earth.';

CREATE FUNCTION odanon.span(name text, since timestamptz, until timestamptz, month text) RETURNS timestamptz[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    first timestamptz := since; last timestamptz := until; zone text;
BEGIN
    IF month IS NOT NULL AND (since IS NOT NULL OR until IS NOT NULL) THEN
        RAISE EXCEPTION 'a month stands for since and until; give the one or the others' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF month !~ '^(?!0000)[0-9]{4}-(0[1-9]|1[0-2])$' THEN
        RAISE EXCEPTION 'the month is not one; write 2026-03' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF month IS NOT NULL THEN
        zone := odanon.time_zone(name);
        first := odanon.instant((month || '-01')::timestamp, zone);
        last := odanon.instant((month || '-01')::timestamp + interval '1 month', zone);
    END IF;
    IF first IS NULL OR last IS NULL THEN
        SELECT coalesce(first, min(w.span[1])), coalesce(last, max(w.span[2])) INTO first, last
        FROM published.releases r CROSS JOIN LATERAL odanon.window_span(r.window_start, r.manifest) w (span) WHERE r.product = name;
    END IF;
    IF last <= first AND until IS NOT NULL AND since IS NOT NULL THEN
        RAISE EXCEPTION 'the time asked for is not longer than nothing; give a later until' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN ARRAY[coalesce(first, 'epoch'), greatest(coalesce(last, 'epoch'), coalesce(first, 'epoch') + interval '1 microsecond')];
END $$;
COMMENT ON FUNCTION odanon.span(text, timestamptz, timestamptz, text) IS
    'The time asked for: from since to until, of a month, or all that is published.';

CREATE FUNCTION odanon.steps(name text, span timestamptz[], step interval) RETURNS timestamptz[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    zone text := odanon.time_zone(name);
    local timestamp := span[1] AT TIME ZONE odanon.time_zone(name);
BEGIN
    IF step IS NULL OR local + step <= local THEN
        RAISE EXCEPTION 'a profile needs a step that is longer than nothing; give one such as an hour'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (span[2] - span[1]) / 10000 > step THEN
        RAISE EXCEPTION 'the profile has more than 10000 steps; ask for a shorter time or a longer step'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN (
        SELECT array_agg(DISTINCT e.at ORDER BY e.at) FROM (
            SELECT unnest(span) AS at
            UNION ALL
            SELECT odanon.instant(l, zone) FROM generate_series(local + step, span[2] AT TIME ZONE zone, step) l
        ) e WHERE e.at BETWEEN span[1] AND span[2]
    );
END $$;
COMMENT ON FUNCTION odanon.steps(text, timestamptz[], interval) IS
    'Where the steps of a profile start, and where the last one ends; they are as long on the local clock.';

CREATE FUNCTION odanon.asked(name text, since timestamptz, until timestamptz, days text, clock text)
RETURNS TABLE (release_no integer, time_start timestamptz, time_end timestamptz, starts integer, ends integer, opens integer, closes integer,
               at timestamptz, likely double precision)
LANGUAGE plpgsql STABLE ROWS 1000 AS $$
#variable_conflict use_column
DECLARE
    names constant text[] := '{monday,tuesday,wednesday,thursday,friday,saturday,sunday,working,sunday_holiday}';
    kind integer := array_position(names, asked.days);
    opening integer := 0; closing integer := 86400;
BEGIN
    IF asked.days IS NOT NULL AND kind IS NULL THEN
        RAISE EXCEPTION 'days is none of %', array_to_string(names, ', ') USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF clock !~ '^([01][0-9]|2[0-3]):[0-5][0-9]-(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$' THEN
        RAISE EXCEPTION 'the clock is not a span of it; write 07:00-09:00, or 22:00-06:00 over midnight'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF clock IS NOT NULL THEN
        opening := 3600 * left(clock, 2)::integer + 60 * substr(clock, 4, 2)::integer;
        closing := 3600 * substr(clock, 7, 2)::integer + 60 * right(clock, 2)::integer;
    END IF;
    RETURN QUERY
    SELECT p.release_no, p.time_start, p.time_end, p.since, p.until, greatest(s.opens, p.since), least(s.closes, p.until), p.at, p.days
    FROM published.pieces p
    CROSS JOIN (
        SELECT opening, closing WHERE opening < closing
        UNION ALL SELECT 0, closing WHERE opening >= closing
        UNION ALL SELECT opening, 86400 WHERE opening >= closing
    ) AS s (opens, closes)
    WHERE p.product = name AND greatest(s.opens, p.since) < least(s.closes, p.until)
      AND p.at + (greatest(s.opens, p.since) - p.since) * interval '1 second' < asked.until
      AND p.at + (least(s.closes, p.until) - p.since) * interval '1 second' > asked.since
      AND (kind IS NULL OR p.of_days[kind]);
END $$;
COMMENT ON FUNCTION odanon.asked(text, timestamptz, timestamptz, text, text) IS
    'The pieces of releases that a question asks for, and from when to when it does on their clocks.';

CREATE FUNCTION odanon.time_shares(name text, steps timestamptz[], days text, clock text)
RETURNS TABLE (step integer, release_no integer, time_start timestamptz, time_end timestamptz, share double precision,
               seconds double precision)
LANGUAGE sql STABLE ROWS 10000 AS $$
    SELECT m.step, m.release_no, m.time_start, m.time_end, sum(m.seconds) / max(m.whole), sum(m.seconds)
    FROM (
        SELECT n.step, t.release_no, t.time_start, t.time_end, t.seconds AS whole,
               a.likely * extract(epoch FROM least(e.last, steps[n.step + 1]) - greatest(e.first, steps[n.step]))::double precision
               AS seconds
        FROM odanon.asked(name, steps[1], steps[cardinality(steps)], time_shares.days, time_shares.clock) a
        JOIN published.flow_times t
          ON t.release_no = a.release_no AND t.time_start < a.time_end
         AND coalesce(t.time_end, t.time_start + interval '1 second') > a.time_start
        CROSS JOIN LATERAL (
            -- Rows tell their time on the day that bins are named after, whose clock may pass at another pace.
            SELECT (a.ends - a.starts) / extract(epoch FROM a.time_end - a.time_start)::double precision
        ) AS p (pace)
        CROSS JOIN LATERAL (
            SELECT greatest(a.opens - a.starts, p.pace * extract(epoch FROM greatest(t.time_start, a.time_start) - a.time_start)::double precision),
                   least(a.closes - a.starts, a.ends - a.starts - p.pace * extract(
                       epoch FROM a.time_end - least(coalesce(t.time_end, t.time_start + interval '1 second'), a.time_end))::double precision)
        ) AS c (first, last)
        CROSS JOIN LATERAL (
            SELECT greatest(a.at + c.first * interval '1 second', steps[1]), least(a.at + c.last * interval '1 second', steps[cardinality(steps)])
        ) AS e (first, last)
        CROSS JOIN LATERAL generate_series(
            width_bucket(e.first, steps), width_bucket(e.last - interval '1 microsecond', steps)) AS n (step)
        WHERE c.first < c.last AND e.first < e.last
    ) m
    GROUP BY m.step, m.release_no, m.time_start, m.time_end
$$;
COMMENT ON FUNCTION odanon.time_shares(text, timestamptz[], text, text) IS
    'Which share of the distinct times of a product lies in each step, on days of a type and a span of the local clock, and how many seconds of all days that is: all of one only if all days that it may be of are asked for, and some if one of them is.';

CREATE FUNCTION odanon.weighted_releases(releases integer[], reading text) RETURNS integer[] LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    lacking text;
    found integer[];
BEGIN
    IF reading IS NULL OR reading NOT IN ('auto', 'even', 'fitted', 'prior') THEN
        RAISE EXCEPTION 'the reading is none of auto, even, fitted, prior' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT min(r.release_id) FILTER (WHERE reading <> 'auto' AND NOT reading = ANY (r.readings)),
           array_agg(r.release_no) FILTER (WHERE reading <> 'auto' OR r.reading <> 'even')
    INTO lacking, found
    FROM published.readings r
    WHERE reading <> 'even' AND r.release_no = ANY (releases);
    IF lacking IS NOT NULL THEN
        RAISE EXCEPTION 'the reading % has no weights in %; ask for auto or even', reading, lacking
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN coalesce(found, '{}');
END $$;
COMMENT ON FUNCTION odanon.weighted_releases(integer[], text) IS
    'Which of some releases a reading reads by weights; an error where one lacks them.';

-- Comparing outlines is what questions cost most: those of other releases are left alone, and of long ones only what is near is compared.
-- Clipping may leave rings that touch themselves along the box, which is a little larger than the area: none of that is inside.
DROP FUNCTION odanon.zone_shares(geometry);
CREATE FUNCTION odanon.zone_shares(area geometry, releases integer[] DEFAULT NULL) RETURNS TABLE (zone_no integer, share double precision)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 100 AS $$
#variable_conflict use_column
DECLARE
    drawn geometry := odanon.drawn(area);
    near geometry := ST_Expand(ST_Envelope(drawn), 1e-6);
BEGIN
    RETURN QUERY
    SELECT inside.zone_no, inside.share
    FROM (
        SELECT z.zone_no,
               CASE WHEN ST_Covers(drawn, z.geometry) THEN 1
                    ELSE ST_Area(ST_Transform(ST_Intersection(drawn, CASE WHEN ST_NPoints(z.geometry) > 100 THEN ST_ClipByBox2D(z.geometry, near)
                                                                      ELSE z.geometry END), 6933)) / nullif(z.ground_m2, 0)
               END AS share
        FROM published.zone z
        WHERE ST_Intersects(z.geometry, drawn)
          -- Not EXISTS, which may be read as a join with all zones of all releases.
          AND (releases IS NULL OR (SELECT true FROM published.release_zone r
                                    WHERE r.zone_no = z.zone_no AND r.release_no = ANY (releases) LIMIT 1))
        OFFSET 0  -- or the share is worked out twice, for the condition and for the answer
    ) inside
    WHERE inside.share > 0;
END $$;
COMMENT ON FUNCTION odanon.zone_shares(geometry, integer[]) IS
    'Which share of the ground of each zone, of some releases unless null, lies inside an area.';

-- A share of less than 1e-9 is rounding, and one of more than 1 - 1e-9 is all.
CREATE FUNCTION odanon.told(name text, steps timestamptz[], days text, clock text, segment text, reading text, along text,
                            from_areas text[], from_shapes geometry[], to_areas text[], to_shapes geometry[])
RETURNS TABLE (step integer, origin text, destination text, low double precision, estimate double precision,
               high double precision, hours double precision)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan SET jit = off SET enable_nestloop = on SET work_mem = '64MB' AS $$
#variable_conflict use_column
DECLARE
    first date := steps[1]::date - 33; last date := steps[cardinality(steps)]::date + 2;
    o_area text[]; o_zone integer[]; o_share double precision[];
    d_area text[]; d_zone integer[]; d_share double precision[];
    t_step integer[]; t_release integer[]; t_start timestamptz[]; t_end timestamptz[]; t_share double precision[]; t_seconds double precision[];
    m_step integer[]; m_release integer[]; m_origin integer[]; m_destination integer[]; m_spread double precision[];
    releases integer[]; weighted integer[]; parted integer[] := '{}';
BEGIN
    IF told.along IS NULL OR told.along NOT IN ('even', 'surroundings') THEN
        RAISE EXCEPTION 'along is none of even, surroundings' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT array_agg(s.step), array_agg(s.release_no), array_agg(s.time_start), array_agg(s.time_end), array_agg(s.share), array_agg(s.seconds)
    INTO t_step, t_release, t_start, t_end, t_share, t_seconds
    FROM odanon.time_shares(name, steps, told.days, told.clock) s;
    releases := ARRAY(SELECT DISTINCT n FROM unnest(t_release) n);
    weighted := odanon.weighted_releases(releases, told.reading);
    SELECT array_agg(a.area), array_agg(s.zone_no), array_agg(s.share) INTO o_area, o_zone, o_share
    FROM unnest(from_areas, from_shapes) AS a (area, shape) CROSS JOIN LATERAL odanon.zone_shares(a.shape, releases) s;
    IF to_areas = from_areas AND to_shapes = from_shapes THEN
        d_area := o_area; d_zone := o_zone; d_share := o_share;
    ELSE
        SELECT array_agg(a.area), array_agg(s.zone_no), array_agg(s.share) INTO d_area, d_zone, d_share
        FROM unnest(to_areas, to_shapes) AS a (area, shape) CROSS JOIN LATERAL odanon.zone_shares(a.shape, releases) s;
    END IF;
    IF told.segment IS NOT NULL THEN
        parted := ARRAY(SELECT r.release_no FROM published.readings r WHERE r.product = name AND r.parted);
    END IF;
    IF told.along = 'surroundings' THEN
        -- Flows of which a part of the time is asked follow what is published of their areas.
        WITH t AS MATERIALIZED (
            SELECT s.* FROM unnest(t_step, t_release, t_start, t_end, t_share) AS s (step, release_no, time_start, time_end, share)
        ), cut AS MATERIALIZED (
            SELECT t.step, f.release_no, f.position, f.origin_no, f.destination_no, f.time_start, f.time_end, f.trips, t.share
            FROM published.visible_flow f
            JOIN t ON t.release_no = f.release_no AND t.time_start = f.time_start AND t.time_end = f.time_end
            WHERE f.product = name AND f.window_start BETWEEN first AND last AND f.kind = 'flow' AND t.share < 1
              AND f.origin_no = ANY (o_zone) AND f.destination_no = ANY (d_zone)
              AND (told.segment IS NULL OR f.segment = told.segment)
        ), pulsed AS MATERIALIZED (
            SELECT c.release_no, c.position, p.time_start, p.time_end, p.trips
            FROM (SELECT DISTINCT release_no, position, origin_no, destination_no, time_start, time_end FROM cut) c
            JOIN published.pulses p
              ON p.release_no = c.release_no AND p.time_start >= c.time_start AND p.time_end <= c.time_end
             AND (p.zone_no = c.origin_no AND p.side = 'origin' OR p.zone_no = c.destination_no AND p.side = 'destination')
        ), moved AS (
            SELECT c.step, c.release_no, c.origin_no, c.destination_no, sum(c.trips * (coalesce(i.trips, 0) / w.trips - c.share)) AS spread
            FROM cut c
            JOIN (SELECT release_no, position, sum(trips) AS trips FROM pulsed GROUP BY 1, 2) w
              ON w.release_no = c.release_no AND w.position = c.position AND w.trips > 0
            LEFT JOIN (
                SELECT t.step, p.release_no, p.position, sum(p.trips * t.share) AS trips
                FROM pulsed p JOIN t ON t.release_no = p.release_no AND t.time_start = p.time_start AND t.time_end = p.time_end
                GROUP BY 1, 2, 3
            ) i ON i.step = c.step AND i.release_no = c.release_no AND i.position = c.position
            GROUP BY c.step, c.release_no, c.origin_no, c.destination_no
        )
        SELECT array_agg(m.step), array_agg(m.release_no), array_agg(m.origin_no), array_agg(m.destination_no), array_agg(m.spread)
        INTO m_step, m_release, m_origin, m_destination, m_spread FROM moved m;
    END IF;

    RETURN QUERY
    WITH o AS MATERIALIZED (
        SELECT s.* FROM unnest(o_area, o_zone, o_share) AS s (area, zone_no, share)
    ), d AS MATERIALIZED (
        SELECT s.* FROM unnest(d_area, d_zone, d_share) AS s (area, zone_no, share)
    ), t AS MATERIALIZED (
        SELECT s.* FROM unnest(t_step, t_release, t_start, t_end, t_share, t_seconds)
                        AS s (step, release_no, time_start, time_end, share, seconds)
    ), met AS MATERIALIZED (
        SELECT t.step, f.release_no, f.origin_no, f.destination_no, f.time_start, f.time_end, f.position, f.around, f.kind, f.trips,
               f.trips * extract(epoch FROM f.time_end - f.time_start)::double precision / 3600 AS hours,
               f.spread, t.share, t.seconds, told.segment IS NULL OR f.segment = told.segment AS mine
        FROM published.visible_flow f
        JOIN t ON t.release_no = f.release_no AND t.time_start = f.time_start AND t.time_end IS NOT DISTINCT FROM f.time_end
        WHERE f.product = name AND f.window_start BETWEEN first AND last
          AND f.origin_no = ANY (o_zone) AND f.destination_no = ANY (d_zone)
    ), volume AS (
        SELECT m.step, m.origin_no, m.destination_no, sum(m.trips) FILTER (WHERE m.mine AND m.share > 1 - 1e-9) AS low,
               sum(m.spread * m.share) FILTER (WHERE m.mine AND m.release_no <> ALL (weighted) AND m.release_no <> ALL (parted)) AS spread,
               sum(m.trips) FILTER (WHERE m.mine AND m.kind <> 'rest') AS high,
               sum(m.hours) FILTER (WHERE m.mine AND m.kind <> 'rest') AS hours
        FROM met m GROUP BY m.step, m.origin_no, m.destination_no
    ), of_parts AS (
        SELECT t.step, p.origin_no, p.destination_no, sum(p.spread * t.share) AS spread
        FROM published.parts p
        JOIN t ON t.release_no = p.release_no AND t.time_start = p.time_start AND t.time_end IS NOT DISTINCT FROM p.time_end
        WHERE p.release_no = ANY (parted) AND p.segment = told.segment AND p.release_no <> ALL (weighted)
          AND p.origin_no = ANY (o_zone) AND p.destination_no = ANY (d_zone)
        GROUP BY t.step, p.origin_no, p.destination_no
    ), cells AS (
        -- Rests and what lies in them, all segments of two areas and a time together.
        SELECT m.step, m.release_no, m.origin_no, m.destination_no, min(m.position) AS place, max(m.around) AS around,
               bool_or(m.kind = 'rest') AS rest, sum(m.trips) FILTER (WHERE m.mine) AS trips,
               sum(m.hours) FILTER (WHERE m.mine) AS hours, max(m.seconds) AS length
        FROM met m WHERE m.kind = 'rest' OR m.around >= 0
        GROUP BY m.step, m.release_no, m.origin_no, m.destination_no, m.time_start, m.time_end
    ), touched_o AS (
        SELECT o.area, o.zone_no, o.share * z.ground_m2 AS ground FROM o JOIN published.zone z USING (zone_no) WHERE o.share > 1e-9
    ), touched_d AS (
        SELECT d.area, d.zone_no, d.share * z.ground_m2 AS ground FROM d JOIN published.zone z USING (zone_no) WHERE d.share > 1e-9
    ), inner_parts AS MATERIALIZED (
        SELECT o.area AS origin, d.area AS destination, c.step, c.release_no, c.place, c.around, c.rest, c.trips, c.hours,
               o.ground * d.ground * c.length AS inside
        FROM cells c JOIN touched_o o ON o.zone_no = c.origin_no JOIN touched_d d ON d.zone_no = c.destination_no
    ), finer AS (
        SELECT p.origin, p.destination, p.step, p.release_no, p.around, sum(p.inside) AS inside
        FROM inner_parts p WHERE p.around >= 0 GROUP BY 1, 2, 3, 4, 5
    ), every AS (
        SELECT v.step, o.area AS origin, d.area AS destination,
               CASE WHEN o.share > 1 - 1e-9 AND d.share > 1 - 1e-9 THEN v.low END AS low, v.spread * o.share * d.share AS estimate,
               CASE WHEN o.share > 1e-9 AND d.share > 1e-9 THEN v.high END AS high,
               CASE WHEN o.share > 1e-9 AND d.share > 1e-9 THEN v.hours END AS hours
        FROM volume v JOIN o ON o.zone_no = v.origin_no JOIN d ON d.zone_no = v.destination_no
        UNION ALL
        SELECT v.step, o.area, d.area, NULL, v.spread * o.share * d.share, NULL, NULL
        FROM (
            TABLE of_parts
            UNION ALL
            SELECT m.step, m.origin_no, m.destination_no, m.spread
            FROM unnest(m_step, m_release, m_origin, m_destination, m_spread) AS m (step, release_no, origin_no, destination_no, spread)
            WHERE m.release_no <> ALL (weighted)
        ) v
        JOIN o ON o.zone_no = v.origin_no JOIN d ON d.zone_no = v.destination_no
        UNION ALL
        SELECT p.step, p.origin, p.destination, NULL, NULL, p.trips, p.hours
        FROM inner_parts p LEFT JOIN finer f
          ON f.origin = p.origin AND f.destination = p.destination AND f.step = p.step AND f.release_no = p.release_no
         AND f.around = p.place
        WHERE p.rest AND p.inside - coalesce(f.inside, 0) > 1e-9 * p.inside
    )
    SELECT e.step, e.origin, e.destination, coalesce(sum(e.low), 0)::double precision, coalesce(sum(e.estimate), 0)::double precision,
           coalesce(sum(e.high), 0)::double precision, coalesce(sum(e.hours), 0)::double precision
    FROM every e GROUP BY e.step, e.origin, e.destination;

    IF cardinality(weighted) = 0 THEN
        RETURN;
    END IF;
    -- Nobody can tell beforehand how many rows shares have: hash them, rather than go through all of them for every flow.
    PERFORM set_config('enable_nestloop', 'off', true);
    IF told.reading = 'prior' THEN
        RETURN QUERY
        WITH o AS MATERIALIZED (
            SELECT a.area, s.* FROM unnest(from_areas, from_shapes) AS a (area, shape)
            CROSS JOIN LATERAL odanon.prior_shares(a.shape, 'origin') s
        ), d AS MATERIALIZED (
            SELECT a.area, s.* FROM unnest(to_areas, to_shapes) AS a (area, shape)
            CROSS JOIN LATERAL odanon.prior_shares(a.shape, 'destination') s
        ), t AS MATERIALIZED (
            SELECT s.* FROM unnest(t_step, t_release, t_start, t_end, t_share) AS s (step, release_no, time_start, time_end, share)
        ), f AS (
            SELECT f.release_no, f.time_start, f.time_end, f.origin_no, f.destination_no, f.spread_prior AS spread
            FROM published.visible_flow f
            WHERE f.release_no = ANY (weighted) AND f.window_start BETWEEN first AND last
              AND f.origin_no = ANY (ARRAY(SELECT DISTINCT zone_no FROM o))
              AND (told.segment IS NULL OR f.segment = told.segment AND f.release_no <> ALL (parted))
            UNION ALL
            SELECT p.release_no, p.time_start, p.time_end, p.origin_no, p.destination_no, p.spread_prior
            FROM published.parts p WHERE p.release_no = ANY (weighted) AND p.release_no = ANY (parted) AND p.segment = told.segment
        ), v AS (
            SELECT t.step, f.release_no, f.origin_no, f.destination_no, f.spread * t.share AS spread
            FROM f JOIN t ON t.release_no = f.release_no AND t.time_start = f.time_start AND t.time_end IS NOT DISTINCT FROM f.time_end
            UNION ALL
            SELECT m.* FROM unnest(m_step, m_release, m_origin, m_destination, m_spread) AS m
        )
        SELECT v.step, o.area, d.area, 0::double precision, sum(v.spread * o.share * d.share), 0::double precision, 0::double precision
        FROM v
        JOIN published.readings r ON r.release_no = v.release_no
        JOIN o ON o.prior_no = r.prior_no AND o.zone_no = v.origin_no
        JOIN d ON d.prior_no = r.prior_no AND d.zone_no = v.destination_no
        GROUP BY v.step, o.area, d.area;
    ELSE
        RETURN QUERY
        WITH o AS MATERIALIZED (
            SELECT s.* FROM odanon.weight_shares(o_area, o_zone, o_share, 'origin', 'fitted', weighted,
                (SELECT min(at) FROM unnest(t_start) at), (SELECT max(at) + interval '1 microsecond' FROM unnest(t_start) at)) s
        ), d AS MATERIALIZED (
            SELECT s.* FROM odanon.weight_shares(d_area, d_zone, d_share, 'destination', 'fitted', weighted,
                (SELECT min(at) FROM unnest(t_start) at), (SELECT max(at) + interval '1 microsecond' FROM unnest(t_start) at)) s
        ), t AS MATERIALIZED (
            SELECT s.* FROM unnest(t_step, t_release, t_start, t_end, t_share) AS s (step, release_no, time_start, time_end, share)
        ), f AS (
            SELECT f.release_no, f.time_start, f.time_end, f.origin_no, f.destination_no, f.spread_fitted AS spread
            FROM published.visible_flow f
            WHERE f.release_no = ANY (weighted) AND f.window_start BETWEEN first AND last
              AND f.origin_no = ANY (ARRAY(SELECT DISTINCT zone_no FROM o))
              AND f.destination_no = ANY (ARRAY(SELECT DISTINCT zone_no FROM d))
              AND (told.segment IS NULL OR f.segment = told.segment AND f.release_no <> ALL (parted))
            UNION ALL
            SELECT p.release_no, p.time_start, p.time_end, p.origin_no, p.destination_no, p.spread_fitted
            FROM published.parts p WHERE p.release_no = ANY (weighted) AND p.release_no = ANY (parted) AND p.segment = told.segment
        )
        SELECT t.step, o.area, d.area, 0::double precision, sum(f.spread * t.share * o.share * d.share), 0::double precision, 0::double precision
        FROM f
        JOIN t ON t.release_no = f.release_no AND t.time_start = f.time_start AND t.time_end IS NOT DISTINCT FROM f.time_end
        JOIN o ON o.release_no = f.release_no AND o.time_bin = f.time_start AND o.zone_no = f.origin_no
        JOIN d ON d.release_no = f.release_no AND d.time_bin = f.time_start AND d.zone_no = f.destination_no
        GROUP BY t.step, o.area, d.area;
    END IF;
END $$;
COMMENT ON FUNCTION odanon.told(text, timestamptz[], text, text, text, text, text, text[], geometry[], text[], geometry[]) IS
    'Estimates and bounds between areas in steps of time, in parts that add up: trips of rows wholly inside (low), of all rows that may have trips there (high), and these times how many hours rows are long.';

CREATE FUNCTION odanon.answers(name text, steps timestamptz[], days text, clock text, segment text, reading text, along text,
                               from_areas text[], from_shapes geometry[], to_areas text[], to_shapes geometry[])
RETURNS TABLE (step integer, origin text, destination text, low double precision, estimate double precision,
               high double precision, hours double precision)
LANGUAGE sql STABLE AS $$
    -- Sums of floating numbers may leave their bounds by the last digit.
    SELECT t.step, t.origin, t.destination, sum(t.low), least(greatest(sum(t.estimate), sum(t.low)), sum(t.high)), sum(t.high), sum(t.hours)
    FROM odanon.told(name, answers.steps, answers.days, answers.clock, answers.segment, answers.reading, answers.along,
                     from_areas, from_shapes, to_areas, to_shapes) t
    GROUP BY t.step, t.origin, t.destination
$$;
COMMENT ON FUNCTION odanon.answers(text, timestamptz[], text, text, text, text, text, text[], geometry[], text[], geometry[]) IS
    'Estimates and bounds between areas in steps of time.';

CREATE FUNCTION odanon.flow(origin geometry, destination geometry, since timestamptz DEFAULT NULL, until timestamptz DEFAULT NULL,
                            product text DEFAULT NULL, reading text DEFAULT 'auto', segment text DEFAULT NULL,
                            days text DEFAULT NULL, clock text DEFAULT NULL, month text DEFAULT NULL)
RETURNS TABLE (low double precision, estimate double precision, high double precision, exact double precision)
LANGUAGE plpgsql STABLE ROWS 1 AS $$
#variable_conflict use_column
DECLARE
    chosen text := odanon.the_product(flow.product);
    span timestamptz[] := odanon.span(chosen, flow.since, flow.until, flow.month);
BEGIN
    RETURN QUERY
    SELECT coalesce(a.low, 0), coalesce(a.estimate, 0), coalesce(a.high, 0), odanon.exact_share(a.low, a.estimate)
    FROM (SELECT 1) one LEFT JOIN odanon.answers(
        chosen, span, flow.days, flow.clock, flow.segment, flow.reading, 'even',
        ARRAY['origin'], ARRAY[flow.origin], ARRAY['destination'], ARRAY[flow.destination]) a ON true;
END $$;
COMMENT ON FUNCTION odanon.flow(geometry, geometry, timestamptz, timestamptz, text, text, text, text, text, text) IS
    'Trips between two drawn areas from since to until: low is certain, high is possible, and estimate takes of every row its share of areas and time. exact: low by estimate. reading: even spreads rows over the ground of their zones, fitted and prior by weights, auto as the manifest of each release says. segment: rows of one segment. days: working, saturday, sunday_holiday, or monday to sunday. clock: a span of the local clock such as 07:00-09:00. month: 2026-03 in place of since and until; without any of them, all that is published.';

CREATE FUNCTION odanon.matrix(areas regclass, id_column name DEFAULT 'name', geometry_column name DEFAULT 'geometry', since timestamptz DEFAULT NULL,
                              until timestamptz DEFAULT NULL, product text DEFAULT NULL, reading text DEFAULT 'auto',
                              segment text DEFAULT NULL, days text DEFAULT NULL, clock text DEFAULT NULL, month text DEFAULT NULL)
RETURNS TABLE (origin text, destination text, low double precision, estimate double precision, high double precision,
               exact double precision)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    chosen text := odanon.the_product(matrix.product);
    span timestamptz[] := odanon.span(chosen, matrix.since, matrix.until, matrix.month);
    names text[]; shapes geometry[];
BEGIN
    EXECUTE format('SELECT array_agg(a.%1$I::text), array_agg(a.%2$I) FROM %3$s a', id_column, geometry_column, areas)
    INTO names, shapes;
    RETURN QUERY
    SELECT a.origin, a.destination, a.low, a.estimate, a.high, odanon.exact_share(a.low, a.estimate)
    FROM odanon.answers(chosen, span, matrix.days, matrix.clock, matrix.segment, matrix.reading, 'even',
                        names, shapes, names, shapes) a;
END $$;
COMMENT ON FUNCTION odanon.matrix(regclass, name, name, timestamptz, timestamptz, text, text, text, text, text, text) IS
    'Trips between all pairs of polygons of a table, as odanon.flow tells them; name its id and geometry columns.';

CREATE FUNCTION odanon.profile(origin geometry, destination geometry, since timestamptz DEFAULT NULL, until timestamptz DEFAULT NULL,
                               step interval DEFAULT '1 hour', product text DEFAULT NULL, reading text DEFAULT 'auto',
                               along text DEFAULT 'even', segment text DEFAULT NULL, days text DEFAULT NULL,
                               clock text DEFAULT NULL, month text DEFAULT NULL)
RETURNS TABLE (time_start timestamptz, time_end timestamptz, low double precision, estimate double precision,
               high double precision, exact double precision, spread_over_hours double precision)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    chosen text := odanon.the_product(profile.product);
    edges timestamptz[] := odanon.steps(chosen, odanon.span(chosen, profile.since, profile.until, profile.month), profile.step);
BEGIN
    RETURN QUERY
    SELECT edges[s.step], edges[s.step + 1], coalesce(a.low, 0), coalesce(a.estimate, 0), coalesce(a.high, 0),
           odanon.exact_share(a.low, a.estimate), a.hours / nullif(a.high, 0)
    FROM (
        SELECT DISTINCT n AS step
        FROM odanon.asked(chosen, edges[1], edges[cardinality(edges)], profile.days, profile.clock) p
        CROSS JOIN LATERAL generate_series(
            width_bucket(greatest(p.at + (p.opens - p.starts) * interval '1 second', edges[1]), edges),
            width_bucket(least(p.at + (p.closes - p.starts) * interval '1 second', edges[cardinality(edges)]) - interval '1 microsecond', edges)) n
    ) s LEFT JOIN odanon.answers(
        chosen, edges, profile.days, profile.clock, profile.segment, profile.reading, profile.along,
        ARRAY['origin'], ARRAY[profile.origin], ARRAY['destination'], ARRAY[profile.destination]) a ON a.step = s.step
    ORDER BY s.step;
END $$;
COMMENT ON FUNCTION odanon.profile(geometry, geometry, timestamptz, timestamptz, interval, text, text, text, text, text, text, text) IS
    'Trips between two drawn areas in every step of the local clock of which something is published, as odanon.flow tells them. spread_over_hours: mean length of the rows behind high; where it is longer than the step, the estimate spreads them over their time. along: even, or surroundings, by which flows of several time bins follow what is published of their areas.';
