//! The line of the program that made the present call. C passes no line, so the stack is unwound, and Python is asked. That
//! takes some microseconds, and milliseconds for the first call of a line. A thread that calls often remembers where its
//! stack has the addresses.
#![allow(unsafe_code, reason = "reads return addresses on the stack")]

use crate::python;
use backtrace::{resolve, trace};
use std::cell::RefCell;
use std::collections::HashMap;
use std::env::current_dir;
use std::ffi::c_void;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::ptr::with_exposed_provenance;
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
#[inline(never)]
fn address() -> Option<usize> {
    static LIBRARY: LazyLock<Option<Range<usize>>> =
        LazyLock::new(|| mapping(address as *const () as usize).map(|(range, _)| range));
    let library = LIBRARY.as_ref()?;
    let here = 0u8;
    let here = (&raw const here).expose_provenance();
    let of_program = |path: &ReturnPath| path.end(here).filter(|end| !library.contains(end));
    // A thread that ends may have forgotten them.
    let known = PATHS.try_with(|paths| paths.borrow().iter().find_map(of_program));
    if let Ok(Some(address)) = known {
        return Some(address);
    }
    let (mut found, mut path) = (None, ReturnPath::default());
    trace(|frame| {
        let address = frame.ip() as usize;
        path.add(here, frame.sp() as usize, address);
        found = Some(address).filter(|address| !library.contains(address));
        found.is_none()
    });
    if found.is_some() && path.is_whole {
        let _ = PATHS.try_with(|paths| {
            let mut paths = paths.borrow_mut();
            paths.truncate(MOST_PATHS - 1);
            paths.insert(0, path);
        });
    }
    found
}

/// Paths that a thread remembers.
const MOST_PATHS: usize = 16;

thread_local! {
    static PATHS: RefCell<Vec<ReturnPath>> = const { RefCell::new(Vec::new()) };
}

/// Where a thread's stack has had the addresses to which functions return, from [`address`] to the program.
///
/// A call has a frame of one size. So if `address` returns to the same call, that one's address lies where it has
/// lain, and so on, until the last one, which may be any.
#[derive(Default)]
struct ReturnPath {
    /// Distances from a variable of `address`, and what was there.
    all: Vec<(usize, usize)>,
    /// Whether all were there: an unwinder need not find them on the stack.
    is_whole: bool,
}

impl ReturnPath {
    /// Adds a frame, which has called another one when its stack pointer was `sp`, and continues at `address`.
    fn add(&mut self, here: usize, sp: usize, address: usize) {
        // The processor's instruction for calls stores the address there.
        let Some(distance) = sp.checked_sub(size_of::<usize>()).and_then(|at| at.checked_sub(here))
        else {
            return;
        };
        if distance == 0 || !cfg!(target_arch = "x86_64") {
            return;
        }
        let is_first = self.all.is_empty();
        // SAFETY: the frame lies on the stack, behind `address`, which has not returned.
        let is_there = unsafe { word_at(here + distance) } == address;
        self.is_whole = is_there && (is_first || self.is_whole);
        self.all.push((distance, address));
    }

    /// The address at the end of the path, if the functions of the library return as it has it.
    fn end(&self, here: usize) -> Option<usize> {
        let ((last, _), before) = self.all.split_last()?;
        let is_same = |(distance, address): &(usize, usize)| {
            // SAFETY: all calls before are the path's, so the frame of this one lies there.
            unsafe { word_at(here + distance) == *address }
        };
        // SAFETY: likewise.
        before.iter().all(is_same).then(|| unsafe { word_at(here + last) })
    }
}

/// A word of this thread's stack.
///
/// # Safety
/// It lies in a frame that has not returned.
unsafe fn word_at(at: usize) -> usize {
    // SAFETY: the caller's obligation; return addresses are aligned, and nothing changes them.
    unsafe { with_exposed_provenance::<usize>(at).read_volatile() }
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
