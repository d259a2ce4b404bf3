"""MPI-style one-sided communication for the processes of one machine.

This package has the launcher `rmarun`, the C library `libmpi_abi.so.1` (MPI 5.0 standard ABI), its header, and the
compiler wrappers `rmacc` and `rmacxx`. `rmarun -n 4 app.py` runs a Python program on four ranks.
"""

import os
import pathlib

__all__ = ["environment", "library", "prefix"]


def prefix():
    """The folder with `bin`, `include` and `lib`."""
    return pathlib.Path(__file__).resolve().parent / "prefix"


def library():
    """The path of `libmpi_abi.so.1`, as for `ctypes.CDLL`."""
    return prefix() / "lib" / "libmpi_abi.so.1"


def environment():
    """A copy of the environment in which programs find the library by its name."""
    paths = [os.fspath(library().parent), os.environ.get("LD_LIBRARY_PATH")]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(path for path in paths if path)}
