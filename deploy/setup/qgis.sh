#!/usr/bin/env bash
# Make sure that the tests of maps find QGIS and its Python, without a desktop.
# Where that is not possible these tests say so and are skipped.
set -euo pipefail
source "$(dirname "$0")/packages.sh"

has_qgis() { env -u PYTHONPATH /usr/bin/python3 -c 'import qgis.core' 2>/dev/null; }

has_qgis || install_packages python3-qgis || true
