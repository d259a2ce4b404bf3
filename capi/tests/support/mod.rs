//! What the tests of the C interface share: an installation of their own, a C compiler, another MPI.
#![allow(clippy::disallowed_methods, reason = "reads where another MPI and mpi4py are")]
#![allow(dead_code, reason = "not every test program uses all of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::SystemTime;

/// An empty folder of this test program's own.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // Left by an earlier run.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

/// Runs the installer, as a user does, but for what it installs: the build of this test, if library and launcher
/// are of the present sources (`cargo test --workspace` builds both). If not, it builds them in this profile.
pub fn install(prefix: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onesided-install"));
    command.arg("--prefix").arg(prefix).args(arguments);
    if !arguments.contains(&"--uninstall") {
        let folder =
            Path::new(env!("CARGO_BIN_EXE_onesided-install")).parent().expect("a profile's folder");
        let is_current = is_current(&folder.join("deps/libmpi_abi.so"), &["src", "capi"])
            && is_current(&folder.join("deps/libmpi.so"), &["src", "capi"])
            && is_current(&folder.join("deps/libonesided_node.so"), &["src", "capi"])
            && is_current(&folder.join("rmarun"), &["src", "launcher"]);
        if is_current {
            command.arg("--built").arg(folder);
        } else {
            let profile = if cfg!(debug_assertions) { "test" } else { "release" };
            command.args(["--profile", profile]);
        }
    }
    command.output().expect("the installer starts")
}

/// Whether a file exists and is newer than these folders of the repository.
fn is_current(file: &Path, folders: &[&str]) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let changed = folders.iter().map(|folder| latest_change(&root.join(folder))).max();
    let built = fs::metadata(file).and_then(|file| file.modified());
    built.is_ok_and(|built| changed.is_some_and(|changed| changed <= built))
}

/// When a file below a folder changed last, tests aside.
fn latest_change(folder: &Path) -> SystemTime {
    let entries = fs::read_dir(folder).expect("a folder of the repository");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let change = |path: PathBuf| match path.is_dir() {
        true if path.ends_with("tests") => SystemTime::UNIX_EPOCH,
        true => latest_change(&path),
        false => fs::metadata(&path).and_then(|file| file.modified()).expect("a time"),
    };
    paths.map(change).max().unwrap_or(SystemTime::UNIX_EPOCH)
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

/// Whether a program that a test needs can be started; if not, prints that the test is skipped.
pub fn has(program: &str) -> bool {
    match Command::new(program).arg("--version").output() {
        Ok(_) => true,
        Err(problem) => {
            println!("skipped: this test needs '{program}': {problem}");
            false
        }
    }
}

/// The prefix of MPICH, where `ONESIDED_MPICH` names one; if not, prints what is skipped.
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

/// The Python with mpi4py that `ONESIDED_PYTHON` names, or `python3`; `None`, with the reason on standard output, if it has
/// none.
pub fn python_with_mpi4py() -> Option<String> {
    let python = std::env::var("ONESIDED_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python).args(["-c", "import mpi4py"]).output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        println!("skipped: '{python}' has no mpi4py; ONESIDED_PYTHON names another Python");
    }
    is_there.then_some(python)
}
