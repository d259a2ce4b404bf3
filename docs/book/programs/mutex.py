import numpy as np
from mpi4py import MPI
from onesided import tools

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
accounts = MPI.Win.Allocate(4, 4, comm=world)
np.frombuffer(accounts.tomemory(), dtype="i4")[0] = 100
mutex = tools.Mutex(world)
world.Barrier()

mine, theirs = np.empty(1, dtype="i4"), np.empty(1, dtype="i4")
right, amount = (rank + 1) % size, rank + 1
accounts.Lock_all()
for _ in range(10):
    with mutex.held():
        accounts.Get(mine, rank)
        accounts.Get(theirs, right)
        accounts.Flush_all()
        mine -= amount
        theirs += amount
        accounts.Put(mine, rank)
        accounts.Put(theirs, right)
        accounts.Flush_all()
world.Barrier()
accounts.Get(mine, rank)
accounts.Flush(rank)
print(f"rank {rank} has {mine[0]}", flush=True)
accounts.Unlock_all()
mutex.free()
accounts.Free()
