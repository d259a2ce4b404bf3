"""`python -m onesided` and the commands that the package installs."""

import os
import sys

from . import environment, prefix


def execute(name, arguments):
    """Becomes that command of the package. `rmarun` runs files of Python by this interpreter."""
    command = os.fspath(prefix() / "bin" / name)
    os.execve(command, [command, *arguments], {**environment(), "ONESIDED_PYTHON": sys.executable})


def rmarun():
    execute("rmarun", sys.argv[1:])


def rmacc():
    execute("rmacc", sys.argv[1:])


def rmacxx():
    execute("rmacxx", sys.argv[1:])


if __name__ == "__main__":
    rmarun()
