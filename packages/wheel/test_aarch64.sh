#!/usr/bin/env bash
# Builds the wheel for aarch64 and runs a C program with its libraries: ranks under qemu-user, their launcher here.
#
#     packages/wheel/test_aarch64.sh PREFIX     PREFIX: what the installer has installed for this machine
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
prefix=${1:?usage: packages/wheel/test_aarch64.sh PREFIX}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

python3 -m venv "$out/build"
"$out/build/bin/pip" install --quiet --disable-pip-version-check wheel
"$out/build/bin/python" "$here/build.py" --out "$out" --target aarch64-unknown-linux-gnu
wheel=$(echo "$out"/onesided-*-manylinux_2_*_aarch64.whl)
python3 -m zipfile -e "$wheel" "$out/wheel"
own=$out/wheel/onesided/prefix
for binary in "$own/bin/rmarun" "$own/lib/libmpi_abi.so.1" "$own/lib/onesided/libmpi.so.12"; do
  aarch64-linux-gnu-objdump -f "$binary" | grep -q "architecture: aarch64" || { echo "$binary is not for aarch64"; exit 1; }
done
qemu=(qemu-aarch64 -L /usr/aarch64-linux-gnu)
chmod +x "$own"/bin/*
"${qemu[@]}" "$own/bin/rmarun" --version
sh "$own/bin/rmacc" -cc=aarch64-linux-gnu-gcc "$here/../../capi/tests/c/hello.c" -o "$out/hello"
"$prefix/bin/rmarun" -n 2 --require-join "${qemu[@]}" "$out/hello"
# The library by MPICH's ABI: functions that are the same by both.
cat >"$out/joins.c" <<'PROGRAM'
int MPI_Init(int *, char ***);
int MPI_Finalize(void);
int main(void) { return MPI_Init(0, 0) || MPI_Finalize(); }
PROGRAM
own=$own/lib/onesided
aarch64-linux-gnu-gcc "$out/joins.c" -o "$out/joins" "$own/libmpi.so.12" -Wl,-rpath,"$own"
"$prefix/bin/rmarun" --mpi-library keep -n 2 --require-join "${qemu[@]}" "$out/joins"
echo "the wheel for aarch64 works: $(basename "$wheel")"
