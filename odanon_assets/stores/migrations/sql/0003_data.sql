ALTER TABLE published.release ADD COLUMN data_sha256 text;
COMMENT ON COLUMN published.release.data_sha256 IS
    'Digest that names the data behind the release; the auditor compares releases that have the same one.';
UPDATE published.release SET data_sha256 = manifest::jsonb ->> 'data_sha256';
CREATE INDEX release_by_data ON published.release (data_sha256, window_start);
COMMENT ON COLUMN published.flow.segment IS
    'Part of the population; all: everybody, in a flow that is not split. Adding up all segments counts each trip once.';
