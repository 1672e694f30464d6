-- Neighbours whose outlines overlap by less than two millimetres have no ground in common (docs/algorithms.md, Tolerance).
CREATE OR REPLACE FUNCTION odanon.is_ground(piece geometry) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ST_Area(p.shape) > 1e-8 * ST_Perimeter(p.shape) FROM ST_CollectionExtract(piece, 3) AS p (shape)
$$;

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
                    WHEN odanon.is_ground(met.part)
                    THEN greatest(least(ST_Area(ST_Transform(met.part, 6933)) / nullif(met.ground_m2, 0), 1 - 2e-9), 2e-9)
                    ELSE 0
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
