ALTER TABLE published.release ADD COLUMN withdrawn boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN published.release.withdrawn IS 'True once the release was taken back; what it said stays known to the auditor.';
COMMENT ON COLUMN published.release.report IS 'The HTML report; null once the release is withdrawn or purged.';
COMMENT ON COLUMN published.release_window.purged IS
    'True once the tables of the window were deleted. It stays closed, unless its release was withdrawn and a corrected one takes its place.';

ALTER TABLE work.audit_log DROP CONSTRAINT audit_log_act_check;
ALTER TABLE work.audit_log ADD CONSTRAINT audit_log_act_check
    CHECK (act IN ('publish', 'supersede', 'withdraw', 'purge'));
COMMENT ON COLUMN work.audit_log.act IS 'publish, supersede, withdraw or purge.';
COMMENT ON COLUMN work.audit_log.release_id IS 'The release that was published, withdrawn or purged.';
COMMENT ON COLUMN work.audit_log.by_name IS 'Who answers for a supersede, withdraw or purge.';

CREATE VIEW published.windows AS
SELECT w.product, w.window_start,
       CASE WHEN NOT w.purged THEN 'published' WHEN r.withdrawn THEN 'withdrawn' ELSE 'purged' END AS status,
       r.release_id
FROM published.release_window w JOIN published.release r USING (release_no);
COMMENT ON VIEW published.windows IS
    'What became of every window: published, withdrawn or purged, with the release that it shows or showed last.';

CREATE VIEW published.reports AS
SELECT r.release_id, r.product, r.window_start, r.report
FROM published.release r JOIN published.release_window w USING (release_no) WHERE NOT w.purged;
COMMENT ON VIEW published.reports IS 'The HTML reports of visible releases; `odanon report` saves or opens one.';

COMMENT ON COLUMN published.windows.product IS 'Name of the data product.';
COMMENT ON COLUMN published.windows.window_start IS 'First local day of the window.';
COMMENT ON COLUMN published.windows.status IS 'published, withdrawn or purged.';
COMMENT ON COLUMN published.windows.release_id IS 'Name of the release that the window shows or showed last.';
COMMENT ON COLUMN published.reports.release_id IS 'Name of the release.';
COMMENT ON COLUMN published.reports.product IS 'Name of the data product.';
COMMENT ON COLUMN published.reports.window_start IS 'First local day of the window.';
COMMENT ON COLUMN published.reports.report IS 'The HTML report.';
