//! The line of a Python program that made the present call, by functions of Python's C API that the process has, if it runs
//! Python. mpi4py gives up the interpreter's lock during a call, so this waits for the lock.
#![allow(unsafe_code, reason = "calls the functions of the interpreter")]

use crate::arguments::Text;
use crate::process::{find, real};
use std::ffi::{CStr, c_int};
use std::path::{Component, Path};
use std::sync::LazyLock;

/// Frames that are looked at.
const MOST_FRAMES: usize = 64;

/// Whether the process has all functions below: Python 3.9 or later.
static IS_THERE: LazyLock<bool> = LazyLock::new(|| {
    const NEEDED: [&CStr; 12] = [
        c"Py_IsInitialized",
        c"PyGILState_GetThisThreadState",
        c"PyGILState_Ensure",
        c"PyGILState_Release",
        c"PyEval_GetFrame",
        c"PyFrame_GetLineNumber",
        c"PyFrame_GetCode",
        c"PyFrame_GetBack",
        c"PyObject_GetAttrString",
        c"PyUnicode_AsUTF8",
        c"PyErr_Clear",
        c"Py_DecRef",
    ];
    NEEDED.iter().all(|name| find(name) != 0)
});

/// A reference to an object of Python. Only while this thread has the interpreter's lock.
struct Object(usize);

impl Object {
    fn new(address: usize) -> Option<Object> {
        (address != 0).then_some(Object(address))
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        real!(c"Py_DecRef", fn(usize))(self.0);
    }
}

/// The interpreter's lock.
struct Locked(c_int);

impl Locked {
    /// `None` if this thread does not run Python, or the interpreter is not there any more.
    fn new() -> Option<Locked> {
        let is_running = || {
            real!(c"Py_IsInitialized", fn() -> c_int)() != 0
                && real!(c"PyGILState_GetThisThreadState", fn() -> usize)() != 0
                && !is_ending()
        };
        (*IS_THERE && is_running()).then(|| Locked(real!(c"PyGILState_Ensure", fn() -> c_int)()))
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        real!(c"PyGILState_Release", fn(c_int))(self.0);
    }
}

/// Whether the interpreter ends: then it lets no thread have its lock.
fn is_ending() -> bool {
    static IS_NAMED: LazyLock<[bool; 2]> =
        LazyLock::new(|| [c"Py_IsFinalizing", c"_Py_IsFinalizing"].map(|name| find(name) != 0));
    match *IS_NAMED {
        [true, _] => real!(c"Py_IsFinalizing", fn() -> c_int)() != 0,
        [_, true] => real!(c"_Py_IsFinalizing", fn() -> c_int)() != 0,
        _ => false,
    }
}

/// Whether a file belongs to mpi4py.
pub fn is_binding(file: &Path) -> bool {
    file.components().any(|part| part == Component::Normal("mpi4py".as_ref()))
}

/// The file and the line of the innermost function of the program that made the present call; where all are mpi4py's, of the
/// innermost one. May block while other threads run Python.
pub fn line() -> Option<(String, c_int)> {
    let _locked = Locked::new()?;
    let first = real!(c"PyEval_GetFrame", fn() -> usize)();
    let innermost = place(first)?;
    let (mut at, mut held) = (first, None);
    for _ in 0..MOST_FRAMES {
        match place(at) {
            Some(place) if !is_binding(Path::new(&place.0)) => return Some(place),
            _ => {}
        }
        let Some(back) = Object::new(real!(c"PyFrame_GetBack", fn(usize) -> usize)(at)) else {
            break;
        };
        at = back.0;
        held = Some(back);
    }
    drop(held);
    Some(innermost)
}

/// The file and the line of a frame.
fn place(frame: usize) -> Option<(String, c_int)> {
    if frame == 0 {
        return None;
    }
    let code = Object::new(real!(c"PyFrame_GetCode", fn(usize) -> usize)(frame))?;
    let attribute = real!(c"PyObject_GetAttrString", fn(usize, *const std::ffi::c_char) -> usize);
    let name = Object::new(attribute(code.0, c"co_filename".as_ptr()));
    let file =
        name.and_then(|name| real!(c"PyUnicode_AsUTF8", fn(usize) -> Text)(name.0).read().ok());
    if file.is_none() {
        real!(c"PyErr_Clear", fn())();
    }
    Some((file?, real!(c"PyFrame_GetLineNumber", fn(usize) -> c_int)(frame)))
}
