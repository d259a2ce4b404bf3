//! Building what is installed.
#![allow(clippy::disallowed_methods, reason = "Cargo says by its environment where it is")]

use crate::plan::filled;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where Cargo has put what it built.
pub struct Built {
    pub library: PathBuf,
    /// The same by MPICH's ABI.
    pub mpich: PathBuf,
    /// The windows of a node under another MPI.
    pub node: PathBuf,
    pub launcher: PathBuf,
    /// A launcher that runs on this machine, to print the manual.
    pub printer: PathBuf,
    /// What holds the folder of all of them, if it is to be removed.
    temporary: Option<Temporary>,
}

const PACKAGE: &str = include_str!("package.toml");

/// Builds libraries and launcher. They have a target folder of their own, because Cargo gives a shared library the same
/// name whatever its features are: what is installed must not be a build for tests.
pub fn build(profile: &str, target: Option<&str>) -> Result<Built, String> {
    let sources = Sources::find()?;
    let launcher = ["--package", "onesided", "--bin", "rmarun"];
    let packages = ["onesided-capi", "onesided-mpich", "onesided-node"];
    let libraries: Vec<&str> = packages.iter().flat_map(|name| ["--package", name]).collect();
    let libraries = [&libraries[..], &["--lib"]].concat();
    let here = sources.target.join(folder(profile));
    let mut built = match target {
        None => {
            sources.cargo(profile, &[&launcher[..], &libraries].concat())?;
            of(&here, &here)
        }
        Some(target) => {
            sources.cargo(profile, &launcher)?;
            sources.cargo(profile, &[&["--target", target], &launcher[..], &libraries].concat())?;
            let there = sources.target.join(target).join(folder(profile));
            Built { printer: here.join("rmarun"), ..of(&there, &there) }
        }
    };
    built.temporary = sources.temporary;
    Ok(built)
}

/// What is built, and where.
struct Sources {
    manifest: PathBuf,
    target: PathBuf,
    options: &'static [&'static str],
    temporary: Option<Temporary>,
}

impl Sources {
    /// The workspace, below the target folder that this program was built in; or, for a program of `cargo install`, the
    /// packages of this version, in a folder that is removed at the end.
    fn find() -> Result<Sources, String> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        // <target folder>/<profile>/build/<package>/out
        let target = Path::new(env!("OUT_DIR")).ancestors().nth(4).filter(|folder| folder.exists());
        // No package has the folder `mpich`, which is a package itself.
        if let (Some(target), true) = (target, here.join("mpich").exists()) {
            return Ok(Sources {
                manifest: here.join("../Cargo.toml"),
                target: target.join("install"),
                options: &["--locked", "--quiet"],
                temporary: None,
            });
        }
        let temporary = Temporary::new()?;
        let manifest = temporary.0.join("Cargo.toml");
        for (path, text) in
            [(&manifest, &filled(PACKAGE, &[])[..]), (&temporary.0.join("lib.rs"), "")]
        {
            fs::write(path, text).map_err(|problem| format!("{}: {problem}", path.display()))?;
        }
        let target = temporary.0.join("target");
        Ok(Sources { manifest, target, options: &[], temporary: Some(temporary) })
    }

    fn cargo(&self, profile: &str, what: &[&str]) -> Result<(), String> {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--profile", profile]).args(self.options).args(what);
        cargo.arg("--manifest-path").arg(&self.manifest).arg("--target-dir").arg(&self.target);
        match cargo.status().map_err(|problem| format!("cannot run cargo: {problem}"))? {
            status if status.success() => Ok(()),
            status => Err(format!("cargo could not build library and launcher: {status}")),
        }
    }
}

/// A folder that is removed when the value is dropped.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Result<Temporary, String> {
        let folder = env::temp_dir().join(format!("onesided-install-{}", std::process::id()));
        fs::create_dir(&folder).map_err(|problem| format!("{}: {problem}", folder.display()))?;
        Ok(Temporary(folder))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What was built is installed by now, or the error is known.
        let _ = fs::remove_dir_all(&self.0);
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
        node: libraries.join("libonesided_node.so"),
        launcher: folder.join("rmarun"),
        printer: folder.join("rmarun"),
        temporary: None,
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
