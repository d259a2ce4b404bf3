"""Builds the Python wheel: rmarun, the C interface, and a small module around them.

    python3 packages/wheel/build.py --out DIR [--prefix PREFIX]

PREFIX has what the installer has put there; without it, the installer runs first. Needs the package `wheel`
and the commands `strip` and `objdump`.
"""

import argparse
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIBRARY = "libmpi_abi.so.1"
# The same by MPICH's ABI, in a folder of its own.
MPICH = "onesided/libmpi.so.12"
# Of the linker: the library of that name beside this file.
LINKER_SCRIPT = f"INPUT({LIBRARY})\n"


def fail(what):
    sys.exit(f"build.py: {what}")


def run(*command):
    try:
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    except FileNotFoundError:
        fail(f"{command[0]} is not installed")
    except subprocess.CalledProcessError as error:
        fail(f"{' '.join(map(str, command))} failed with code {error.returncode}")


def version():
    text = (ROOT / "Cargo.toml").read_text()
    found = re.search(r'^\[workspace\.package\]\nversion = "([^"]+)"', text, re.MULTILINE)
    return found.group(1) if found else fail("Cargo.toml has no version of the workspace")


def installed(prefix):
    install = ["cargo", "run", "--release", "--locked", "-p", "onesided-capi", "--bin", "install"]
    subprocess.run([*install, "--", "--prefix", prefix], cwd=ROOT, check=True)
    return prefix


def stage_prefix(prefix, to):
    """Copies an installation. Wheels have no symbolic links, so each library is there once."""
    for path in ["bin/rmacc", "bin/rmacxx", "bin/rmarun", "include/mpi.h", f"lib/{LIBRARY}",
                 f"lib/{MPICH}", "lib/pkgconfig/onesided.pc", "share/man/man1/rmarun.1"]:
        source = prefix / path
        if not source.exists():
            fail(f"{source} does not exist; is {prefix} an installation?")
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, to / path)
    (to / "lib/libmpi_abi.so").write_text(LINKER_SCRIPT)
    binaries = [to / "bin/rmarun", to / f"lib/{LIBRARY}", to / f"lib/{MPICH}"]
    for binary in binaries:
        run("strip", "--strip-unneeded", binary)
    return binaries


def tag(binaries):
    """The platform that the binaries need, by the newest version of glibc that they name."""
    minor = max(int(found) for binary in binaries
                for found in re.findall(r"GLIBC_2\.(\d+)", run("objdump", "-T", binary)))
    return f"py3-none-manylinux_2_{minor}_{platform.machine()}"


def metadata(version):
    readme = (HERE / "README.md").read_text()
    return f"""Metadata-Version: 2.1
Name: onesided
Version: {version}
Summary: MPI-style one-sided communication (RMA) for the processes of one machine
License: MIT
Keywords: mpi,rma,one-sided,shared-memory,hpc
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: System :: Distributed Computing
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme}"""


# For pip: the commands, and what pytest loads.
ENTRY_POINTS = """[console_scripts]
rmarun = onesided.__main__:rmarun
rmacc = onesided.__main__:rmacc
rmacxx = onesided.__main__:rmacxx

[pytest11]
onesided = onesided.pytest_plugin
"""


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--out", required=True, type=pathlib.Path, help="where the wheel is put")
    options.add_argument("--prefix", type=pathlib.Path, help="an installation, which is not built then")
    line = options.parse_args()
    line.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        prefix = line.prefix or installed(folder / "prefix")
        number = version()
        wheel = folder / f"onesided-{number}"
        shutil.copytree(HERE / "onesided", wheel / "onesided",
                        ignore=shutil.ignore_patterns("__pycache__"))
        binaries = stage_prefix(prefix, wheel / "onesided/prefix")
        about = wheel / f"onesided-{number}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(metadata(number))
        (about / "entry_points.txt").write_text(ENTRY_POINTS)
        shutil.copy(ROOT / "LICENSE", about / "LICENSE")
        (about / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: onesided packages/wheel\n"
                                     f"Root-Is-Purelib: false\nTag: {tag(binaries)}\n")
        run(sys.executable, "-m", "wheel", "pack", "--dest-dir", line.out, wheel)
    print(*sorted(os.fspath(path) for path in line.out.glob(f"onesided-{number}-*.whl")))


if __name__ == "__main__":
    main()
