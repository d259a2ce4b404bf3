"""A mutex, a counter, a queue, notified puts and regions of a trace for mpi4py.

They use MPI's one-sided calls alone (MPI-4.1 chapter 12), so they run under any MPI, also without this package's
launcher. Each object is made by all ranks of a communicator together, and freed in the same way; `with` frees it
at its end. One thread of a rank uses an object at a time.

    from mpi4py import MPI
    from onesided import tools

    with tools.Queue(MPI.COMM_WORLD, length=16) as tasks:
        if MPI.COMM_WORLD.Get_rank() == 0:
            tasks.put("a task")
            print(tasks.get())
"""

import contextlib
import ctypes
import pickle
import queue
import time
from array import array

from mpi4py import MPI

__all__ = ["Counter", "Mutex", "Notified", "Queue", "region"]

# Of a window, in words: the count of an object.
COUNT = 0
WORD = 8
# Before the bytes of `Notified`, so that they begin with a cache line.
HEAD = 64
SHORTEST_PAUSE, LONGEST_PAUSE = 1e-6, 1e-3


# mpi4py's own refuses every level above 2.
_control = getattr(ctypes.CDLL(MPI.__file__), "MPI_Pcontrol", None)
# Of `MPI_Pcontrol`: a region with a name.
REGION = 3


@contextlib.contextmanager
def region(name):
    """A region of the program, a slice of this thread in a trace (`rmarun --trace`) around the calls in the `with` block.

    Without a trace nothing happens. Under another MPI it is `MPI_Pcontrol(3, name)` and `MPI_Pcontrol(-3)`. Local; does not
    block.

        with tools.region("solve"):
            ...
    """
    if _control is None:
        yield
        return
    _control(ctypes.c_int(REGION), ctypes.c_char_p(name.encode()))
    try:
        yield
    finally:
        _control(ctypes.c_int(-REGION))


class _Waiting:
    """Pauses between two looks, which get longer, until a timeout in seconds."""

    def __init__(self, timeout):
        self.end = None if timeout is None else time.monotonic() + timeout
        self.pause = 0

    def again(self):
        """Pauses; whether there is time for another look."""
        if self.end is not None and time.monotonic() >= self.end:
            return False
        time.sleep(self.pause)
        self.pause = min(max(2 * self.pause, SHORTEST_PAUSE), LONGEST_PAUSE)
        return True


class _Shared:
    """A window of `size` bytes on this rank, and what all objects have."""

    def __init__(self, comm, size, unit=WORD):
        self._comm = comm
        self._win = MPI.Win.Allocate(size, unit, comm=comm)

    def _open(self, first=None):
        """Begins the epoch that lasts until `free`, with these words at the start of this rank's part. Collective."""
        self._win.Lock_all()
        if first:
            own, words = self._comm.Get_rank(), array("q", first)
            self._win.Accumulate([words, MPI.INT64_T], own, 0, op=MPI.REPLACE)
            self._win.Flush(own)
        self._comm.Barrier()

    def _update(self, place, op=MPI.NO_OP, operand=0, target=None):
        """Updates a word, and returns what it was before."""
        target = self._root if target is None else target
        # Buffers have names, because an operation uses them until the flush.
        operand, before = array("q", [operand]), array("q", [0])
        self._win.Fetch_and_op([operand, MPI.INT64_T], [before, MPI.INT64_T], target, place, op=op)
        self._win.Flush(target)
        return before[0]

    def free(self):
        """Frees the object. Collective; blocks until all ranks have called it."""
        if self._win != MPI.WIN_NULL:
            self._comm.Barrier()
            self._close()
            self._win.Free()

    def _close(self):
        self._win.Unlock_all()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        # Other ranks may not come to `free` if this one has failed.
        if kind is None:
            self.free()


class _Rooted(_Shared):
    """Its state is at the rank `root`."""

    def __init__(self, comm, root, size):
        if not 0 <= root < comm.Get_size():
            raise ValueError(f"{type(self).__name__}: root {root} is not a rank of a communicator of {comm.Get_size()}")
        self._root = root
        self._is_root = comm.Get_rank() == root
        super().__init__(comm, size if self._is_root else 0)


class Mutex(_Rooted):
    """A lock that one rank of `comm` holds at a time. Collective; blocks.

    `acquire` and `release`, or `with mutex.held():`. A rank that holds it completes its puts (flush) before it
    releases it, so that the next one finds them.
    """

    def __init__(self, comm, root=0):
        super().__init__(comm, root, WORD)
        self._is_held = False
        comm.Barrier()

    def acquire(self):
        """Waits until no other rank holds it, and takes it. RuntimeError if this rank holds it already."""
        if self._is_held:
            raise RuntimeError("Mutex.acquire: this rank holds the mutex already")
        self._win.Lock(self._root, MPI.LOCK_EXCLUSIVE)
        # MPI may take the lock only with the first operation (MPI-4.1 section 12.5.3).
        byte = bytearray(1)
        self._win.Get([byte, MPI.BYTE], self._root)
        self._win.Flush(self._root)
        self._is_held = True

    def release(self):
        """RuntimeError if this rank does not hold it. Does not wait for other ranks."""
        if not self._is_held:
            raise RuntimeError("Mutex.release: this rank does not hold the mutex")
        self._is_held = False
        self._win.Unlock(self._root)

    def held(self):
        """`with mutex.held():` acquires it, and releases it at the end."""
        return _Held(self)

    def _close(self):
        if self._is_held:
            self.release()


class _Held:
    def __init__(self, mutex):
        self._mutex = mutex

    def __enter__(self):
        self._mutex.acquire()

    def __exit__(self, *_):
        self._mutex.release()


