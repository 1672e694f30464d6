#!/usr/bin/env bash
# Make sure that the test of the guide for analysts finds R with what its examples need.
# Where that is not possible the test says so and is skipped.
set -euo pipefail
source "$(dirname "$0")/packages.sh"

has_r() { command -v Rscript >/dev/null && Rscript -e 'library(sf); library(RPostgreSQL)' >/dev/null 2>&1; }

has_r || install_packages r-base-core r-cran-sf r-cran-dbi r-cran-rpostgresql || true
