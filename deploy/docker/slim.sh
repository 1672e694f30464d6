#!/usr/bin/env bash
# Take out of an environment what no run of odanon reads: slim.sh FOLDER. imports.py proves that nothing else went.
set -euo pipefail
cd "$1"/lib/python3*/site-packages

# Tests of packages, and libraries that only these load.
find . -depth -type d \( -name tests -o -path ./joblib/test -o -path ./sqlalchemy/testing -o -path ./alembic/testing \) \
    ! -path './odanon*' -exec rm -rf {} +
find . -type f \( -name '*_tests.*.so' -o -name '_test_*.so' -o -name '_c*test.*.so' \) -delete
rm -f numpy/_core/_simd.*.so
# What only compilers, type checkers and debuggers read: headers, sources of compiled modules, stubs, maps of scripts.
# The stubs of odanon stay: lazy_loader reads them.
find . -depth -type d -name include ! -path './odanon*' -exec rm -rf {} +
find . -type f \( -name '*.map' -o -name '*.py[xi]' -o -name '*.px[di]' -o -name '*.[cha]' -o -name '*.[ch]pp' \
    -o -name '*.tp' -o -name '*.in' \) ! -path './odanon*' -delete
rm -rf pyarrow/src
# Lists of files for pip, which is not there, and of parts for auditors, who read the lock.
rm -rf ./*.dist-info/RECORD ./*.dist-info/sboms
# Parts that nothing here imports: servers and clouds of Arrow, Matrix Market files, pictures and tables to learn from, a
# film of the webserver that dagster.yaml turns off (nux), and the second copy of a page that it has in webapp/build.
rm -rf pyarrow/*flight* pyarrow/*_s3* pyarrow/_azurefs* pyarrow/_gcsfs* pyarrow/_hdfs* scipy/io/_fast_matrix_market/*.so \
    sklearn/datasets/{data,descr,images}/* dagster_webserver/graphiql dagster_webserver/webapp/build/Dagster_world.mp4
rm -f numba/np/ufunc/tbbpool.*.so # asks for a library that is not there
# Symbols. Not of those whose wheels were patched in a way that strip does not follow: they would no longer load.
find . -type f -name '*.so*' ! -path './numpy.libs/*' ! -path './scipy.libs/*' ! -path './numba/np/ufunc/*' \
    -exec strip --strip-unneeded {} +
# One library under several names, or brought by two packages.
for copy in pyarrow/libarrow_python.so pyarrow/libarrow_python.so.*; do
    real=$(find pyarrow -name 'libarrow_python.so.*.*.*' -print -quit)
    [ "$copy" = "$real" ] || ln -sf "$(basename "$real")" "$copy"
done
for copy in scipy.libs/*; do
    ! cmp --silent "$copy" "numpy.libs/${copy#*/}" || ln -sf "../numpy.libs/${copy#*/}" "$copy"
done
