-- What people call the zones: of the zoning or the hierarchy, null in releases that are older, and where nobody says.
-- New columns of views come last, so that views of others over them stay as they are.
ALTER TABLE published.zone ADD COLUMN name text;
COMMENT ON COLUMN published.zone.name IS 'What people call the place; null where nobody says.';

CREATE OR REPLACE VIEW published.zones AS
SELECT (w.release_no::bigint << 32) + z.zone_no AS zone_key, w.product, r.release_id, z.zone_id, z.hierarchy, z.level,
       z.n_tiles, z.area_km2, z.tiles, z.geometry, z.name
FROM published.release_window w
JOIN published.release r USING (release_no)
JOIN published.release_zone m USING (release_no)
JOIN published.zone z USING (zone_no)
WHERE NOT w.purged;
COMMENT ON COLUMN published.zones.name IS 'What people call the place; null where nobody says.';

CREATE OR REPLACE VIEW published.desire_lines AS
SELECT concat_ws(':', f.release_no, f.origin_no, f.destination_no, nullif(f.kind, 'flow')) AS line_key, f.product,
       f.window_start, o.zone_id AS origin_zone, d.zone_id AS destination_zone, f.trips,
       ST_MakeLine(ST_PointOnSurface(o.geometry), ST_PointOnSurface(d.geometry))::geometry(LineString, 4326) AS geometry,
       f.kind, o.name AS origin_name, d.name AS destination_name
FROM (
    SELECT product, window_start, release_no, origin_no, destination_no, kind, sum(trips)::bigint AS trips
    FROM published.visible_flow
    WHERE origin_no <> destination_no
    GROUP BY product, window_start, release_no, origin_no, destination_no, kind
) f
JOIN published.zone o ON o.zone_no = f.origin_no
JOIN published.zone d ON d.zone_no = f.destination_no;

COMMENT ON COLUMN published.desire_lines.origin_name IS 'What people call the origin; null where nobody says.';
COMMENT ON COLUMN published.desire_lines.destination_name IS 'What people call the destination; null where nobody says.';

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
               WHERE attrelid = to_regclass(format('published.%I', view_name)) AND attname = 'destination_name') THEN
        RETURN;
    END IF;
    EXECUTE format($view$
        CREATE OR REPLACE VIEW published.%I AS
        SELECT f.window_start, f.time_start, f.segment, o.zone_id AS origin_zone, o.level AS origin_level,
               d.zone_id AS destination_zone, d.level AS destination_level, f.trips, f.persons_band,
               o.geometry AS origin_geometry, d.geometry AS destination_geometry, r.release_id,
               f.kind, f.spread, f.time_end, o.name AS origin_name, d.name AS destination_name
        FROM published.visible_flow f
        JOIN published.release r USING (release_no)
        JOIN published.zone o ON o.zone_no = f.origin_no
        JOIN published.zone d ON d.zone_no = f.destination_no
        WHERE f.product = %L$view$, view_name, name);
    EXECUTE format('COMMENT ON VIEW published.%I IS %L', view_name,
                   'Flows of the product ' || name || ' with the names and outlines of their zones.');
    EXECUTE format('GRANT SELECT ON published.%I TO odanon_reader, odanon_publisher, odanon_admin', view_name);
    PERFORM odanon.comment_columns(format('published.%I', view_name)::regclass);
    EXECUTE format('COMMENT ON COLUMN published.%I.origin_name IS %L', view_name,
                   'What people call the origin; null where nobody says.');
    EXECUTE format('COMMENT ON COLUMN published.%I.destination_name IS %L', view_name,
                   'What people call the destination; null where nobody says.');
END $$;

SELECT odanon.ensure_product_view(product) FROM (SELECT DISTINCT product FROM published.release) known;
