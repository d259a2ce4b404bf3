"""A program of the wheel's test: each rank puts its number to the next one, by the C interface alone."""

import ctypes
import sys

import onesided

mpi = ctypes.CDLL(onesided.library())
world, window = ctypes.c_void_p(0x101), ctypes.c_void_p()
rank, size, base = ctypes.c_int(), ctypes.c_int(), ctypes.POINTER(ctypes.c_int)()
int_type, no_info = ctypes.c_void_p(0x209), ctypes.c_void_p(0x130)


def call(name, *arguments):
    code = getattr(mpi, name)(*arguments)
    if code:
        sys.exit(f"{name} returned {code}")


call("MPI_Init", None, None)
call("MPI_Comm_rank", world, ctypes.byref(rank))
call("MPI_Comm_size", world, ctypes.byref(size))
call("MPI_Win_allocate", ctypes.c_ssize_t(4), 4, no_info, world, ctypes.byref(base), ctypes.byref(window))
call("MPI_Win_fence", 0, window)
right = (rank.value + 1) % size.value
call("MPI_Put", ctypes.byref(rank), 1, int_type, right, ctypes.c_ssize_t(0), 1, int_type, window)
call("MPI_Win_fence", 0, window)
print(f"rank {rank.value} of {size.value} has {base[0]}")
call("MPI_Win_free", ctypes.byref(window))
call("MPI_Finalize")
