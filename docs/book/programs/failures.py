import os

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, last = world.Get_rank(), world.Get_size() - 1
if rank == last:
    os._exit(3)

try:
    world.Barrier()
except MPI.Exception:
    others = world.Get_group().Excl([last])
    rest = world.Create_group(others)
    ranks = rest.allreduce(1)
    print(f"rank {rest.Get_rank()} of {ranks} goes on without rank {last}", flush=True)
    rest.Free()
