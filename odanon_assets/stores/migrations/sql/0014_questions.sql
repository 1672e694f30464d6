-- Questions that cannot be meant are refused, and bounds hold for large zones and small areas (docs/algorithms.md, Bounds).
CREATE OR REPLACE FUNCTION odanon.the_product(name text) RETURNS text LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    chosen text := coalesce(name, nullif(current_setting('odanon.product', true), ''));
    known text[];
BEGIN
    IF name IS NOT NULL AND NOT EXISTS (SELECT FROM published.windows w WHERE w.product = name) THEN
        RAISE EXCEPTION 'there is no published product of this name; the table windows lists them'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
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
COMMENT ON FUNCTION odanon.the_product(text) IS
    'The named product, of which something must have been published, that of the setting odanon.product, or the only one.';

CREATE OR REPLACE FUNCTION odanon.matrix(areas regclass, id_column name DEFAULT 'name', geometry_column name DEFAULT 'geometry', since timestamptz DEFAULT NULL,
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
    IF cardinality(names) > (SELECT count(DISTINCT n) FROM unnest(names) n) THEN
        RAISE EXCEPTION 'two drawn areas have the same name; give every area its own' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    SELECT a.origin, a.destination, a.low, a.estimate, a.high, odanon.exact_share(a.low, a.estimate)
    FROM odanon.answers(chosen, span, matrix.days, matrix.clock, matrix.segment, matrix.reading, 'even',
                        names, shapes, names, shapes) a;
END $$;

-- Whether shapes in degrees are wider than what rounding leaves along a border, about ten micrometres.
CREATE FUNCTION odanon.is_ground(piece geometry) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ST_Area(p.shape) > 1e-10 * ST_Perimeter(p.shape) FROM ST_CollectionExtract(piece, 3) AS p (shape)
$$;
COMMENT ON FUNCTION odanon.is_ground(geometry) IS 'Whether a shape in degrees is more than what rounding leaves along a border.';

-- Comparing outlines is what questions cost most: those of other releases are left alone, and of long ones only what is near is compared.
-- Clipping may leave rings that touch themselves along the box, which is a little larger than the area: none of that is inside.
-- Ground cannot tell whether a zone has some outside: edges are straight in degrees, and a corner in the middle of one moves it in
-- another projection, which weighs more than a place that a large zone has outside.
CREATE OR REPLACE FUNCTION odanon.zone_shares(area geometry, releases integer[] DEFAULT NULL) RETURNS TABLE (zone_no integer, share double precision)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 100 AS $$
#variable_conflict use_column
DECLARE
    drawn geometry := odanon.drawn(area);
    near geometry := ST_Expand(ST_Envelope(drawn), 1e-6);
BEGIN
    RETURN QUERY
    SELECT inside.zone_no, inside.share
    FROM (
        SELECT met.zone_no,
               CASE WHEN met.part IS NULL THEN 1
                    WHEN ST_Area(met.part) > 0.99 * ST_Area(met.geometry) AND NOT odanon.is_ground(ST_Difference(met.geometry, drawn)) THEN 1
                    ELSE greatest(least(ST_Area(ST_Transform(met.part, 6933)) / nullif(met.ground_m2, 0), 1 - 2e-9),
                                  CASE WHEN odanon.is_ground(met.part) THEN 2e-9 END)
               END AS share
        FROM (
            SELECT z.zone_no, z.geometry, z.ground_m2,
                   CASE WHEN NOT ST_Covers(drawn, z.geometry)
                        THEN ST_Intersection(drawn, CASE WHEN ST_NPoints(z.geometry) > 100 THEN ST_ClipByBox2D(z.geometry, near)
                                                    ELSE z.geometry END)
                   END AS part
            FROM published.zone z
            WHERE ST_Intersects(z.geometry, drawn)
              -- Not EXISTS, which may be read as a join with all zones of all releases.
              AND (releases IS NULL OR (SELECT true FROM published.release_zone r
                                        WHERE r.zone_no = z.zone_no AND r.release_no = ANY (releases) LIMIT 1))
            OFFSET 0  -- or the part is worked out again wherever it is named
        ) met
        OFFSET 0  -- or the share is worked out twice, for the condition and for the answer
    ) inside
    WHERE inside.share > 0;
END $$;
