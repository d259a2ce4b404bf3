"""Builds the Python wheel: rmarun, the C interface, and a small module around them.

    python3 packages/wheel/build.py --out DIR [--prefix PREFIX] [--target TRIPLE]

PREFIX has what the installer has put there; without it, the installer runs first. Needs the package `wheel`
and the commands `strip` and `objdump`. With `--target aarch64-unknown-linux-gnu` the wheel is for that platform;
it needs the target of rustup and Debian's gcc-aarch64-linux-gnu, or another cross compiler of that name.
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
# The windows of a node under another MPI.
NODE = "onesided/libonesided_node.so"
# Other names of the one by MPICH's ABI. A library of a wheel cannot be a link, so each is an empty one that needs the first.
OTHER_NAMES = ["libmpich.so.12", "libmpicxx.so.12", "libmpifort.so.12"]
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


class Platform:
    """This machine, or what a triple of Rust names, with the commands for it."""

    def __init__(self, triple):
        self.machine = triple.split("-")[0] if triple else platform.machine()
        self.options = ["--target", triple] if triple else []
        self.variables = {}
        self.commands = f"{self.machine}-linux-gnu-" if triple else ""
        if triple:
            if not triple.endswith("-unknown-linux-gnu"):
                fail(f"--target {triple}: wheels are built for platforms such as aarch64-unknown-linux-gnu")
            linker = f"{self.commands}gcc"
            if not shutil.which(linker):
                fail(f"{linker} is not installed; Debian's package gcc-{self.machine}-linux-gnu has it")
            name = triple.upper().replace("-", "_")
            self.variables = {f"CARGO_TARGET_{name}_LINKER": linker}
            if not pathlib.Path(run("rustc", "--print", "target-libdir", *self.options).strip()).is_dir():
                fail(f"Rust has no standard library for {triple} here; `rustup target add {triple}` loads it")

    def install(self, prefix):
        install = ["cargo", "run", "--release", "--locked", "-p", "onesided-capi"]
        environment = {**self.variables, **os.environ}
        command = [*install, "--", "--prefix", prefix, *self.options]
        if subprocess.run(command, cwd=ROOT, env=environment).returncode:
            fail("library and launcher could not be built; what cargo printed above says why")
        return prefix

    def run(self, command, *arguments):
        return run(self.commands + command, *arguments)


def stage_prefix(prefix, to, target):
    """Copies an installation. Wheels have no symbolic links, so each library is there once."""
    for path in ["bin/rmacc", "bin/rmacxx", "bin/rmarun", "include/mpi.h", f"lib/{LIBRARY}",
                 f"lib/{MPICH}", f"lib/{NODE}", "lib/pkgconfig/onesided.pc", "share/man/man1/rmarun.1"]:
        source = prefix / path
        if not source.exists():
            fail(f"{source} does not exist; is {prefix} an installation?")
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, to / path)
    (to / "lib/libmpi_abi.so").write_text(LINKER_SCRIPT)
    for name in OTHER_NAMES:
        path = to / "lib/onesided" / name
        target.run("gcc" if target.commands else "cc", "-shared", "-nostdlib", f"-Wl,-soname,{name}", "-Wl,--no-as-needed",
                   "-Wl,-rpath,$ORIGIN", "-s", "-o", path, to / "lib" / MPICH)
    binaries = [to / "bin/rmarun", to / f"lib/{LIBRARY}", to / f"lib/{MPICH}", to / f"lib/{NODE}"]
    for binary in binaries:
        target.run("strip", "--strip-unneeded", binary)
    return binaries


def tag(binaries, target):
    """The platform that the binaries need, by the newest version of glibc that they name."""
    minor = max(int(found) for binary in binaries
                for found in re.findall(r"GLIBC_2\.(\d+)", target.run("objdump", "-T", binary)))
    return f"py3-none-manylinux_2_{minor}_{target.machine}"


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
    options.add_argument("--target", metavar="TRIPLE", help="the platform, as Rust names it; by default this one")
    line = options.parse_args()
    target = Platform(line.target)
    line.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        prefix = line.prefix or target.install(folder / "prefix")
        number = version()
        wheel = folder / f"onesided-{number}"
        shutil.copytree(HERE / "onesided", wheel / "onesided",
                        ignore=shutil.ignore_patterns("__pycache__"))
        binaries = stage_prefix(prefix, wheel / "onesided/prefix", target)
        about = wheel / f"onesided-{number}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(metadata(number))
        (about / "entry_points.txt").write_text(ENTRY_POINTS)
        shutil.copy(ROOT / "LICENSE", about / "LICENSE")
        (about / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: onesided packages/wheel\n"
                                     f"Root-Is-Purelib: false\nTag: {tag(binaries, target)}\n")
        run(sys.executable, "-m", "wheel", "pack", "--dest-dir", line.out, wheel)
    print(*sorted(os.fspath(path) for path in line.out.glob(f"onesided-{number}-*.whl")))


if __name__ == "__main__":
    main()
