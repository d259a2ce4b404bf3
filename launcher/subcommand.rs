//! `cargo rma`: Cargo starts this program for the word `rma`, and it becomes the `rmarun` that was installed
//! with it.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// `rmarun` could not be started: its code for errors of its own.
const LAUNCHER_FAILED: u8 = 125;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    // Cargo passes its own word on.
    arguments.next_if(|first| first == OsStr::new("rma"));
    let rmarun = beside();
    let error = Command::new(&rmarun).args(arguments).exec();
    eprintln!("cargo rma: cannot start '{}': {error}", rmarun.display());
    ExitCode::from(LAUNCHER_FAILED)
}

/// The `rmarun` in the folder of this program, or that of the path if the kernel does not name the folder.
fn beside() -> PathBuf {
    let own = std::env::current_exe().ok();
    own.map_or("rmarun".into(), |own| own.with_file_name("rmarun"))
}
