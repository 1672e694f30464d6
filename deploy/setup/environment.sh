#!/usr/bin/env bash
# Create a virtual environment with odanon and the locked versions: environment.sh FOLDER [PYTHON]
set -euo pipefail
venv=$1

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
# Debian's own Python is built with profile-guided optimisation; one built at home often is not, and a sixth slower.
python=${2:-}
for each in ${python:-/usr/bin/python3 python3}; do
    if new_enough "$each"; then python=$each && break; fi
done
if ! new_enough "${python:=python3}"; then
    echo "odanon needs Python 3.11 or newer and $python is $("$python" -V 2>&1 || echo missing); install one and name it: make ... PYTHON=python3.x" >&2
    exit 1
fi

# Debian splits venv from python3; install it when we may, say so otherwise.
if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    package="python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
    source "$(dirname "$0")/packages.sh"
    install_packages "$package" || { echo "Python's venv module is missing; run: apt-get install $package" >&2; exit 1; }
fi

echo "Creating $venv and installing the locked versions (a few minutes the first time) ..."
# An interrupted first try leaves a Python without pip; venv then completes it.
"$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$python" -m venv "$venv"
"$(dirname "$0")/pip.sh" "$venv" -c requirements.lock -e '.[dev]'
