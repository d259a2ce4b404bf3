#!/usr/bin/env bash
# Builds the container image `onesided`, also tagged with its version.
#
#     packages/container/build.sh [--engine COMMAND] [--prefix PREFIX] [-- OPTION...]
#
#     podman run --rm -v "$PWD:/work" onesided rmarun -n 4 python3 app.py
#
# Ranks share an unnamed memory file, so a small /dev/shm (--shm-size) does not matter; the memory limit does.
# COMMAND is podman, docker or buildah; without it, the first that exists. PREFIX has what the installer has put there;
# without it, the installer runs first. The options are those of the engine's build: `--build-arg BASE=IMAGE` takes another
# Debian, not older than that of PREFIX.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
fail() { echo "build.sh: $*" >&2; exit 1; }
prefix='' engine='' found=''
while [ $# -gt 0 ]; do
  case "$1" in
    --engine | --prefix) [ $# -ge 2 ] || fail "$1 needs a value"; declare "${1#--}=$2"; shift 2 ;;
    --) shift; break ;;
    *) fail "'$1' is no option; usage: build.sh [--engine COMMAND] [--prefix PREFIX] [-- OPTION...]" ;;
  esac
done
for command in ${engine:-podman docker buildah}; do
  found=$(command -v "$command" || true)
  [ -z "$found" ] || break
done
[ -n "$found" ] || fail "${engine:-podman, docker or buildah} is not installed"
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
package=$("$here/../deb/build.sh" --out "$context" ${prefix:+--prefix "$prefix"} | tail -n 1)
version=$(dpkg-deb --field "$package" Version)
mv "$package" "$context/onesided.deb"
"$found" build --file "$here/Containerfile" --tag onesided --tag "onesided:$version" "$@" "$context"
