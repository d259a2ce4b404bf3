import numpy as np
from mpi4py import MPI

LENGTH = 3  # numbers in the part of each rank

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
window = MPI.Win.Allocate_shared(LENGTH * 4, 4, comm=world)
part = np.frombuffer(window.tomemory(), dtype="i4")

window.Lock_all(MPI.MODE_NOCHECK)
part[:] = rank, 10 * rank, 100 * rank
window.Sync()
world.Barrier()
window.Sync()

total = 0
for other in range(size):
    memory, _ = window.Shared_query(other)
    total += np.frombuffer(memory, dtype="i4").sum()
window.Unlock_all()
print(f"rank {rank} finds the sum {total}", flush=True)
del part, memory
window.Free()
