-- The users of a deployment and Dagster's own database, after `odanon db init`; safe to repeat, also to change passwords.
--
--   psql -v secrets=/run/secrets -f users.sql        (as superuser, connected to the database of odanon)
--
-- One file per password lies in the folder `secrets`, named as below.
\set ON_ERROR_STOP on
\set publisher_password `cat :'secrets'/publisher_password`
\set steward_password `cat :'secrets'/steward_password`
\set reader_password `cat :'secrets'/reader_password`
\set backup_password `cat :'secrets'/backup_password`
\set dagster_password `cat :'secrets'/dagster_password`

-- Passwords travel in statements: keep these out of the server's log.
SET log_statement = 'none';
SET log_min_duration_statement = -1;
SET log_min_error_statement = 'panic';
SET client_min_messages = 'warning';

SELECT format('CREATE ROLE %I LOGIN', wanted)
FROM unnest(ARRAY['odanon_app', 'odanon_steward', 'odanon_explorer', 'odanon_backup', 'dagster']) wanted
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted)
\gexec

ALTER ROLE odanon_app LOGIN PASSWORD :'publisher_password';
ALTER ROLE odanon_steward LOGIN PASSWORD :'steward_password';
ALTER ROLE odanon_explorer LOGIN PASSWORD :'reader_password' CONNECTION LIMIT 32;
ALTER ROLE odanon_backup LOGIN PASSWORD :'backup_password';
ALTER ROLE dagster LOGIN PASSWORD :'dagster_password';

-- Runs publish; the steward purges and supersedes; the explorer sees what readers see; the backup reads.
GRANT odanon_publisher TO odanon_app;
GRANT odanon_admin TO odanon_steward;
GRANT odanon_reader TO odanon_explorer;
GRANT pg_read_all_data TO odanon_backup;

SELECT 'CREATE DATABASE dagster OWNER dagster'
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'dagster')
\gexec

-- Nobody else connects to either database.
REVOKE ALL ON DATABASE dagster FROM PUBLIC;
GRANT CONNECT ON DATABASE dagster TO odanon_backup;
SELECT format('REVOKE CONNECT ON DATABASE %I FROM PUBLIC', current_database())
\gexec
SELECT format('GRANT CONNECT ON DATABASE %I TO odanon_reader, odanon_publisher, odanon_admin, odanon_backup', current_database())
\gexec
