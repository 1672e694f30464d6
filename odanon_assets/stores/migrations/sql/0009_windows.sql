-- Windows longer than a day (docs/architecture.md, The way of a window).
CREATE VIEW published.bins AS
SELECT r.product, r.window_start, r.release_id, (b.bin ->> 'time_bin')::timestamptz AS time_bin,
       b.bin ->> 'day_type' AS day_type, b.bin ->> 'since' AS since, b.bin ->> 'until' AS until,
       (b.bin ->> 'days')::integer AS days
FROM published.releases r CROSS JOIN LATERAL jsonb_array_elements(r.manifest -> 'bins') AS b(bin);
COMMENT ON VIEW published.bins IS
    'Time bins of windows longer than a day: a span of the clock on days of one type, and how many days are behind it.';

CREATE VIEW published.daily_means AS
SELECT f.product, f.window_start, f.time_bin, b.day_type, b.since, b.until, b.days, f.segment, f.origin_zone,
       f.destination_zone, f.kind, f.trips, f.trips / b.days::double precision AS trips_per_day, f.release_id
FROM published.flows f JOIN published.bins b USING (release_id, time_bin) WHERE b.days > 0;
COMMENT ON VIEW published.daily_means IS 'Flows of windows longer than a day with their mean over the days of their time bin.';

DO $$
DECLARE
    rel text; col text;
    said constant jsonb := '{
        "product": "Name of the data product.",
        "window_start": "First local day of the window.",
        "release_id": "Name of the release.",
        "time_bin": "First instant of the time bin, which names it.",
        "day_type": "Days that the bin is of: all; working, saturday or sunday_holiday; or a day of the week.",
        "since": "Local clock time from which the bin lasts on each of its days.",
        "until": "Local clock time until which it does.",
        "days": "Days of the window whose trips are in the bin.",
        "segment": "Segment of the people; all where there are none.",
        "origin_zone": "Zone in which the trips start.",
        "destination_zone": "Zone in which the trips end.",
        "kind": "flow, or rest: the trips between its zones that no finer row counts.",
        "trips": "Trips of the row over the whole window.",
        "trips_per_day": "Trips of the row over the days of its time bin."}';
BEGIN
    FOREACH rel IN ARRAY ARRAY['bins', 'daily_means'] LOOP
        FOR col IN SELECT attname FROM pg_attribute WHERE attrelid = ('published.' || rel)::regclass AND attnum > 0 LOOP
            EXECUTE format('COMMENT ON COLUMN published.%I.%I IS %L', rel, col, said ->> col);
        END LOOP;
    END LOOP;
END $$;

-- A time bin starts in its window, which may have begun a month before: functions looked two days back.
DO $$
DECLARE
    made text;
BEGIN
    FOR made IN
        SELECT pg_get_functiondef(p.oid) FROM pg_proc p
        WHERE p.pronamespace = 'odanon'::regnamespace AND p.prosrc LIKE '%::date - 2 AND%'
    LOOP
        EXECUTE replace(made, '::date - 2 AND', '::date - 33 AND');
    END LOOP;
END $$;
