#!/usr/bin/env bash
# Make sure that the tests of the reports find a browser: CHROMIUM, or Chromium or Chrome on the PATH.
set -euo pipefail
source "$(dirname "$0")/packages.sh"

# Ask for the version: Ubuntu's chromium-browser may be a stub that only says to install a snap.
works() { "$1" --version >/dev/null 2>&1; }

if [ -n "${CHROMIUM:-}" ]; then
    works "$CHROMIUM" && exit 0
    echo "CHROMIUM is $CHROMIUM, which does not start; set it to the path of Chromium or Chrome, or unset it." >&2
    exit 1
fi
has_browser() {
    local name
    for name in chromium chromium-browser google-chrome; do works "$name" && return 0; done
    return 1
}

has_browser && exit 0
if install_packages chromium && has_browser; then exit 0; fi
echo "The tests of the reports need a browser: run 'apt-get install chromium', or set CHROMIUM to the path of Chromium or Chrome." >&2
exit 1
