#!/usr/bin/env bash
# Builds the wheel, installs it in a fresh environment, runs it, and removes it.
#
#     packages/wheel/test.sh [PREFIX]     PREFIX: what the installer has installed, instead of a build
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

python3 -m venv "$out/build"
"$out/build/bin/pip" install --quiet --disable-pip-version-check wheel
"$out/build/bin/python" "$here/build.py" --out "$out" ${1:+--prefix "$1"}
# Another platform: what is missing is named. No Debian has the first compiler; Rust has no library for the second.
mkdir "$out/compilers"
ln -s /bin/true "$out/compilers/s390x-linux-gnu-gcc"
for refused in "aarch64-apple-darwin such as aarch64-unknown-linux-gnu" \
  "vax-unknown-linux-gnu package gcc-vax-linux-gnu" "s390x-unknown-linux-gnu rustup target add s390x-unknown-linux-gnu"; do
  code=0
  PATH=$PATH:$out/compilers python3 "$here/build.py" --out "$out" --target "${refused%% *}" 2>"$out/error" || code=$?
  [ "$code" = 1 ] && grep -qF -- "${refused#* }" "$out/error" || { echo "code $code for $refused"; cat "$out/error"; exit 1; }
done

python3 -m venv "$out/user"
"$out/user/bin/pip" install --quiet --disable-pip-version-check "$out"/onesided-*.whl
# As after `activate`, and away from the sources.
export PATH=$out/user/bin:$PATH
cd "$out"
rmarun --version
rmacc "$here/../../capi/tests/c/hello.c" -o hello
rmarun -n 2 --require-join ./hello
# The other names of MPICH's library.
own=$(python -c 'import onesided; print(onesided.prefix() / "lib/onesided")')
echo 'int MPI_Init(int *, char ***); int MPI_Finalize(void); int main(void) { return MPI_Init(0, 0) || MPI_Finalize(); }' >joins.c
for name in libmpi libmpich libmpicxx libmpifort; do
  cc joins.c -o joins -Wl,--no-as-needed "$own/$name.so.12" -Wl,--as-needed "$own/libmpi.so.12"
  objdump -p joins | grep -q "NEEDED *$name.so.12"
  rmarun -n 2 --require-join ./joins
done
cp "$here/ranks.py" .
expected=$'rank 0 of 3 has 2\nrank 1 of 3 has 0\nrank 2 of 3 has 1'
for command in "rmarun -n 3 --require-join python ranks.py" "rmarun -n 3 --require-join ranks.py" \
  "env PATH=/usr/bin:/bin $out/user/bin/python -m onesided -n 3 --require-join ranks.py" \
  "python -m onesided --require-join -n 1 ranks.py : -n 2 ranks.py"; do
  printed=$($command | sort)
  [ "$printed" = "$expected" ] || { echo "$command printed:"; echo "$printed"; exit 1; }
done
# mpi4py's wheel, as it is.
pip install --quiet --disable-pip-version-check --only-binary :all: mpi4py numpy
rmarun -n 2 --require-join python "$here/../../examples/python/windows.py"
book="$here/../../docs/book/programs"
for program in "$book"/*.py; do
  expected=0 options=("" --check=late)
  case $program in
  */failures.py) expected=3 options=(--on-failure=continue) ;;
  */hang.py | */race.py | */slow.py) continue ;;
  esac
  for option in "${options[@]}"; do
    code=0
    rmarun -n 4 --require-join $option python "$program" >printed 2>error || code=$?
    [ "$(sort printed)" = "$(sort "${program%.py}.txt")" ] && [ "$code" = "$expected" ] ||
      { echo "$program $option, code $code, printed:"; cat printed error; exit 1; }
  done
done
# What the book has of programs that do something wrong, and lines of the programs.
for wrong in "hang 123 waits for the lock of rank 1, held exclusively by rank 1" "race 124 rank 0 needs a flush of rank 0" \
  "race 124 race.py:$(grep -n window.Put "$book/race.py" | cut -d: -f1)" \
  "slow 0 late post"; do
  read -r program expected words <<<"$wrong"
  code=0 ranks=2
  case $program in race) options=--check ;; slow) options=--stats ranks=4 ;; *) options= ;; esac
  rmarun -n $ranks --require-join $options python "$book/$program.py" >printed 2>error || code=$?
  [ "$code" = "$expected" ] && grep -qF "$words" error || { echo "$program, code $code:"; cat printed error; exit 1; }
done
# A result that is read before the flush has not arrived.
cat >early.py <<'PROGRAM'
from mpi4py import MPI
import numpy
world, found = MPI.COMM_WORLD, numpy.zeros(1, dtype="u1")
window = MPI.Win.Allocate(1, 1, comm=world)
window.Lock_all()
window.Get(found, 0)
early = found[0]
window.Flush(0)
print(early, found[0])
window.Unlock_all()
window.Free()
PROGRAM
printed=$(rmarun -n 2 --check=late python early.py)
[ "$printed" = $'238 0\n238 0' ] || { echo "--check=late: $printed"; exit 1; }
# A trace is one of Perfetto's, by the schema that it publishes.
pip install --quiet --disable-pip-version-check --only-binary :all: perfetto
rmarun -n 4 --require-join --trace slow.pftrace python "$book/slow.py"
python "$here/trace.py" slow.pftrace 4 post start complete wait lock accumulate unlock allreduce waiting
code=0
rmarun -n 2 --nonsense true 2>error || code=$?
[ "$code" = 2 ] && grep -q -- --nonsense error || { echo "code $code for a wrong option"; cat error; exit 1; }

# Tests with ranks: two jobs of the first test and the one without ranks pass; the other two fail, each with a reason.
pip install --quiet --disable-pip-version-check pytest
cp "$here/test_ranks.py" .
pytest -q -p no:cacheprovider test_ranks.py >report || true
for words in "3 passed" "2 failed" "[1] E " "code 122" "(--timeout)"; do
  grep -qF -- "$words" report || { echo "no '$words' in:"; cat report; exit 1; }
done

cp "$here/test_tools.py" .
pytest -q -p no:cacheprovider test_tools.py
rmarun -n 4 --check --quiet --require-join python -m pytest -q -p no:cacheprovider -k 4 test_tools.py

pip uninstall --quiet --yes onesided
left=$(find user -path '*onesided*' -o -name 'rmarun*' -o -name 'rmacc*' -o -name 'libmpi_abi*')
[ -z "$left" ] || { echo "left after pip uninstall: $left"; exit 1; }
echo "the wheel works"
