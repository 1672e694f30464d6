CREATE VIEW published.visible_flow AS
SELECT w.product, f.window_start, f.release_no, f.time_bin, f.segment, f.origin_no, f.destination_no, f.trips,
       f.persons_band
FROM published.flow f JOIN published.release_window w USING (release_no) WHERE NOT w.purged;
COMMENT ON VIEW published.visible_flow IS 'Flows of visible releases with the numbers of their zones, for functions.';

CREATE VIEW published.flows AS
SELECT r.product, f.window_start, f.time_bin, f.segment, o.zone_id AS origin_zone, d.zone_id AS destination_zone,
       f.trips, f.persons_band, r.release_id
FROM published.flow f
JOIN published.release_window w USING (release_no)
JOIN published.release r USING (release_no)
JOIN published.zone o ON o.zone_no = f.origin_no
JOIN published.zone d ON d.zone_no = f.destination_no
WHERE NOT w.purged;
COMMENT ON VIEW published.flows IS 'Flows of all visible releases, one row a flow.';

CREATE VIEW published.zones AS
SELECT (w.release_no::bigint << 32) + z.zone_no AS zone_key, w.product, r.release_id, z.zone_id, z.hierarchy, z.level,
       z.n_tiles, z.area_km2, z.tiles, z.geometry
FROM published.release_window w
JOIN published.release r USING (release_no)
JOIN published.release_zone m USING (release_no)
JOIN published.zone z USING (zone_no)
WHERE NOT w.purged;
COMMENT ON VIEW published.zones IS 'Zones of all visible releases; a layer for GIS, with zone_key as its key.';

CREATE VIEW published.releases AS
SELECT r.release_id, r.product, r.window_start, r.zoning_version, r.manifest::jsonb AS manifest, r.published_at
FROM published.release r JOIN published.release_window w USING (release_no) WHERE NOT w.purged;
COMMENT ON VIEW published.releases IS 'Visible releases with their manifests.';

CREATE VIEW published.metrics AS
SELECT r.product, r.window_start, r.release_id, m.name, m.value
FROM published.metric m JOIN published.release r USING (release_no) JOIN published.release_window w USING (release_no)
WHERE NOT w.purged;
COMMENT ON VIEW published.metrics IS 'Rounded figures of visible releases.';

CREATE VIEW published.desire_lines AS
SELECT concat_ws(':', f.release_no, f.origin_no, f.destination_no) AS line_key, f.product, f.window_start,
       o.zone_id AS origin_zone, d.zone_id AS destination_zone, f.trips,
       ST_MakeLine(ST_PointOnSurface(o.geometry), ST_PointOnSurface(d.geometry))::geometry(LineString, 4326) AS geometry
FROM (
    SELECT product, window_start, release_no, origin_no, destination_no, sum(trips)::bigint AS trips
    FROM published.visible_flow
    WHERE origin_no <> destination_no
    GROUP BY product, window_start, release_no, origin_no, destination_no
) f
JOIN published.zone o ON o.zone_no = f.origin_no
JOIN published.zone d ON d.zone_no = f.destination_no;
COMMENT ON VIEW published.desire_lines IS
    'A line for each pair of zones and window; a layer for GIS, with line_key as its key. Filter on window_start.';

