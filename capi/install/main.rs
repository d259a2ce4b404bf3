//! Builds the C interface and puts it where compilers and users find it.
//!
//! ```text
//! cargo run --release -p onesided-capi -- --prefix ~/.local
//! ```
//!
//! As the program of `cargo install onesided-capi` it lets Cargo load and build the packages of its own version: Cargo
//! installs programs, but no libraries.
//!
//! Invariants:
//! 1. No file that is not of an earlier installation here is written over.
//! 2. The list of what is installed (`share/onesided/installed`) is written before anything it names,
//!    and removed after it: what was interrupted can be taken away or done again.
//! 3. A file comes into its place by a rename, so that no program sees half of it, and a program that runs
//!    keeps the library that it has loaded.
#![allow(
    clippy::disallowed_methods,
    reason = "reads PATH, to say whether it has what was installed"
)]

mod build;
mod groups;
mod header;
mod place;
mod plan;
#[path = "../abi/table.rs"]
mod table;

use clap::Parser;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Puts below the prefix: lib/libmpi_abi.so.1 and include/mpi.h; lib/onesided/libmpi.so.12, by which rmarun
runs programs that are compiled with MPICH; lib/onesided/libonesided_node.so, for LD_PRELOAD of
programs that use another MPI; bin/rmacc and bin/rmacxx, which compile
and link C and C++ programs, and bin/rmarun, which runs them; lib/pkgconfig/onesided.pc; below share
the manual page of rmarun and its completions for bash, zsh and fish. With --mpi-names also bin/mpicc,
mpicxx, mpic++, mpiexec and mpirun, by which CMake's FindMPI, mpi4py and others find an MPI without
being told.

A file that is there already is written over only if an earlier installation has put it there.";

/// The command line.
#[derive(Parser)]
#[command(name = "onesided-install", version, about = "Installs the C interface of onesided", after_help = AFTER_HELP)]
struct Line {
    /// Where to [default: ~/.local]
    #[arg(long, value_name = "FOLDER")]
    prefix: Option<PathBuf>,
    /// Also under the usual names of an MPI's compilers and launcher
    #[arg(long)]
    mpi_names: bool,
    /// Removes what an earlier installation has put below the prefix, and nothing else
    #[arg(long, conflicts_with = "mpi_names")]
    uninstall: bool,
    /// The profile of Cargo to build with
    #[arg(long, value_name = "NAME", default_value = "release")]
    profile: String,
    /// Builds nothing, and installs what is in Cargo's folder of a profile
    #[arg(long, value_name = "FOLDER", conflicts_with = "profile")]
    built: Option<PathBuf>,
    /// The platform to build for, as Cargo names it [default: this one]
    #[arg(long, value_name = "TRIPLE", conflicts_with = "built")]
    target: Option<String>,
}

fn main() -> ExitCode {
    match run(&Line::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("onesided-install: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(line: &Line) -> Result<(), String> {
    let prefix = prefix(line.prefix.as_deref())?;
    if line.uninstall {
        for path in place::remove_all(&prefix)? {
            println!("removed {}", path.display());
        }
        return Ok(());
    }
    let built = match &line.built {
        Some(folder) => build::built(folder),
        None => build::build(&line.profile, line.target.as_deref())?,
    };
    let items = plan::items(&built, line.mpi_names)?;
    for path in place::place_all(&prefix, &items)? {
        println!("installed {}", path.display());
    }
    let bin = prefix.join("bin");
    let paths = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&paths).any(|path| path == bin) {
        println!("{} is not in PATH", bin.display());
    }
    Ok(())
}

/// The prefix, from the root of the file system.
fn prefix(given: Option<&Path>) -> Result<PathBuf, String> {
    let prefix = match given {
        Some(path) => path.to_owned(),
        None => std::env::home_dir()
            .filter(|home| home.is_absolute())
            .ok_or("there is no home folder; say where to by --prefix")?
            .join(".local"),
    };
    let prefix = std::path::absolute(&prefix)
        .map_err(|problem| format!("{}: {problem}", prefix.display()))?;
    // The linker and the loader give these a meaning of their own in the list of folders that a
    // program's library is looked for in.
    match prefix.to_str().map(|text| text.find([':', ',', '$', '\n'])) {
        Some(None) => Ok(prefix),
        _ => Err(format!(
            "{}: a colon, a comma, a dollar sign or a line's end in the path, or no UTF-8: no program \
             could be told to find a library there; choose another prefix",
            prefix.display()
        )),
    }
}
