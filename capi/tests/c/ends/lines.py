# Rank 1 puts to rank 0, and changes the buffer of its first put; then rank 0 waits for ever. Another thread runs all the while.
import threading
from mpi4py import MPI
world = MPI.COMM_WORLD
win = MPI.Win.Allocate(64, 1, comm=world)
is_over = threading.Event()
def compute():
    while not is_over.is_set():
        sum(range(1000))
thread = threading.Thread(target=compute)
thread.start()
def put(buffer):
    win.Put(buffer, 0)
win.Lock_all()
data = bytearray(8)
if world.rank == 1:
    put([data, MPI.BYTE])
    data[0] = 2
    win.Flush(0)
    put([data, MPI.BYTE])
world.Barrier()
if world.rank == 0:
    win.Get([bytearray(8), MPI.BYTE], 0)
win.Unlock_all()
is_over.set()
thread.join()
win.Free()
if world.rank == 0:
    world.recv(source=1)
