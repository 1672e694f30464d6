#!/usr/bin/env bash
# Build the image of this commit: build.sh [runtime|spark [OPTION...]], with docker or, as ENGINE says, podman or buildah.
#
# Options go to the engine. The image is odanon:VERSION-COMMIT (odanon-spark:... for Spark), and odanon:VERSION until the
# next one; a label names the whole commit. A tree with changes that are not committed says so. The last line is the tag.
set -euo pipefail
target=${1:-runtime} engine=${ENGINE:-docker}
shift || true
cd "$(dirname "$0")/../.."

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
commit=$(git rev-parse HEAD) changed=""
[ -z "$(git status --porcelain)" ] || changed=-changed
name=odanon
[ "$target" = runtime ] || name=odanon-$target

build=("$engine" build)
[ "$engine" = docker ] || build+=(--layers --format docker --ignorefile deploy/docker/Dockerfile.dockerignore)
"${build[@]}" --file deploy/docker/Dockerfile --target "$target" \
    --build-arg "COMMIT=$commit$changed" --build-arg "VERSION=$version" \
    --tag "$name:$version-${commit:0:12}$changed" --tag "$name:$version" "$@" . >&2
echo "$name:$version-${commit:0:12}$changed"
