import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
# [number of entries, their sum | a square of each rank]
window = MPI.Win.Allocate((2 + size) * 4, 4, comm=world)
part = np.frombuffer(window.tomemory(), dtype="i4")
part[:2] = 0
world.Barrier()

record = np.empty(2, dtype="i4")
window.Lock(0, MPI.LOCK_EXCLUSIVE)
window.Get(record, 0)
window.Flush(0)
record += [1, rank]
window.Put(record, 0)
window.Unlock(0)
world.Barrier()

window.Lock(0, MPI.LOCK_SHARED)
window.Get(record, 0)
window.Unlock(0)

square = np.array([rank * rank], dtype="i4")
window.Lock_all()
for target in range(size):
    window.Put(square, target, target=2 + rank)
window.Flush_all()
world.Barrier()
window.Sync()
print(f"rank {rank}: {record[0]} entries, sum {record[1]}, squares {part[2:].tolist()}", flush=True)
window.Unlock_all()
del part
window.Free()
