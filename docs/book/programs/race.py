# Wrong: a barrier does not complete a put.
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
window = MPI.Win.Allocate(8, 8, comm=world)
window.Set_name("results")
value, found = np.array([7], dtype="i8"), np.zeros(1, dtype="i8")

window.Lock_all()
if world.Get_rank() == 0:
    window.Put(value, 0)
world.Barrier()
if world.Get_rank() == 1:
    window.Get(found, 0)
window.Unlock_all()
window.Free()
