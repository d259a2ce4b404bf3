from threading import Thread

import numpy as np
from mpi4py import MPI

THREADS = 3

world = MPI.COMM_WORLD
assert MPI.Query_thread() == MPI.THREAD_MULTIPLE  # mpi4py asks for it
window = MPI.Win.Allocate(4, 4, comm=world)
np.frombuffer(window.tomemory(), dtype="u4")[0] = 0
world.Barrier()


def draw():
    one, number = np.ones(1, dtype="u4"), np.empty(1, dtype="u4")
    window.Fetch_and_op(one, number, 0, op=MPI.SUM)
    window.Flush(0)
    print(f"number {number[0]}\n", end="", flush=True)


window.Lock_all()
threads = [Thread(target=draw) for _ in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
window.Unlock_all()
window.Free()
