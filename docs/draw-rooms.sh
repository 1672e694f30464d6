#!/usr/bin/env bash
# Draw who imports whom: draw-rooms.sh BIN FOLDER writes library.svg and location.svg (docs/architecture.md shows them).
set -euo pipefail
bin=$1 out=$2

if ! command -v dot >/dev/null; then
    echo "drawing needs graphviz; run: apt-get install graphviz" >&2
    exit 1
fi
mkdir -p "$out"
style='rankdir=LR; ranksep=0.6; nodesep=0.15; node [fontname=helvetica, shape=box, style=rounded, fontsize=11, height=0.3, margin="0.08,0.03"]; edge [color="#777777", arrowsize=0.6]'
draw() { # package, file; everybody imports errors and plugin, and implied arrows say nothing new
    "$bin/import-linter" drawgraph "$1" --show-module-counts --show-cycle-breakers |
        grep -vE '"\.(errors|plugin)"' | sed "s/node \[fontname=helvetica\]/$style/" | tred 2>/dev/null | dot -Tsvg >"$out/$2"
}
draw odanon library.svg
draw odanon_assets location.svg
