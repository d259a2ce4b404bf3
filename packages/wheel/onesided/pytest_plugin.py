"""Tests with ranks: each number in `@pytest.mark.ranks(2, 4)` is a job of its own, in which every rank runs the test.

A test fails if it fails on any rank, or if the job does not end in time:

    @pytest.mark.ranks(2, 4, timeout=30)
    def test_sum():
        from mpi4py import MPI
        assert MPI.COMM_WORLD.allreduce(1) == MPI.COMM_WORLD.Get_size()
"""

import os
import subprocess
import sys

import pytest

from . import environment, prefix

NUMBER = "ranks"
# The launcher has set it in a rank.
RANK = "ONESIDED_RANK"
SECONDS = 60


def pytest_configure(config):
    config.addinivalue_line(
        "markers", f"ranks(*numbers, timeout={SECONDS}): run the test in a job of each of these numbers of ranks")


def pytest_generate_tests(metafunc):
    mark = metafunc.definition.get_closest_marker("ranks")
    if mark is not None:
        if not mark.args or not all(isinstance(number, int) and number > 0 for number in mark.args):
            pytest.fail(f"{metafunc.definition.nodeid}: ranks({', '.join(map(repr, mark.args))}): "
                        "numbers of ranks are needed, as in ranks(2, 4)", pytrace=False)
        if NUMBER not in metafunc.fixturenames:
            metafunc.fixturenames.append(NUMBER)
        metafunc.parametrize(NUMBER, mark.args, ids=lambda number: f"{number} ranks")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Runs a marked test as a job; in a rank, as usual."""
    mark = pyfuncitem.get_closest_marker("ranks")
    if mark is None or RANK in os.environ:
        return None
    number = pyfuncitem.callspec.params[NUMBER]
    seconds = mark.kwargs.get("timeout", SECONDS)
    job = subprocess.run(command(pyfuncitem.nodeid, number, seconds), cwd=pyfuncitem.config.rootpath,
                         env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if job.returncode != 0:
        pytest.fail(f"the job of {number} ranks ended with code {job.returncode}:\n{job.stdout}", pytrace=False)
    return True


def command(test, number, seconds):
    launcher = [os.fspath(prefix() / "bin/rmarun"), "-n", str(number), "--tag-output", "--quiet",
                "--timeout", str(seconds)]
    # The ranks share the folder of the cache.
    return [*launcher, sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", test]

