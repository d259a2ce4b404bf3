//! What the tests of the C interface share: an installation of their own, a C compiler, another MPI.
#![allow(clippy::disallowed_methods, reason = "reads where another MPI is")]
#![allow(dead_code, reason = "not every test program uses all of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// An empty folder of this test program's own.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // Left by an earlier run.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

/// Runs the installer, as a user does but for the profile, which is that of the tests.
pub fn install(prefix: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_install"));
    command.arg("--prefix").arg(prefix).args(arguments);
    if !arguments.contains(&"--uninstall") {
        let profile = if cfg!(debug_assertions) { "test" } else { "release" };
        command.args(["--profile", profile]);
    }
    command.output().expect("the installer starts")
}

/// The prefix of an installation with all names, made once for each test program.
pub fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let name = std::env::current_exe().expect("this test has a path");
        let name = name.file_stem().expect("a name").to_string_lossy().into_owned();
        let prefix = folder(&format!("prefix-{name}"));
        good(&install(&prefix, &["--mpi-names"]));
        prefix
    })
}

/// A program of the installation.
pub fn installed(name: &str) -> Command {
    Command::new(prefix().join("bin").join(name))
}

/// What a successful program printed.
#[track_caller]
pub fn good(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether a program that a test needs can be started; if not, says that the test is skipped.
pub fn has(program: &str) -> bool {
    match Command::new(program).arg("--version").output() {
        Ok(_) => true,
        Err(problem) => {
            println!("skipped: this test needs '{program}': {problem}");
            false
        }
    }
}

/// The prefix of MPICH, where `ONESIDED_MPICH` names one; if not, says what is skipped.
pub fn mpich() -> Option<PathBuf> {
    let prefix = std::env::var_os("ONESIDED_MPICH").map(PathBuf::from);
    match prefix {
        Some(prefix) => {
            let library = prefix.join("lib/libmpi_abi.so.1");
            assert!(library.exists(), "ONESIDED_MPICH: there is no {}", library.display());
            Some(prefix)
        }
        None => {
            println!(
                "skipped: the comparison with MPICH, since ONESIDED_MPICH names no prefix of it"
            );
            None
        }
    }
}
