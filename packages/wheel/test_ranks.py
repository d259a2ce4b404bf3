"""Tests for the wheel's test: of each number of ranks one job; the second one fails on one rank."""

import ctypes
import os

import onesided
import pytest


@pytest.mark.ranks(1, 3)
def test_all_ranks_meet(ranks):
    mpi = ctypes.CDLL(onesided.library())
    size = ctypes.c_int()
    assert mpi.MPI_Init(None, None) == 0
    mpi.MPI_Comm_size(ctypes.c_void_p(0x101), ctypes.byref(size))
    assert size.value == ranks
    assert mpi.MPI_Barrier(ctypes.c_void_p(0x101)) == 0
    assert mpi.MPI_Finalize() == 0


@pytest.mark.ranks(2)
def test_one_rank_fails():
    assert os.environ["ONESIDED_RANK"] == "0"


@pytest.mark.ranks(2, timeout=1)
def test_that_does_not_end():
    import time
    time.sleep(1000)


def test_without_ranks():
    assert "ONESIDED_RANK" not in os.environ
