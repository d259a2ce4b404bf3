//! Programs that are files of Python. One that the system does not execute by itself is run by an interpreter.

use crate::launcher::args::Program;
use crate::launcher::foreign::{INTERPRETED_BY, located, value};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const SUFFIXES: [&str; 2] = ["py", "pyc"];
const INTERPRETER: &str = "python3";

/// Puts the interpreter in front of a file of Python that is not executable, or that is in the working directory
/// and not in PATH, as `python3` itself would take it. Returns whether the program is such a file.
pub fn interpret(program: &mut Program) -> bool {
    let file = Path::new(&program.arguments[0]);
    if !file.extension().is_some_and(|end| SUFFIXES.iter().any(|suffix| end == *suffix)) {
        return false;
    }
    let is_executable =
        |path: &Path| fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o111 != 0);
    let directory = program.directory.as_deref().unwrap_or(Path::new(""));
    let executes = located(program).is_some_and(|path| is_executable(&path));
    if !executes && directory.join(file).is_file() {
        let interpreter = value(program, INTERPRETED_BY).filter(|name| !name.is_empty());
        let interpreter = interpreter.unwrap_or_else(|| OsStr::new(INTERPRETER).to_owned());
        program.arguments.insert(0, interpreter);
    }
    true
}
