# Each rank sums up the rows of its share, and the higher ranks have more of them.
import numpy as np
from mpi4py import MPI


def work(rows):
    numbers = np.arange(100_000, dtype="i8")
    total = 1
    for _ in range(rows):
        total ^= int((numbers * 3 ^ total).sum())
    return total & 0x7FFFFFFF


world = MPI.COMM_WORLD
window = MPI.Win.Allocate(8, 8, comm=world)
window.Set_name("sums")
for _ in range(20):
    total = np.array([work(20 * (world.Get_rank() + 1))], dtype="i8")
    window.Fence(MPI.MODE_NOPRECEDE)
    window.Accumulate(total, 0, op=MPI.BXOR)
    window.Fence(MPI.MODE_NOSUCCEED)
window.Free()
