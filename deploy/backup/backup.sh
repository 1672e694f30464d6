#!/usr/bin/env bash
# Back up what was published and what Dagster knows of it: backup.sh FOLDER
#
# Writes FOLDER/odanon-<UTC time>/ with the databases `odanon` and `dagster` (pg_dump, custom format), the published
# folder of the embedded store, and SHA256SUMS, which is written last. The server is named by PGHOST, PGPORT, PGUSER and
# PGPASSWORD (or ~/.pgpass), the data root by ODANON_ROOT.
#
# Left out on purpose: traces and everything under work/ but the receipts of publication, the tables of the schema `raw`,
# and every key. Whoever holds a backup holds nothing about a person.
set -euo pipefail
target=${1:?backup.sh FOLDER: name the folder for backups} keep=${ODANON_BACKUP_KEEP:-14}
root=${ODANON_ROOT:?ODANON_ROOT: name the data root}

umask 077
name=odanon-$(date -u +%Y%m%dT%H%M%SZ)
draft=$target/.$name
mkdir -p "$target"
mkdir "$draft"
trap 'rm -rf "$draft"' EXIT

pg_dump --format=custom --exclude-table-data='raw.*' --file="$draft/odanon.dump" odanon
pg_dump --format=custom --file="$draft/dagster.dump" dagster

# After the databases, so that no release in them is missing here; a release itself never changes.
published_files() {
    cd "$root"
    local folder
    for folder in published audit work/*/published; do
        if [ -d "$folder" ]; then find "$folder" -type f -not -path '*/.*' -not -path '*/locks/*' -print0; fi
    done
}
published_files | sort --zero-terminated | tar --create --directory="$root" --null --files-from=- --file="$draft/files.tar"

(cd "$draft" && sha256sum -- * >SHA256SUMS)
sync "$draft"/*
mv "$draft" "$target/$name"
trap - EXIT

# The newest stay.
find "$target" -maxdepth 1 -type d -name 'odanon-*Z' | sort | head --lines="-$keep" | xargs --no-run-if-empty rm -rf --
echo "$target/$name"