class Counter(_Rooted):
    """A number of 64 bits that all ranks of `comm` add to, as for tickets. Collective; blocks."""

    def __init__(self, comm, start=0, root=0):
        super().__init__(comm, root, WORD)
        self._open([start] if self._is_root else None)

    def add(self, amount=1):
        """Adds to it, and returns the number before. Does not wait for other ranks."""
        return self._update(COUNT, MPI.SUM, amount)

    def value(self):
        """The number now. Does not wait for other ranks."""
        return self._update(COUNT)


class Queue(_Rooted):
    """A queue of at most `length` items, which any rank of `comm` puts and gets. Collective; blocks.

    Items are what `pickle` can write in at most `item_bytes` bytes. They leave in the order in which they were
    put. `put` and `get` are those of Python's `queue.Queue`, with its exceptions.
    """

    # Words: the numbers of the next item to get and to put; then the slots. A slot has the word that orders
    # its use, the length, and the item. Item n uses slot n % length, whose word is 2n while it is free for the
    # item, 2n + 1 when the item is there, and 2(n + length) when the item has been taken.
    _GOT, _PUT, _SLOTS = 0, 1, 2

    def __init__(self, comm, length, item_bytes=1024, root=0):
        if length < 1 or item_bytes < 1:
            raise ValueError(f"Queue: length {length} and item_bytes {item_bytes} must be at least 1")
        self._length, self._item_bytes = length, item_bytes
        self._words = 2 + -(-item_bytes // WORD)
        super().__init__(comm, root, (self._SLOTS + length * self._words) * WORD)
        first = [0] * (self._SLOTS + length * self._words)
        first[self._SLOTS::self._words] = range(0, 2 * length, 2)
        self._open(first if self._is_root else None)

    def put(self, item, block=True, timeout=None):
        """Waits until there is room, and puts the item.

        ValueError if it is too long; queue.Full after `timeout` seconds, or at once if not `block`.
        """
        data = pickle.dumps(item)
        if len(data) > self._item_bytes:
            raise ValueError(f"Queue.put: the item has {len(data)} bytes; the queue was made for items of at most "
                             f"{self._item_bytes} (item_bytes)")
        number, slot = self._claim(self._PUT, 0, timeout if block else 0, queue.Full)
        item = array("q", [len(data)]).tobytes() + data
        self._win.Put([item, MPI.BYTE], self._root, slot + 1)
        self._win.Flush(self._root)
        self._update(slot, MPI.REPLACE, 2 * number + 1)

    def get(self, block=True, timeout=None):
        """Waits for an item, and returns it. queue.Empty after `timeout` seconds, or at once if not `block`."""
        number, slot = self._claim(self._GOT, 1, timeout if block else 0, queue.Empty)
        data = self._bytes(slot + 2, array("q", self._bytes(slot + 1, WORD))[0])
        self._update(slot, MPI.REPLACE, 2 * (number + self._length))
        return pickle.loads(data)

    def _claim(self, word, ready, timeout, failure):
        """The next number of that word, and its slot, whose own word is then 2 x number + `ready`."""
        waiting = _Waiting(timeout)
        while True:
            number = self._update(word)
            slot = self._SLOTS + number % self._length * self._words
            missing = 2 * number + ready - self._update(slot)
            if missing == 0 and self._swap(word, number, number + 1):
                return number, slot
            # Below 0 another rank was faster.
            if missing > 0 and not waiting.again():
                raise failure

    def _swap(self, place, old, new):
        new, compare, before = array("q", [new]), array("q", [old]), array("q", [0])
        self._win.Compare_and_swap([new, MPI.INT64_T], [compare, MPI.INT64_T], [before, MPI.INT64_T], self._root, place)
        self._win.Flush(self._root)
        return before[0] == old

    def _bytes(self, place, count):
        data = bytearray(count)
        self._win.Get([data, MPI.BYTE], self._root, place)
        self._win.Flush(self._root)
        return bytes(data)


class Notified(_Shared):
    """`size` bytes on each rank of `comm`, and a count of the puts that have arrived there. Collective; blocks.

    `memory` is this rank's bytes, for `numpy.frombuffer`; it must not be used after `free`.
    """

    def __init__(self, comm, size):
        if size < 0:
            raise ValueError(f"Notified: size {size} is negative")
        super().__init__(comm, HEAD + size, unit=1)
        self._sizes = comm.allgather(size)
        self._awaited = 0
        self.memory = memoryview(self._win.tomemory()).cast("B")[HEAD:]
        self._open([0])

    def put(self, data, target, offset=0):
        """Copies contiguous bytes to `target`, `offset` bytes behind the start, and then counts one there.

        Does not wait for the target. ValueError if `target` is not a rank or the bytes do not fit.
        """
        if not 0 <= target < len(self._sizes):
            raise ValueError(f"Notified.put: target {target} is not a rank of a communicator of {len(self._sizes)}")
        count = memoryview(data).nbytes
        if offset < 0 or offset + count > self._sizes[target]:
            raise ValueError(f"Notified.put: {count} bytes at offset {offset} do not fit into the "
                             f"{self._sizes[target]} bytes of rank {target}")
        self._win.Put([data, count, MPI.BYTE], target, HEAD + offset)
        self._win.Flush(target)
        self._update(COUNT, MPI.SUM, 1, target)

    def wait(self, count=1, timeout=None):
        """Waits for that many more puts to this rank. TimeoutError after `timeout` seconds; none is lost then."""
        own, waiting = self._comm.Get_rank(), _Waiting(timeout)
        while True:
            missing = self._awaited + count - self._update(COUNT, target=own)
            if missing <= 0:
                break
            if not waiting.again():
                raise TimeoutError(f"Notified.wait: {count - missing} of {count} puts after {timeout} s")
        self._awaited += count
        self._win.Sync()
