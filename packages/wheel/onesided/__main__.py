"""`python -m onesided` and the commands that the package installs."""

import os
import sys

from . import environment, prefix

# Options of rmarun whose value is the next word, so that the program can be found behind them.
WITH_VALUE = {
    "-n", "-np", "--np", "--ranks", "-x", "--env", "--wdir", "-wdir", "-wd", "--wd", "--segment", "--segment-size",
    "--on-failure", "--deadlock", "--check-report", "--bind-to", "-bind-to", "--map-by", "--cpu-set", "--grace",
    "--timeout", "--stdin", "--output-filename", "--mpi-library", "-ppn", "-perhost", "--configfile", "--example",
    "--bin", "-p", "--package", "-F", "--features", "--print",
}
WITH_TWO = {"-env", "-genv", "--genv"}


def execute(name, arguments):
    """Becomes that command of the package."""
    command = os.fspath(prefix() / "bin" / name)
    os.execve(command, [command, *arguments], environment())


def with_interpreter(words):
    """The words of a command line of rmarun, with this Python before each program that is a file of Python."""
    words = list(words)
    at = 0
    while at < len(words):
        word = words[at]
        if word in WITH_VALUE:
            at += 2
        elif word in WITH_TWO:
            at += 3
        elif word.startswith("-") and word != "--":
            at += 1
        else:
            at += word == "--"
            if at < len(words) and words[at].endswith((".py", ".pyc")):
                words.insert(at, sys.executable)
            # A further program begins behind a colon that an option follows.
            rest = range(at, len(words) - 1)
            further = (i for i in rest if words[i] == ":" and words[i + 1].startswith("-"))
            at = next(further, len(words)) + 1
    return words


def rmarun():
    execute("rmarun", sys.argv[1:])


def rmacc():
    execute("rmacc", sys.argv[1:])


def rmacxx():
    execute("rmacxx", sys.argv[1:])


if __name__ == "__main__":
    execute("rmarun", with_interpreter(sys.argv[1:]))
