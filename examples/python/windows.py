"""A shared array of numpy by mpi4py's windows: every rank adds its numbers to those of rank 0.

    cargo run --release -p onesided-capi -- --prefix ~/.local
    pip install mpi4py numpy
    ~/.local/bin/rmarun -n 4 examples/python/windows.py
"""

import numpy as np
from mpi4py import MPI

LENGTH = 1000


def main():
    world = MPI.COMM_WORLD
    rank, size = world.Get_rank(), world.Get_size()
    double = MPI.DOUBLE.Get_size()
    window = MPI.Win.Allocate(LENGTH * double, double, comm=world)
    mine = np.frombuffer(window.tomemory(), dtype="d")

    window.Fence()
    numbers = np.arange(LENGTH, dtype="d") * (rank + 1)
    window.Accumulate(numbers, 0, op=MPI.SUM)
    window.Fence()

    # The same by a lock: nobody else adds to the sum now, so it can be read.
    found = np.empty(LENGTH, dtype="d")
    window.Lock(0, MPI.LOCK_SHARED)
    window.Get(found, 0)
    window.Unlock(0)
    expected = np.arange(LENGTH, dtype="d") * (size * (size + 1) // 2)
    assert (found == expected).all(), f"rank {rank} finds {found}"
    world.Barrier()
    if rank == 0:
        assert (mine == expected).all()
        print(f"{size} ranks added {LENGTH} numbers each: {mine.sum():.0f}")
    del mine
    window.Free()


main()
