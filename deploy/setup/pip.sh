#!/usr/bin/env bash
# pip install into a virtual environment, showing what pip says only when it fails: pip.sh FOLDER ARGUMENT...
set -euo pipefail
venv=$1
shift

# No input: a question that nobody sees would wait for ever.
"$(dirname "$0")/quiet.sh" \
    "pip could not install these versions into $venv and says why above. Without a way to PyPI set HTTPS_PROXY or PIP_INDEX_URL; then run the same command again." \
    "$venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check "$@"
