//! Debuggers: `--gdb` starts ranks below one, `--attach` starts one on a rank of a job that runs.

use crate::launcher::args::{Options, Program};
use crate::launcher::report::{self, Refusal};
use crate::launcher::{foreign, inquiry, words};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The options of the debugger before the program: to end with the program's exit code, and that all words which
/// follow are the program's.
const OPTIONS: [&str; 2] = ["--return-child-result", "--args"];

/// The debugger and its words before the program, if a rank has one.
pub fn of(options: &Options) -> Result<Vec<OsString>, Refusal> {
    if options.debugged.is_empty() {
        return Ok(Vec::new());
    }
    let mut words = found("--gdb")?;
    words.extend(OPTIONS.map(OsString::from));
    for program in options.debugged.iter().map(|rank| options.program(*rank)) {
        // The debugger would only say so in its own words, and wait for the next command.
        if foreign::located(program).is_none() {
            let error = io::Error::from_raw_os_error(nix::Error::ENOENT as i32);
            return Err(Refusal::Program { program: program.name(), error });
        }
    }
    Ok(words)
}

/// Replaces this process by a debugger on a rank of the job of process `pid`; returns the exit code if that fails.
pub fn attach(pid: u32, rank: Option<u32>) -> u8 {
    let attached = inquiry::process_of_rank(pid, rank).and_then(|process| {
        let words = found("--attach")?;
        let error =
            Command::new(&words[0]).args(&words[1..]).args(["-p", &process.to_string()]).exec();
        let what = format!("--attach: cannot start '{}'", words[0].to_string_lossy());
        Err::<(), _>(Refusal::system(&what, error))
    });
    attached.map_or_else(
        |refusal| {
            report::print(&refusal.to_string());
            refusal.code()
        },
        |()| report::LAUNCHER_FAILED,
    )
}

/// The words that start the debugger, which exists.
fn found(option: &str) -> Result<Vec<OsString>, Refusal> {
    let words = words::debugger().map_err(Refusal::Launcher)?;
    let program = Program { ranks: 1, variables: Vec::new(), directory: None, arguments: words };
    match foreign::located(&program) {
        Some(_) => Ok(program.arguments),
        None => Err(Refusal::Launcher(format!(
            "{option}: there is no debugger '{}'; install gdb, or name a debugger with the options of gdb in {}",
            program.name(),
            words::DEBUGGER,
        ))),
    }
}
