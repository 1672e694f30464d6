#!/usr/bin/env bash
# Make sure that the Spark tests find Java 17 or newer.
set -euo pipefail
source "$(dirname "$0")/packages.sh"

has_java() { java -version 2>&1 | grep -qE 'version "(1[7-9]|[2-9][0-9])'; }

has_java && exit 0
if install_packages openjdk-17-jre-headless || install_packages default-jre-headless; then has_java && exit 0; fi
echo "The Spark tests need Java 17 or newer: run 'apt-get install openjdk-17-jre-headless'." >&2
exit 1
