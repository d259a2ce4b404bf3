#!/usr/bin/env bash
# Builds the Debian package, installs it below a folder, compiles and runs a program with it, and removes it.
#
#     packages/deb/test.sh [PREFIX]     PREFIX: what the installer has installed, instead of a build
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v dpkg-deb >/dev/null; then
  echo "skipped: dpkg-deb does not exist"
  exit
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
package=$("$here/build.sh" --out "$out" ${1:+--prefix "$1"} | tail -n 1)

# dpkg installs it in a folder that has its own list of packages, as any user; glibc is this system's.
system=$out/system
mkdir -p "$system/var/lib/dpkg/info" "$system/var/lib/dpkg/updates"
touch "$system/var/lib/dpkg/status" "$system/var/lib/dpkg/available"
before=$(cd "$system" && find . -path ./var -prune -o -print | sort)
dpkg_here() {
  PATH=$PATH:/usr/sbin:/sbin dpkg --instdir="$system" --admindir="$system/var/lib/dpkg" \
    --log="$out/dpkg.log" --force-not-root --force-depends "$@" >"$out/printed" 2>&1 || { cat "$out/printed"; exit 1; }
}
dpkg_here --install "$package"
dpkg_here --verify onesided

hello=$here/../../capi/tests/c/hello.c
export PATH=$system/usr/bin:$PATH
cd "$out"
rmarun --version
rmacc "$hello" -o hello
rmarun -n 2 --require-join ./hello
if command -v pkg-config >/dev/null; then
  flags=$(PKG_CONFIG_PATH=$system/usr/share/pkgconfig pkg-config --cflags --libs onesided)
  # shellcheck disable=SC2086
  cc "$hello" -o hello $flags
  rmarun -n 2 --require-join ./hello
fi
for page in rmarun rmacc rmacxx; do
  zcat "$system/usr/share/man/man1/$page.1.gz" | grep -q "^\.TH $page 1" || { echo "no page of $page"; exit 1; }
done
# Without MAINTAINER the package has no address that mail could reach.
if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error,warning --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$package"
fi

dpkg_here --purge onesided
left=$(cd "$system" && find . -path ./var -prune -o -print | sort | comm -13 <(echo "$before") -)
[ -z "$left" ] || { echo "left after the removal: $left"; exit 1; }
echo "the Debian package works: $(basename "$package")"
