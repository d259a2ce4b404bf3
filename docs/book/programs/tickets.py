import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
window = MPI.Win.Allocate(8, 8, comm=world)
part = np.frombuffer(window.tomemory(), dtype="u8")
part[:] = 0
world.Barrier()  # no rank draws before rank 0 has written the first number

one, ticket = np.ones(1, dtype="u8"), np.empty(1, dtype="u8")
window.Lock_all()
for _ in range(2):
    window.Fetch_and_op(one, ticket, 0, op=MPI.SUM)
    window.Flush(0)
    print(f"ticket {ticket[0]}", flush=True)
window.Unlock_all()
del part
window.Free()
