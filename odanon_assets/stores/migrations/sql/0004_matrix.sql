-- Estimates of how many rows functions return are far off, so that the compiler would take longer than the query.
CREATE OR REPLACE FUNCTION odanon.matrix(areas regclass, id_column name, geometry_column name, since timestamptz,
                                         until timestamptz, product text DEFAULT NULL)
RETURNS TABLE (origin text, destination text, trips double precision)
LANGUAGE plpgsql STABLE SET jit = off SET work_mem = '64MB' AS $$
BEGIN
    RETURN QUERY EXECUTE format($query$
        WITH shares AS MATERIALIZED (
            SELECT a.%1$I::text AS area, s.zone_no, s.share
            FROM %3$s a CROSS JOIN LATERAL odanon.zone_shares(a.%2$I) s
        ), inside AS MATERIALIZED (
            SELECT DISTINCT zone_no FROM shares
        ), volume AS MATERIALIZED (
            SELECT f.origin_no, f.destination_no, sum(f.trips)::double precision AS trips
            FROM published.visible_flow f
            WHERE f.product = $3 AND f.time_bin >= $1 AND f.time_bin < $2
              AND f.window_start BETWEEN $1::date - 2 AND $2::date + 2
              AND f.origin_no = ANY (ARRAY(SELECT zone_no FROM inside))
              AND f.destination_no IN (SELECT zone_no FROM inside)
            GROUP BY f.origin_no, f.destination_no
        )
        SELECT o.area, d.area, sum(v.trips * o.share * d.share)
        FROM volume v JOIN shares o ON o.zone_no = v.origin_no JOIN shares d ON d.zone_no = v.destination_no
        GROUP BY o.area, d.area$query$, id_column, geometry_column, areas)
    USING since, until, odanon.the_product(matrix.product);
END $$;
