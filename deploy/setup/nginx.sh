#!/usr/bin/env bash
# Unpack nginx into FOLDER for the tests of the proxy, without installing or starting it: nginx.sh FOLDER
# Where that is not possible these tests say so and are skipped.
set -euo pipefail
folder=$1

command -v nginx >/dev/null && exit 0
[ -x "$folder/usr/sbin/nginx" ] && exit 0
command -v apt-get >/dev/null || exit 0
mkdir -p "$folder"
cd "$folder"
apt-get download -qq nginx >/dev/null 2>&1 || exit 0
dpkg --extract nginx_*.deb .
rm nginx_*.deb
