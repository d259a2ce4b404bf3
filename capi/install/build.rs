//! Building what is installed.
#![allow(clippy::disallowed_methods, reason = "Cargo says by its environment where it is")]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where Cargo has put what it built.
pub struct Built {
    pub library: PathBuf,
    /// The same by MPICH's ABI.
    pub mpich: PathBuf,
    pub launcher: PathBuf,
    /// A launcher that runs on this machine, to print the manual.
    pub printer: PathBuf,
}

/// Builds library and launcher, below the target folder that this program was built in. They have a
/// folder of their own, because Cargo gives a shared library the same name whatever its features are: what
/// is installed must not be a build for tests.
pub fn build(profile: &str, target: Option<&str>) -> Result<Built, String> {
    let program = env::current_exe().map_err(|problem| format!("where am I? {problem}"))?;
    let all = program
        .parent()
        .and_then(Path::parent)
        .ok_or_else(|| format!("{}: not in a target folder of Cargo", program.display()))?
        .join("install");
    let launcher = ["--package", "onesided", "--bin", "rmarun"];
    let libraries = ["--package", "onesided-capi", "--package", "onesided-mpich", "--lib"];
    let here = all.join(folder(profile));
    let Some(target) = target else {
        cargo(profile, &all, &[&launcher[..], &libraries].concat())?;
        return Ok(of(&here, &here));
    };
    cargo(profile, &all, &launcher)?;
    cargo(profile, &all, &[&["--target", target], &launcher[..], &libraries].concat())?;
    let there = all.join(target).join(folder(profile));
    Ok(Built { printer: here.join("rmarun"), ..of(&there, &there) })
}

fn cargo(profile: &str, folder: &Path, what: &[&str]) -> Result<(), String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--locked", "--quiet", "--profile", profile]).args(what);
    cargo.arg("--manifest-path").arg(&workspace).arg("--target-dir").arg(folder);
    match cargo.status().map_err(|problem| format!("cannot run cargo: {problem}"))? {
        status if status.success() => Ok(()),
        status => Err(format!("cargo could not build library and launcher: {status}")),
    }
}

/// What is in Cargo's folder of a profile after a test.
pub fn built(folder: &Path) -> Built {
    of(folder, &folder.join("deps"))
}

fn of(folder: &Path, libraries: &Path) -> Built {
    Built {
        library: libraries.join("libmpi_abi.so"),
        mpich: libraries.join("libmpi.so"),
        launcher: folder.join("rmarun"),
        printer: folder.join("rmarun"),
    }
}

/// Cargo's folder of a profile.
fn folder(profile: &str) -> &str {
    match profile {
        "dev" | "test" => "debug",
        "bench" => "release",
        other => other,
    }
}
