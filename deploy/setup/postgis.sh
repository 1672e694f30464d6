#!/usr/bin/env bash
# Make sure that the tests can start a private PostGIS: a given server, local binaries, or a container engine.
set -euo pipefail
source "$(dirname "$0")/packages.sh"

has_postgis() {
    local initdb
    for initdb in /usr/lib/postgresql/*/bin/initdb; do
        local version; version=$(basename "$(dirname "$(dirname "$initdb")")")
        [ -x "$initdb" ] && [ -e "/usr/share/postgresql/$version/extension/postgis.control" ] && return 0
    done
    return 1
}

[ -n "${ODANON_TEST_DSN:-}" ] && exit 0
has_postgis && exit 0
if install_packages postgresql postgresql-postgis && has_postgis; then exit 0; fi
if docker info >/dev/null 2>&1; then exit 0; fi
echo "The database tests need PostGIS: run 'apt-get install postgresql postgresql-postgis', or set ODANON_TEST_DSN to a test database." >&2
exit 1
