#!/usr/bin/env bash
# Take out of an environment what no run of odanon reads: slim.sh FOLDER
#
# Tests of packages, headers, sources of compiled modules, symbols, maps for debugging the web interface, and parts of
# Arrow that nothing here imports.
set -euo pipefail
cd "$1"/lib/python3*/site-packages

find . -depth -type d \( -name tests -o -name include \) ! -path './odanon*' -exec rm -rf {} +
find . -type f \( -name '*.map' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.[cha]' -o -name '*.cpp' \) -delete
rm -rf pyarrow/src pyarrow/*flight* pyarrow/*_s3* pyarrow/_azurefs* pyarrow/_gcsfs* pyarrow/_hdfs*
# Not those whose wheels were patched (*.libs and what loads from there): stripped, they no longer load.
strip --strip-unneeded llvmlite/binding/libllvmlite.so pyarrow/*.so* uvloop/*.so
# Three copies of one library under its three names.
for copy in pyarrow/libarrow_python.so pyarrow/libarrow_python.so.*; do
    real=$(find pyarrow -name 'libarrow_python.so.*.*.*' -print -quit)
    [ "$copy" = "$real" ] || ln -sf "$(basename "$real")" "$copy"
done