CREATE FUNCTION odanon.ensure_product_view(name text) RETURNS void
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
    IF to_regclass(format('published.%I', view_name)) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format($view$
        CREATE VIEW published.%I AS
        SELECT f.window_start, f.time_bin, f.segment, o.zone_id AS origin_zone, o.level AS origin_level,
               d.zone_id AS destination_zone, d.level AS destination_level, f.trips, f.persons_band,
               o.geometry AS origin_geometry, d.geometry AS destination_geometry, r.release_id
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
COMMENT ON FUNCTION odanon.ensure_product_view(text) IS 'Makes the view of one product, named product_<name>.';

CREATE FUNCTION odanon.comment_columns(relation regclass) RETURNS void
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
        "trips": "Number of trips.",
        "persons_band": "Band of the number of people behind the flow.",
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
COMMENT ON FUNCTION odanon.comment_columns(regclass) IS 'Describes the columns of a view.';
SELECT odanon.comment_columns(c.oid::regclass)
FROM pg_class c WHERE c.relnamespace = 'published'::regnamespace AND c.relkind = 'v';

CREATE FUNCTION odanon.drawn(area geometry) RETURNS geometry LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF area IS NULL OR ST_IsEmpty(area) OR GeometryType(area) NOT IN ('POLYGON', 'MULTIPOLYGON') THEN
        RAISE EXCEPTION 'a drawn area is not a polygon; draw polygons only' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF ST_SRID(area) = 0 THEN
        RAISE EXCEPTION 'a drawn area has no SRID; declare one, such as ST_SetSRID(area, 4326)'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN ST_MakeValid(ST_Transform(area, 4326));
END $$;
COMMENT ON FUNCTION odanon.drawn(geometry) IS 'A user''s polygon in EPSG:4326, or an error that says what is wrong.';

CREATE FUNCTION odanon.zone_shares(area geometry) RETURNS TABLE (zone_no integer, share double precision)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 100 AS $$
#variable_conflict use_column
DECLARE
    drawn geometry := odanon.drawn(area);
BEGIN
    RETURN QUERY
    SELECT inside.zone_no, inside.share
    FROM (
        SELECT z.zone_no,
               CASE WHEN ST_Covers(drawn, z.geometry) THEN 1
                    ELSE ST_Area(ST_Transform(ST_Intersection(drawn, z.geometry), 6933)) / nullif(z.ground_m2, 0)
               END AS share
        FROM published.zone z
        WHERE ST_Intersects(z.geometry, drawn)
    ) inside
    WHERE inside.share > 0;
END $$;
COMMENT ON FUNCTION odanon.zone_shares(geometry) IS 'Which share of the ground of each zone lies inside an area.';

CREATE FUNCTION odanon.the_product(name text) RETURNS text LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    known text[];
BEGIN
    SELECT array_agg(DISTINCT product) INTO known FROM published.releases;
    IF name IS NULL AND cardinality(known) > 1 THEN
        RAISE EXCEPTION 'several products are published; name one as the last argument'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN coalesce(name, known[1]);
END $$;
COMMENT ON FUNCTION odanon.the_product(text) IS 'The named product, or the only one.';

CREATE FUNCTION odanon.zone_pairs(origin geometry, destination geometry, name text)
RETURNS TABLE (origin_no integer, destination_no integer, share double precision, first_window date, last_window date)
LANGUAGE sql STABLE ROWS 500 AS $$
    SELECT o.zone_no, d.zone_no, o.share * d.share, min(w.window_start), max(w.window_start)
    FROM odanon.zone_shares(origin) o
    JOIN published.release_zone ro ON ro.zone_no = o.zone_no
    JOIN published.release_window w ON w.release_no = ro.release_no AND NOT w.purged
    JOIN published.release_zone rd ON rd.release_no = ro.release_no
    JOIN odanon.zone_shares(destination) d ON d.zone_no = rd.zone_no
    WHERE w.product = name
    GROUP BY o.zone_no, d.zone_no, o.share, d.share
$$;
COMMENT ON FUNCTION odanon.zone_pairs(geometry, geometry, text) IS
    'Pairs of zones that one release holds together, with the share of a flow between them that two areas take.';

CREATE FUNCTION odanon.flow(origin geometry, destination geometry, since timestamptz, until timestamptz,
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
        SELECT sum(f.trips * p.share)
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
    'Estimated trips between two drawn areas in time bins that start in [since, until): flows are spread evenly over the ground of their zones.';

CREATE FUNCTION odanon.matrix(areas regclass, id_column name, geometry_column name, since timestamptz,
                              until timestamptz, product text DEFAULT NULL)
RETURNS TABLE (origin text, destination text, trips double precision) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY EXECUTE format($query$
        WITH shares AS MATERIALIZED (
            SELECT a.%1$I::text AS area, s.zone_no, s.share
            FROM %3$s a CROSS JOIN LATERAL odanon.zone_shares(a.%2$I) s
        ), volume AS MATERIALIZED (
            SELECT f.origin_no, f.destination_no, sum(f.trips)::double precision AS trips
            FROM published.visible_flow f
            WHERE f.product = $3 AND f.time_bin >= $1 AND f.time_bin < $2
              AND f.window_start BETWEEN $1::date - 2 AND $2::date + 2
              AND f.origin_no = ANY (ARRAY(SELECT zone_no FROM shares))
            GROUP BY f.origin_no, f.destination_no
        )
        SELECT o.area, d.area, sum(v.trips * o.share * d.share)
        FROM volume v JOIN shares o ON o.zone_no = v.origin_no JOIN shares d ON d.zone_no = v.destination_no
        GROUP BY o.area, d.area$query$, id_column, geometry_column, areas)
    USING since, until, odanon.the_product(matrix.product);
END $$;
COMMENT ON FUNCTION odanon.matrix(regclass, name, name, timestamptz, timestamptz, text) IS
    'Estimated trips between all pairs of polygons of a table; name its id and geometry columns.';

CREATE FUNCTION odanon.crosswalk(product_name text, old_version text, new_version text)
RETURNS TABLE (zone text, area text, share double precision) LANGUAGE sql STABLE AS $$
    WITH used AS (
        SELECT DISTINCT r.zoning_version, m.zone_no
        FROM published.releases r
        JOIN published.release_zone m ON m.release_no = (
            SELECT w.release_no FROM published.release_window w
            WHERE w.product = r.product AND w.window_start = r.window_start)
        WHERE r.product = product_name
    ), pieces AS (
        SELECT a.zone_id AS zone, b.zone_id AS area,
               CASE WHEN ST_Covers(b.geometry, a.geometry) THEN 1
                    ELSE ST_Area(ST_Transform(ST_Intersection(a.geometry, b.geometry), 6933)) / nullif(a.ground_m2, 0)
               END AS share
        FROM used ua JOIN published.zone a ON a.zone_no = ua.zone_no AND ua.zoning_version = old_version
        JOIN published.zone b ON ST_Intersects(a.geometry, b.geometry)
        JOIN used ub ON ub.zone_no = b.zone_no AND ub.zoning_version = new_version
    )
    SELECT zone, area, share FROM pieces WHERE share > 0
$$;
COMMENT ON FUNCTION odanon.crosswalk(text, text, text) IS
    'How the zones of one zoning version lie in those of another: the share of each zone inside each area.';
