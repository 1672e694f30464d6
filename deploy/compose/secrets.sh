#!/usr/bin/env bash
# Write the secrets of a new deployment: secrets.sh [FOLDER [LOGIN]]
#
# Files that exist are left alone, so that the script can be repeated; delete one to have it written again. The folder
# is closed to others (0700); the files in it are readable, because each container reads its own under another user.
set -euo pipefail
folder=${1:-$(dirname "$0")/secrets} login=${2:-admin}

umask 077
mkdir -p "$folder"
chmod 700 "$folder"

write() { # write NAME COMMAND ...: the command's output becomes the file, in one step
    local target=$folder/$1
    shift
    [ -e "$target" ] && return
    "$@" >"$target.new"
    chmod 444 "$target.new"
    mv "$target.new" "$target"
}

for name in postgres publisher steward reader backup dagster; do
    write "${name}_password" openssl rand -hex 24
done
write pseudonym_key openssl rand -hex 32

# The login of the web interface: one line per person, `NAME:$(openssl passwd -6)`.
if [ ! -e "$folder/htpasswd" ]; then
    password=$(openssl rand -base64 18)
    write htpasswd printf '%s:%s\n' "$login" "$(openssl passwd -6 -stdin <<<"$password")"
    echo "The login of the web interface is '$login' with the password '$password'; it is shown only now."
fi

# A certificate of our own until there is a real one; browsers will ask.
if [ ! -e "$folder/tls_certificate" ]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj "/CN=odanon" \
        -keyout "$folder/tls_key" -out "$folder/tls_certificate" 2>/dev/null
    chmod 444 "$folder/tls_key" "$folder/tls_certificate"
fi
echo "Secrets are in $folder; keep a copy of pseudonym_key outside every backup of the data."
