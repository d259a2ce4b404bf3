import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
window = MPI.Win.Allocate(8, 8, comm=world)
part = np.frombuffer(window.tomemory(), dtype="u8")
part[:] = 0

mine = np.array([rank + 1], dtype="u8")
window.Fence()
window.Accumulate(mine, 0, op=MPI.SUM)
window.Fence()

if rank == 0:
    print(f"{size} ranks add up to {part[0]}")
del part
window.Free()
