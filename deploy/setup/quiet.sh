#!/usr/bin/env bash
# Run a command; show what it printed, and then SENTENCE, only when it fails: quiet.sh SENTENCE COMMAND...
set -euo pipefail
sentence=$1
shift

status=0
output=$("$@" 2>&1) || status=$?
[ "$status" -eq 0 ] && exit 0
printf '%s\n' "$output" "$sentence" >&2
exit "$status"
