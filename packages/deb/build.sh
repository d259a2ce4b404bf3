#!/usr/bin/env bash
# Builds the Debian package: launcher, libraries, header, wrappers, manual pages and completions.
#
#     packages/deb/build.sh --out DIR [--prefix PREFIX]
#
# PREFIX has what the installer has put there; without it, the installer runs first. Needs dpkg-deb and the commands
# strip and objdump. The variable MAINTAINER, as "Name <address>", is who answers for the package.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..

fail() { echo "build.sh: $*" >&2; exit 1; }
prefix='' out=''
while [ $# -gt 0 ]; do
  case "$1" in
    --out | --prefix) [ $# -ge 2 ] || fail "$1 needs a folder"; declare "${1#--}=$2"; shift 2 ;;
    *) fail "'$1' is no option; usage: build.sh --out DIR [--prefix PREFIX]" ;;
  esac
done
[ -n "$out" ] || fail "where to? usage: build.sh --out DIR [--prefix PREFIX]"
for command in dpkg-deb strip objdump gzip; do
  command -v $command >/dev/null || fail "$command is not installed"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$prefix" ]; then
  prefix=$work/prefix
  (cd "$root" && cargo run --release --locked -p onesided-capi -- --prefix "$prefix")
fi
[ -x "$prefix/bin/rmarun" ] || fail "$prefix/bin/rmarun does not exist; is $prefix an installation?"

version=$("$prefix/bin/rmarun" --version | cut -d ' ' -f 2)
architecture=$(dpkg --print-architecture)
date=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || date +%s)}
maintainer=${MAINTAINER:-the onesided authors <onesided@localhost>}
tree=$work/tree
# A folder of its own: the wrappers find header and library by their own place, and no other MPI's file is there.
own=$tree/usr/lib/onesided
share=$tree/usr/share
umask 022
mkdir -p "$own" "$tree/usr/bin" "$share/pkgconfig" "$tree/DEBIAN" "$share/man/man1" \
  "$share/doc/onesided" "$share/bash-completion/completions" "$share/zsh/vendor-completions" \
  "$share/fish/vendor_completions.d"
cp -a "$prefix/bin" "$prefix/include" "$prefix/lib" "$own"
rm -r "$own/lib/pkgconfig"
binaries=("$own/bin/rmarun" "$own"/lib/libmpi_abi.so.1.*.* "$own"/lib/onesided/lib{mpi.so.12,onesided_node.so})
strip --strip-unneeded --remove-section=.comment --remove-section=.note "${binaries[@]}"
chmod 644 "${binaries[@]:1}"
for command in rmarun rmacc rmacxx; do
  ln -s "../lib/onesided/bin/$command" "$tree/usr/bin/$command"
done
# shellcheck disable=SC2016
sed '1s|.*|prefix=${pcfiledir}/../../lib/onesided|' "$prefix/lib/pkgconfig/onesided.pc" >"$share/pkgconfig/onesided.pc"

# The wrappers' page is their help.
for command in rmacc rmacxx; do
  {
    printf '.TH %s 1 "" "onesided %s"\n.SH NAME\n%s \\- compiles and links programs for onesided\n' \
      "$command" "$version" "$command"
    printf '.SH DESCRIPTION\n.nf\n'
    "$prefix/bin/$command" --help | sed 's/\\/\\e/g; s/-/\\-/g; s/^[.'"'"']/\\\&&/'
    printf '.fi\n'
  } | gzip -9n >"$share/man/man1/$command.1.gz"
done
gzip -9n <"$prefix/share/man/man1/rmarun.1" >"$share/man/man1/rmarun.1.gz"
cp "$prefix/share/bash-completion/completions/rmarun" "$share/bash-completion/completions"
cp "$prefix/share/zsh/site-functions/_rmarun" "$share/zsh/vendor-completions"
cp "$prefix/share/fish/vendor_completions.d/rmarun.fish" "$share/fish/vendor_completions.d"
{
  printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\nFiles: *\n'
  grep '^Copyright' "$root/LICENSE" | sed 's/ (c)//; s/^Copyright/Copyright:/'
  printf 'License: Expat\n'
  sed -n '/^Permission/,$ { s/^$/./; s/^/ /; p }' "$root/LICENSE"
} >"$share/doc/onesided/copyright"
{
  printf 'onesided (%s) unstable; urgency=low\n\n  * CHANGELOG.md of the sources has what changed.\n\n' "$version"
  printf ' -- %s  %s\n' "$maintainer" "$(LC_ALL=C date -Rud "@$date")"
} | gzip -9n >"$share/doc/onesided/changelog.gz"

# The oldest version of each library that the binaries name symbols of.
newest() { objdump -T "${binaries[@]}" | grep -oE "$1_[0-9.]+[0-9]" | sed "s/$1_//" | sort -Vu | tail -n 1; }
depends="libc6 (>= $(newest GLIBC)), libgcc-s1 (>= $(newest GCC))"
find "$tree" -exec touch -h -d "@$date" {} +
cat >"$tree/DEBIAN/control" <<TEXT
Package: onesided
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -sk --apparent-size "$tree/usr" | cut -f 1)
Depends: $depends
Recommends: gcc | c-compiler, libc6-dev | libc-dev
Suggests: pkgconf | pkg-config
Section: libs
Priority: optional
Description: MPI-style one-sided communication for the processes of one machine
 Ranks that rmarun starts share windows of memory; puts, gets and accumulates
 are loads and stores there. The package has the launcher, the C library with
 the standard ABI of MPI 5.0, the same with MPICH's ABI for programs that are
 compiled already, mpi.h, and the compiler wrappers rmacc and rmacxx.
TEXT
(cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
mkdir -p "$out"
file=$out/onesided_${version}_$architecture.deb
SOURCE_DATE_EPOCH=$date dpkg-deb --root-owner-group -Zxz --build "$tree" "$file" >/dev/null
echo "$file"
