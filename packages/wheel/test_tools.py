"""Tests of `onesided.tools`, which run as jobs by the plugin for pytest."""

import queue
from array import array

import pytest


@pytest.mark.ranks(1, 4)
def test_mutex(ranks):
    from mpi4py import MPI
    from onesided import tools
    world = MPI.COMM_WORLD
    with tools.Mutex(world, root=ranks - 1) as mutex, tools.Counter(world) as both:
        win = MPI.Win.Allocate(8, 8, comm=world)
        win.Lock_all()
        for _ in range(100):
            with mutex.held():
                # Two updates would meet here.
                number = array("q", [0])
                win.Get([number, MPI.INT64_T], 0)
                win.Flush(0)
                number[0] += 1
                win.Put([number, MPI.INT64_T], 0)
                win.Flush(0)
        assert both.add() < ranks
        world.Barrier()
        found = array("q", [0])
        win.Get([found, MPI.INT64_T], 0)
        win.Flush(0)
        assert found[0] == 100 * ranks
        win.Unlock_all()
        win.Free()
        with pytest.raises(RuntimeError, match="does not hold"):
            mutex.release()
        with mutex.held(), pytest.raises(RuntimeError, match="already"):
            mutex.acquire()


@pytest.mark.ranks(1, 4)
def test_counter(ranks):
    from mpi4py import MPI
    from onesided import tools
    with tools.Counter(MPI.COMM_WORLD, start=7) as counter:
        tickets = MPI.COMM_WORLD.allgather([counter.add() for _ in range(50)])
        assert sorted(sum(tickets, [])) == list(range(7, 7 + 50 * ranks))
        assert counter.value() == 7 + 50 * ranks
    with pytest.raises(ValueError, match=f"root {ranks} is not a rank"):
        tools.Counter(MPI.COMM_WORLD, root=ranks)


@pytest.mark.ranks(1, 4)
@pytest.mark.parametrize("length", [1, 3])
def test_queue_has_each_item_once(ranks, length):
    from mpi4py import MPI
    from onesided import tools
    world, items, got = MPI.COMM_WORLD, 50, []
    with tools.Queue(world, length, item_bytes=100) as tasks:
        for number in range(items):
            item = (world.Get_rank(), number, "x" * (number % 40))
            while True:
                try:
                    tasks.put(item, timeout=0.001)
                    break
                except queue.Full:
                    got += take(tasks)
        while sum(world.allgather(len(got))) < items * ranks:
            got += take(tasks)
        taken = sum(world.allgather(got), [])
        assert sorted(taken) == [(rank, n, "x" * (n % 40)) for rank in range(ranks) for n in range(items)]


def take(tasks):
    try:
        return [tasks.get(timeout=0.01)]
    except queue.Empty:
        return []


@pytest.mark.ranks(2)
def test_queue_keeps_the_order_and_refuses(ranks):
    from mpi4py import MPI
    from onesided import tools
    with tools.Queue(MPI.COMM_WORLD, 2, item_bytes=64, root=1) as tasks:
        if MPI.COMM_WORLD.Get_rank() == 0:
            for number in range(5):
                tasks.put(number)
                tasks.put(-number)
                with pytest.raises(queue.Full):
                    tasks.put(0, block=False)
                assert [tasks.get(), tasks.get()] == [number, -number]
                with pytest.raises(queue.Empty):
                    tasks.get(block=False)
            with pytest.raises(ValueError, match="at most 64"):
                tasks.put("x" * 64)


@pytest.mark.ranks(1, 4)
def test_notified(ranks):
    from mpi4py import MPI
    from onesided import tools
    world = MPI.COMM_WORLD
    rank, right, left = world.Get_rank(), (world.Get_rank() + 1) % ranks, (world.Get_rank() - 1) % ranks
    with tools.Notified(world, 32) as inbox:
        for step in range(50):
            inbox.put(array("q", [rank, step]), right, offset=16)
            inbox.wait()
            assert list(inbox.memory[16:].cast("q")) == [left, step]
            # The next one may come.
            world.Barrier()
        with pytest.raises(TimeoutError, match="0 of 2 puts"):
            inbox.wait(2, timeout=0.01)
        with pytest.raises(ValueError, match=f"16 bytes at offset 17 do not fit into the 32 bytes of rank {right}"):
            inbox.put(bytes(16), right, offset=17)
        with pytest.raises(ValueError, match="target -1"):
            inbox.put(b"", -1)


@pytest.mark.ranks(1, 4)
def test_a_region_passes_on_what_is_raised(ranks):
    from mpi4py import MPI
    from onesided import tools
    with tools.region("outer"), pytest.raises(ValueError, match="inside"):
        with tools.region("größe"):
            assert MPI.COMM_WORLD.allreduce(1) == ranks
            raise ValueError("inside")
