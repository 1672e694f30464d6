#!/usr/bin/env bash
# Make sure that the tests can build images without a container engine: buildah, and debootstrap for the base.
# Where that is not possible these tests say so and are skipped.
set -euo pipefail
source "$(dirname "$0")/packages.sh"

has_both() { command -v buildah >/dev/null && PATH=$PATH:/usr/sbin command -v debootstrap >/dev/null; }

has_both || install_packages buildah debootstrap || true
