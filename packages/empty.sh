#!/usr/bin/env bash
# Does what a new user does, on a Debian system that has nothing but Python, a C compiler, or Rust; or builds the
# container image on such a system, and runs C and Python in it.
#
#     packages/empty.sh PREFIX [python] [c] [rust] [container]     without a name: python, c and container
#
# PREFIX: what the installer has installed. Needs root and debootstrap, and loads some 100 MB from Debian's mirror and
# PyPI. The Rust toolchain is this system's, and the crates come from crates.io.
set -euo pipefail
packages=$(cd "$(dirname "$0")" && pwd)
root=$packages/..
prefix=${1:?usage: packages/empty.sh PREFIX [python] [c] [rust] [container]}
kinds=("${@:2}")
[ ${#kinds[@]} -gt 0 ] || kinds=(python c container)
for kind in "${kinds[@]}"; do
  case $kind in python | c | rust | container) ;; *) echo "$kind: python, c, rust and container are known"; exit 2 ;; esac
done
skip() { echo "skipped: $*"; exit; }
[ "$(id -u)" = 0 ] || skip "an empty system needs root"
command -v debootstrap >/dev/null || skip "debootstrap does not exist"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
debootstrap --variant=minbase --include=ca-certificates "$release" "$out/base" >"$out/log" 2>&1 ||
  skip "debootstrap: $(tail -n 1 "$out/log")"

# A command of root in the system, with processes and mounts of its own. /dev/shm is as small as a container's.
system=$out/system
inside() {
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child chroot "$system" /bin/sh -ec \
    'mount -t proc proc /proc; mount -t tmpfs -o size=64m tmpfs /dev/shm; cd /root; . ./environment; exec "$@"' sh "$@"
}
# A new system that reaches the network as this one does.
fresh() {
  rm -rf "$system"
  cp -a "$out/base" "$system"
  cp /etc/resolv.conf "$system/etc/"
  cp /etc/ssl/certs/ca-certificates.crt "$system/etc/ssl/certs/"
  [ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$system/etc/"
  touch "$system/root/environment"
}
# One with these packages of Debian.
begin() {
  fresh
  DEBIAN_FRONTEND=noninteractive inside apt-get install -qq -y --no-install-recommends "$@" >"$out/log" 2>&1 ||
    { cat "$out/log"; exit 1; }
}

python() {
  python3 -m venv "$out/tool"
  "$out/tool/bin/pip" install --quiet --disable-pip-version-check wheel
  "$out/tool/bin/python" "$packages/wheel/build.py" --out "$out/dist" --prefix "$prefix"
  begin python3 python3-venv
  cp "$out"/dist/onesided-*.whl "$root/examples/python/windows.py" "$system/root/"
  inside python3 -m venv env
  echo 'PATH=/root/env/bin:/usr/bin:/bin' >"$system/root/environment"
  inside sh -c 'pip install --quiet --disable-pip-version-check ./onesided-*.whl mpi4py numpy'
  inside rmarun -n 4 --require-join python windows.py
}

c() {
  package=$("$packages/deb/build.sh" --out "$out/dist" --prefix "$prefix" | tail -n 1)
  begin gcc libc6-dev
  cp "$package" "$root/capi/tests/c/"{hello.c,check.h} "$system/root/"
  inside dpkg -i "$(basename "$package")"
  inside rmacc hello.c -o hello
  inside rmarun -n 4 --require-join ./hello
}

# The first command of the README.
rust() {
  toolchain=$(rustc --print sysroot)
  begin gcc libc6-dev
  cp -a "$toolchain" "$system/opt/rust"
  mkdir "$system/root/onesided"
  git -C "$root" archive HEAD | tar -x -C "$system/root/onesided"
  echo 'PATH=/opt/rust/bin:/usr/bin:/bin HOME=/root' >"$system/root/environment"
  inside sh -c 'cd onesided && exec cargo run --release -- -n 8 --example wordcount -- --verify src docs'
}

# By buildah, which needs no right that a container of CI has not.
container() {
  command -v buildah >/dev/null || { echo "skipped: buildah does not exist"; return; }
  printf '[storage]\ndriver = "vfs"\ngraphroot = "%s"\nrunroot = "%s"\n' "$out/images" "$out/run" >"$out/storage.conf"
  export CONTAINERS_STORAGE_CONF=$out/storage.conf BUILDAH_ISOLATION=chroot
  fresh
  debian=$(buildah from scratch)
  buildah add --quiet "$debian" "$system" /
  buildah commit --quiet --rm "$debian" localhost/debian:empty >/dev/null
  "$packages/container/build.sh" --engine buildah --prefix "$prefix" -- --quiet --build-arg BASE=localhost/debian:empty
  image=$(buildah from localhost/onesided)
  buildah copy --quiet "$image" "$root/capi/tests/c/"{hello.c,check.h} "$root/examples/python/windows.py" /work/
  buildah run "$image" -- sh -ec 'rmacc hello.c -o hello; rmarun -n 4 --require-join ./hello; rmarun -n 4 --require-join windows.py'
  buildah rm --all >/dev/null
}

for kind in "${kinds[@]}"; do
  "$kind"
  echo "an empty system with $kind works"
done
