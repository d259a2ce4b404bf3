import numpy as np
from mpi4py import MPI

CELLS = 3  # of a rank, without the two of its neighbours

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
# [left neighbour's last cell | own cells | right neighbour's first cell]
window = MPI.Win.Allocate((CELLS + 2) * 8, 8, comm=world)
cells = np.frombuffer(window.tomemory(), dtype="i8")
cells[1:-1] = 10 * rank + np.arange(CELLS)

window.Fence()
window.Put(cells[1:2], (rank - 1) % size, target=(CELLS + 1, 1))
window.Put(cells[CELLS : CELLS + 1], (rank + 1) % size, target=(0, 1))
window.Fence()

left, *own, right = cells
print(f"rank {rank}: {left} | {' '.join(map(str, own))} | {right}", flush=True)
del cells
window.Free()
