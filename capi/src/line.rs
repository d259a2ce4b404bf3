//! The line of the program that made the present call. C passes no line, so the stack is unwound, and Python is asked. That
//! takes some microseconds, and milliseconds for the first call of a line, so it is for calls that fail or wait long.

use crate::python;
use backtrace::{resolve, trace};
use std::collections::HashMap;
use std::env::current_dir;
use std::ffi::c_void;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

/// `app.c:118`, or `app.py:27` of a call by mpi4py; without debug information the function, if it is one of the program itself.
/// `None` if neither is known.
pub fn of_program() -> Option<String> {
    let of_python =
        || python::line().map(|(file, line)| format!("{}:{line}", shown(file.as_ref())));
    of_code(address()?).or_else(of_python)
}

/// The same of an address to which a function returns.
pub fn of_code(address: usize) -> Option<String> {
    static FOUND: Mutex<Option<HashMap<usize, Option<String>>>> = Mutex::new(None);
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    found.get_or_insert_default().entry(address).or_insert_with(|| describe(address)).clone()
}

/// The line as a sentence ends with it: ", at app.c:118"; nothing if it is unknown.
pub fn behind_a_sentence() -> String {
    of_program().map_or_else(String::new, |line| format!(", at {line}"))
}

/// The address to which the library's function returns.
fn address() -> Option<usize> {
    static LIBRARY: LazyLock<Option<Range<usize>>> =
        LazyLock::new(|| mapping(address as *const () as usize).map(|(range, _)| range));
    let library = LIBRARY.as_ref()?;
    let mut found = None;
    trace(|frame| {
        let address = frame.ip() as usize;
        found = Some(address).filter(|address| !library.contains(address));
        found.is_none()
    });
    found
}

/// All that is mapped of the file that has this address, and the file.
fn mapping(address: usize) -> Option<(Range<usize>, String)> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let parse = |line: &str| -> Option<(Range<usize>, String)> {
        let (start, rest) = line.split_once('-')?;
        let end = rest.split(' ').next()?;
        let number = |digits| usize::from_str_radix(digits, 16).ok();
        let file = &line[line.find('/')?..];
        Some((number(start)?..number(end)?, file.to_owned()))
    };
    let maps: Vec<_> = maps.lines().filter_map(parse).collect();
    let (_, file) = maps.iter().find(|(range, _)| range.contains(&address))?;
    let of_file = || maps.iter().filter(|(_, other)| other == file).map(|(range, _)| range);
    let range =
        of_file().map(|range| range.start).min()?..of_file().map(|range| range.end).max()?;
    Some((range, file.clone()))
}

fn describe(address: usize) -> Option<String> {
    // Its functions have made the call for one of the program.
    if mapping(address).is_some_and(|(_, file)| python::is_binding(file.as_ref())) {
        return None;
    }
    let (mut line, mut function) = (None, None);
    resolve(address as *mut c_void, |symbol| {
        let file = symbol.filename().map(shown);
        line = line.take().or_else(|| Some(format!("{}:{}", file?, symbol.lineno()?)));
        function = function.take().or_else(|| symbol.name().map(|name| name.to_string()));
    });
    let of_program = || {
        let program = fs::read_link("/proc/self/exe").ok()?;
        mapping(address).filter(|(_, file)| Path::new(file) == program)
    };
    let without = |function| format!("{function} (compiled without -g: no line)");
    line.or_else(|| of_program().and(function).map(without))
}

/// A path as the user would type it.
fn shown(file: &Path) -> String {
    let here = current_dir().ok();
    let file = here.and_then(|here| file.strip_prefix(here).ok()).unwrap_or(file);
    file.display().to_string()
}
