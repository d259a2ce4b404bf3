# Three things make these ranks wait. What they compute is a sleep here, so that it takes the same time everywhere.
import time

import numpy as np
from mpi4py import MPI


def work(milliseconds):
    time.sleep(milliseconds / 1000)


world = MPI.COMM_WORLD
rank = world.Get_rank()
first, others = world.group.Incl([0]), world.group.Excl([0])
edges = MPI.Win.Allocate(32, 8, comm=world)
edges.Set_name("edges")
total = MPI.Win.Allocate(8, 8, comm=world)
total.Set_name("total")
for number in range(10):
    step, latest = np.array([number]), np.array([0])
    # All write an edge to rank 0, and compute.
    if rank == 0:
        work(6)
        edges.Post(others)
        edges.Wait()
    else:
        edges.Start(first)
        edges.Put(step, 0, rank)
        edges.Complete()
        work(6)
    # All add what they compute to the total of rank 0.
    total.Lock(0)
    work(3)
    total.Accumulate(step, 0, op=MPI.SUM)
    total.Unlock(0)
    # Rank 3 has more rows.
    work(12 if rank == 3 else 4)
    world.Allreduce(step, latest, op=MPI.MAX)
edges.Free()
total.Free()
