//! The line of the program that made the present call. C passes no line: it is found by the address to which the call
//! returns, and Python is asked. The first call of a line takes milliseconds.

use crate::{entry, python};
use backtrace::resolve;
use std::cell::Cell;
use std::collections::HashMap;
use std::env::current_dir;
use std::ffi::c_void;
use std::fs::{self, File};
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// `app.c:118`, or `app.py:27` of a call by mpi4py; without debug information the function, if it is one of the program itself.
/// `None` if neither is known.
pub fn of_program() -> Option<String> {
    let of_python =
        || python::line().map(|(file, line)| format!("{}:{line}", shown(file.as_ref())));
    of_code(entry::caller()?).or_else(of_python)
}

/// The same of an address to which a function returns.
pub fn of_code(address: usize) -> Option<String> {
    static FOUND: Mutex<Option<HashMap<usize, Option<String>>>> = Mutex::new(None);
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    found.get_or_insert_default().entry(address).or_insert_with(|| describe(address)).clone()
}

/// The address to which the present call returns, if [`of_code`] knows its line.
pub fn of_caller() -> Option<usize> {
    thread_local! {
        /// Some addresses, and whether their lines are known.
        static LOOKED_UP: [Cell<(usize, bool)>; 16] = const { [const { Cell::new((0, false)) }; 16] };
    }
    let address = entry::caller()?;
    LOOKED_UP.with(|found| {
        let found = &found[(address >> 2) % found.len()];
        if found.get().0 != address {
            found.set((address, of_code(address).is_some()));
        }
        found.get().1.then_some(address)
    })
}

/// The line as a sentence ends with it: ", at app.c:118"; nothing if it is unknown.
pub fn behind_a_sentence() -> String {
    of_program().map_or_else(String::new, |line| format!(", at {line}"))
}

/// What is mapped of files, each with its path.
fn mappings() -> Vec<(Range<usize>, String)> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let parse = |line: &str| -> Option<(Range<usize>, String)> {
        let (start, rest) = line.split_once('-')?;
        let end = rest.split(' ').next()?;
        let number = |digits| usize::from_str_radix(digits, 16).ok();
        let file = &line[line.find('/')?..];
        Some((number(start)?..number(end)?, file.to_owned()))
    };
    maps.lines().filter_map(parse).collect()
}

/// The file that is mapped at this address.
fn file_at(address: usize) -> Option<String> {
    let at = mappings().into_iter().find(|(range, _)| range.contains(&address));
    at.map(|(_, file)| file)
}

/// What is added to the addresses in the program's file where it is mapped, and the path of the file.
pub fn program() -> Option<(u64, String)> {
    let path = fs::read_link(PROGRAM).ok()?.into_os_string().into_string().ok()?;
    // The type of a file in the format ELF: one that is mapped at its own addresses, or anywhere.
    let mut head = [0; 18];
    File::open(PROGRAM).ok()?.read_exact(&mut head).ok()?;
    let is_fixed = head[16..] == 2u16.to_le_bytes();
    let start = mappings().iter().find(|(_, file)| *file == path)?.0.start;
    Some((if is_fixed { 0 } else { start as u64 }, path))
}

const PROGRAM: &str = "/proc/self/exe";

fn describe(address: usize) -> Option<String> {
    // Its functions have made the call for one of the program.
    if file_at(address).is_some_and(|file| python::is_binding(file.as_ref())) {
        return None;
    }
    // Of functions that are inlined in each other the innermost first.
    let (mut line, mut innermost, mut function) = (None, None, None);
    resolve(address as *mut c_void, |symbol| {
        let found = || Some(format!("{}:{}", shown(symbol.filename()?), symbol.lineno()?));
        let is_of_program = symbol.filename().is_some_and(|file| !is_of_system(file));
        line = line.take().or_else(|| found().filter(|_| is_of_program));
        innermost = innermost.take().or_else(found);
        function = function.take().or_else(|| symbol.name().map(|name| name.to_string()));
    });
    let of_program = || {
        let program = fs::read_link(PROGRAM).ok()?;
        file_at(address).filter(|file| Path::new(file) == program)
    };
    let without = |function| format!("{function} (compiled without -g: no line)");
    line.or(innermost).or_else(|| of_program().and(function).map(without))
}

/// Whether a file is a header of the system, such as those of C++'s algorithms.
fn is_of_system(file: &Path) -> bool {
    let is_of_cxx = file.to_str().is_some_and(|file| file.contains("/include/c++/"));
    is_of_cxx || file.starts_with("/usr/include")
}

/// A path as the user would type it.
fn shown(file: &Path) -> String {
    let here = current_dir().ok();
    let file = here.and_then(|here| file.strip_prefix(here).ok()).unwrap_or(file);
    file.display().to_string()
}
