#!/usr/bin/env bash
# Bring a backup back onto a server without these databases: restore.sh FOLDER/odanon-<time>
#
# Nothing that exists is overwritten: an existing database or a filled published folder stops it. The server is named by
# PGHOST, PGPORT, PGUSER (a superuser) and PGPASSWORD, the data root by ODANON_ROOT. Afterwards: `odanon db init`,
# users.sql, `odanon db check`, and start the services.
set -euo pipefail
source=${1:?restore.sh BACKUP: name the folder of one backup}
root=${ODANON_ROOT:?ODANON_ROOT: name the data root}

stop() {
    echo "restore.sh: $1" >&2
    exit 1
}

ask() { psql --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 --dbname=postgres "$@"; }

(cd "$source" && sha256sum --check --strict --quiet SHA256SUMS) ||
    stop "$source is damaged or incomplete; take another backup"
existing=$(ask --command="SELECT string_agg(datname, ' and ') FROM pg_database WHERE datname IN ('odanon', 'dagster')")
[ -z "$existing" ] || stop "the server has a database $existing already; rename or drop it first"
if [ -d "$root/published" ] && [ -n "$(ls -A "$root/published")" ]; then
    stop "$root/published is not empty; move it away first"
fi

# The roles that the grants in the dump name; users and passwords come from users.sql.
ask <<'SQL'
SELECT format('CREATE ROLE %I', wanted)
FROM unnest(ARRAY['odanon_reader', 'odanon_publisher', 'odanon_admin', 'dagster']) wanted
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted)
\gexec
CREATE DATABASE odanon;
CREATE DATABASE dagster OWNER dagster;
SQL
pg_restore --exit-on-error --no-owner --dbname=odanon "$source/odanon.dump"
pg_restore --exit-on-error --no-owner --no-privileges --role=dagster --dbname=dagster "$source/dagster.dump"

mkdir -p "$root"
tar --extract --directory="$root" --file="$source/files.tar"
echo "restored from $source; now run 'odanon db init', users.sql and 'odanon db check'"
