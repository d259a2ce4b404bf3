#!/usr/bin/env bash
# Runs what Debian has compiled with its MPICH, as it is: the benchmark NetPIPE, and HDF5, by which ranks write columns of
# a table in one file and read it whole.
#
#     packages/unmodified_debian.sh PREFIX     PREFIX: what the installer has installed
#
# Unpacks some 20 MB of Debian's packages in a folder of its own, and installs none.
set -euo pipefail
prefix=$(cd "${1:?usage: packages/unmodified_debian.sh PREFIX}" && pwd)
for command in apt-get dpkg cc; do
  command -v $command >/dev/null || { echo "skipped: $command does not exist"; exit; }
done
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$out"
# The name of HDF5's library has a number that grows.
hdf5=$(apt-cache depends libhdf5-mpich-dev 2>log | grep -oE 'libhdf5-mpich-[0-9][0-9a-z-]*$' | head -n 1 || true)
if ! apt-get download -q netpipe-mpich2 libhdf5-mpich-dev "${hdf5:-libhdf5-mpich-103-1}" libmpich-dev libsz2 libaec0 >log 2>&1; then
  echo "skipped: a package of Debian cannot be loaded: $(grep '^E:' log | tail -n 1)"
  exit
fi
for package in *.deb; do
  dpkg -x "$package" .
done
libraries=$(dirname usr/lib/*/libhdf5_mpich.so) include=$(dirname usr/include/*/mpich/mpi.h)
run() {
  LD_LIBRARY_PATH=$out/$libraries timeout 120 "$prefix/bin/rmarun" --quiet --require-join "$@" >printed 2>error ||
    { echo "$* failed:"; cat printed error; exit 1; }
}

run -n 2 usr/bin/NPmpich2 -n 20 -u 65536 -o np.out
[ "$(wc -l <np.out)" -ge 60 ] || { echo "NetPIPE has measured too few lengths:"; cat printed np.out; exit 1; }
echo "Debian's NetPIPE runs unmodified"

cat >table.c <<'PROGRAM'
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>

#define ROWS 64
#define COLUMNS 8

#define OK(call) do { if ((call) < 0) { fprintf(stderr, "%s\n", #call); MPI_Abort(MPI_COMM_WORLD, 3); } } while (0)

static int mine[ROWS][COLUMNS], all[ROWS * COLUMNS * 16];

int main(int argc, char **argv)
{
    int rank, ranks, wrong = 0;
    hid_t access, file, space, data, part, columns, transfer;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int width = ranks * COLUMNS;
    hsize_t whole[2] = {ROWS, width}, size[2] = {ROWS, COLUMNS}, from[2] = {0, rank * COLUMNS};
    for (int k = 0; k < ROWS * COLUMNS; k++)
        mine[k / COLUMNS][k % COLUMNS] = k / COLUMNS * 1000 + rank * COLUMNS + k % COLUMNS;
    OK(access = H5Pcreate(H5P_FILE_ACCESS));
    OK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    OK(transfer = H5Pcreate(H5P_DATASET_XFER));
    OK(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE));
    OK(file = H5Fcreate("table.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access));
    OK(space = H5Screate_simple(2, whole, NULL));
    OK(data = H5Dcreate(file, "table", H5T_STD_I32BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    OK(part = H5Screate_simple(2, size, NULL));
    OK(columns = H5Dget_space(data));
    OK(H5Sselect_hyperslab(columns, H5S_SELECT_SET, from, NULL, size, NULL));
    OK(H5Dwrite(data, H5T_NATIVE_INT, part, columns, transfer, mine));
    OK(H5Dclose(data));
    OK(H5Fclose(file));
    OK(file = H5Fopen("table.h5", H5F_ACC_RDONLY, access));
    OK(data = H5Dopen(file, "table", H5P_DEFAULT));
    OK(H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, transfer, all));
    for (int k = 0; k < ROWS * width; k++)
        wrong += all[k] != k / width * 1000 + k % width;
    printf("%d wrong\n", wrong);
    OK(H5Dclose(data));
    OK(H5Fclose(file));
    MPI_Finalize();
    return wrong != 0;
}
PROGRAM
cc table.c -I "$include" -I usr/include/hdf5/mpich -o table "$libraries/libhdf5_mpich.so" \
  "$prefix/lib/onesided/libmpi.so.12" -Wl,--allow-shlib-undefined
missing=$(LD_LIBRARY_PATH=$out/$libraries:$prefix/lib/onesided ldd table | grep 'not found' || true)
[ -z "$missing" ] || { echo "skipped: HDF5 needs libraries of Debian that are not installed: $missing"; exit; }
for ranks in 1 2 3 4; do
  run -n $ranks ./table
  [ "$(grep -c '^0 wrong$' printed)" = $ranks ] || { echo "HDF5 with $ranks ranks:"; cat printed error; exit 1; }
done
echo "Debian's HDF5 runs unmodified"
