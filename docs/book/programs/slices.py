import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
window = MPI.Win.Allocate(size * 4, 4, comm=world)
part = np.frombuffer(window.tomemory(), dtype="i4")

number = np.array([(7 * rank + 3) % 10], dtype="i4")
window.Lock(0, MPI.LOCK_SHARED)
window.Put(number, 0, target=rank)
window.Unlock(0)
world.Barrier()

if rank == 0:
    window.Lock(0, MPI.LOCK_EXCLUSIVE)
    part.sort()
    print(f"sorted: {part.tolist()}", flush=True)
    window.Unlock(0)
del part
window.Free()
