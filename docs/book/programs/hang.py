# Wrong: two ranks lock two targets in opposite orders.
from mpi4py import MPI

world = MPI.COMM_WORLD
window = MPI.Win.Allocate(8, 8, comm=world)
window.Set_name("accounts")
mine, other = (0, 1) if world.Get_rank() == 0 else (1, 0)
window.Lock(mine)
world.Barrier()
window.Lock(other)
window.Unlock(other)
window.Unlock(mine)
window.Free()
