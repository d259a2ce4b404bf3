#!/usr/bin/env bash
# Installs the C interface from its packages for crates.io, as `cargo install onesided-capi` does, and runs a program.
#
#     packages/crates.sh
#
# As long as crates.io does not have them, a configuration of Cargo names the unpacked ones instead. All other crates come
# from crates.io.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export CARGO_TARGET_DIR=$out/target CARGO_INCREMENTAL=0
packages=(onesided-macros onesided onesided-capi onesided-mpich onesided-node)

cd "$root"
# shellcheck disable=SC2046
cargo package --quiet --no-verify --allow-dirty --locked $(printf -- '-p %s ' "${packages[@]}") 2>"$out/log" ||
  { cat "$out/log"; exit 1; }
mkdir "$out/user" "$out/user/.cargo"
cd "$out/user"
echo '[patch.crates-io]' >.cargo/config.toml
for package in "${packages[@]}"; do
  file=$(echo "$out/target/package/$package"-[0-9]*.crate)
  tar -xf "$file"
  printf '%s = { path = "%s" }\n' "$package" "$PWD/$(basename "$file" .crate)" >>.cargo/config.toml
done
cargo install --quiet --debug --path "$(echo onesided-capi-[0-9]*)" --root "$out/cargo"
rm -rf "$out/target"
TMPDIR=$out "$out/cargo/bin/onesided-install" --profile dev --prefix "$out/prefix"
left=$(find "$out" -maxdepth 1 -name 'onesided-install-*')
[ -z "$left" ] || { echo "the installer has left $left"; exit 1; }
"$out/prefix/bin/rmacc" "$root/capi/tests/c/hello.c" -o hello
"$out/prefix/bin/rmarun" -n 4 --require-join ./hello
"$out/cargo/bin/onesided-install" --uninstall --prefix "$out/prefix"
[ ! -e "$out/prefix/bin/rmarun" ] || { echo "rmarun is still there"; exit 1; }
