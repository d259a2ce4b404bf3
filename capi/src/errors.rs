//! Error classes, codes and strings (MPI-4.1 §9.4).

use crate::abi::*;
use crate::arguments::Address;
use crate::failure::{Failure, Outcome};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An error class or code that the program has added.
struct Added {
    /// Its class, which may be itself.
    class: c_int,
    text: String,
}

/// The added ones by their codes.
static ADDED: Mutex<BTreeMap<c_int, Added>> = Mutex::new(BTreeMap::new());
/// `MPI_LASTUSEDCODE`, which C reads by its address.
static LAST_USED: AtomicI32 = AtomicI32::new(MPI_ERR_LASTCODE);

fn added() -> MutexGuard<'static, BTreeMap<c_int, Added>> {
    ADDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The address of `MPI_LASTUSEDCODE`.
pub fn last_used() -> Address {
    Address::of(LAST_USED.as_ptr())
}

/// A new code of a class; without one, a class of its own.
pub fn add(class: Option<c_int>) -> Outcome<c_int> {
    let mut added = added();
    if let Some(class) = class {
        let is_class = added.get(&class).is_some_and(|known| known.class == class);
        if !is_class && description(class).is_none() {
            return Err(no_code(class, "error class"));
        }
    }
    // It orders nothing else, and the lock is held.
    let code = LAST_USED.fetch_add(1, Ordering::Relaxed) + 1;
    added.insert(code, Added { class: class.unwrap_or(code), text: String::new() });
    Ok(code)
}

/// Sets the string of an added code; an empty text removes it.
pub fn set_text(code: c_int, text: String) -> Outcome {
    let mut added = added();
    added.get_mut(&code).ok_or_else(|| no_code(code, "code that was added"))?.text = text;
    Ok(())
}

/// Removes an added class (`is_class`) or code to which nothing refers any more.
pub fn remove(code: c_int, is_class: bool) -> Outcome {
    let mut added = added();
    let what = if is_class { "class that was added" } else { "code that was added" };
    let known = added.get(&code).filter(|known| (known.class == code) == is_class);
    if !known.ok_or_else(|| no_code(code, what))?.text.is_empty() {
        let why = format!("{code} still has a text");
        return Err(Failure::new(MPI_ERR_OTHER, why));
    }
    let member = added.iter().find(|(other, known)| **other != code && known.class == code);
    if let Some((member, _)) = member {
        let why = format!("the code {member} still belongs to the class {code}");
        return Err(Failure::new(MPI_ERR_OTHER, why));
    }
    added.remove(&code);
    Ok(())
}

fn no_code(code: c_int, what: &str) -> Failure {
    Failure::new(MPI_ERR_ARG, format!("{code} is no {what}"))
}

/// The class of a code.
pub fn class(code: c_int) -> Outcome<c_int> {
    match added().get(&code) {
        Some(known) => Ok(known.class),
        None if description(code).is_some() => Ok(code),
        None => Err(no_code(code, "error code")),
    }
}

/// The string of a code, without this thread's details.
pub fn text(code: c_int) -> Outcome<String> {
    if let Some(known) = added().get(&code) {
        return Ok(known.text.clone());
    }
    match description(code) {
        Some(text) => Ok(format!("{}: {text}", name(code))),
        None => Err(no_code(code, "error code")),
    }
}

/// The name of a class of the standard, or "code N".
pub fn name(code: c_int) -> String {
    match CLASSES.iter().find(|(class, ..)| *class == code) {
        Some((_, name, _)) => (*name).into(),
        None => format!("code {code}"),
    }
}

/// The standard's description of a class.
pub fn description(code: c_int) -> Option<&'static str> {
    CLASSES.iter().find(|(class, ..)| *class == code).map(|(.., text)| *text)
}

const CLASSES: &[(c_int, &str, &str)] = &[
    (MPI_SUCCESS, "MPI_SUCCESS", "no error"),
    (MPI_ERR_BUFFER, "MPI_ERR_BUFFER", "invalid buffer"),
    (MPI_ERR_COUNT, "MPI_ERR_COUNT", "invalid count"),
    (MPI_ERR_TYPE, "MPI_ERR_TYPE", "invalid datatype"),
    (MPI_ERR_TAG, "MPI_ERR_TAG", "invalid tag"),
    (MPI_ERR_COMM, "MPI_ERR_COMM", "invalid communicator"),
    (MPI_ERR_RANK, "MPI_ERR_RANK", "invalid rank"),
    (MPI_ERR_REQUEST, "MPI_ERR_REQUEST", "invalid request"),
    (MPI_ERR_ROOT, "MPI_ERR_ROOT", "invalid root"),
    (MPI_ERR_GROUP, "MPI_ERR_GROUP", "invalid group"),
    (MPI_ERR_OP, "MPI_ERR_OP", "invalid operation"),
    (MPI_ERR_TOPOLOGY, "MPI_ERR_TOPOLOGY", "invalid topology"),
    (MPI_ERR_DIMS, "MPI_ERR_DIMS", "invalid dimensions"),
    (MPI_ERR_ARG, "MPI_ERR_ARG", "invalid argument"),
    (MPI_ERR_UNKNOWN, "MPI_ERR_UNKNOWN", "unknown error"),
    (MPI_ERR_TRUNCATE, "MPI_ERR_TRUNCATE", "message truncated"),
    (MPI_ERR_OTHER, "MPI_ERR_OTHER", "known error that is in no other class"),
    (MPI_ERR_INTERN, "MPI_ERR_INTERN", "internal error"),
    (MPI_ERR_PENDING, "MPI_ERR_PENDING", "request still pending"),
    (MPI_ERR_IN_STATUS, "MPI_ERR_IN_STATUS", "the error is in the status"),
    (MPI_ERR_ACCESS, "MPI_ERR_ACCESS", "permission denied"),
    (MPI_ERR_AMODE, "MPI_ERR_AMODE", "invalid access mode"),
    (MPI_ERR_ASSERT, "MPI_ERR_ASSERT", "invalid assertion"),
    (MPI_ERR_BAD_FILE, "MPI_ERR_BAD_FILE", "invalid file name"),
    (MPI_ERR_BASE, "MPI_ERR_BASE", "invalid base address"),
    (MPI_ERR_CONVERSION, "MPI_ERR_CONVERSION", "a conversion function failed"),
    (MPI_ERR_DISP, "MPI_ERR_DISP", "invalid displacement"),
    (MPI_ERR_DUP_DATAREP, "MPI_ERR_DUP_DATAREP", "the data representation exists already"),
    (MPI_ERR_FILE_EXISTS, "MPI_ERR_FILE_EXISTS", "the file exists"),
    (MPI_ERR_FILE_IN_USE, "MPI_ERR_FILE_IN_USE", "the file is in use"),
    (MPI_ERR_FILE, "MPI_ERR_FILE", "invalid file handle"),
    (MPI_ERR_INFO_KEY, "MPI_ERR_INFO_KEY", "invalid info key"),
    (MPI_ERR_INFO_NOKEY, "MPI_ERR_INFO_NOKEY", "the info key is not set"),
    (MPI_ERR_INFO_VALUE, "MPI_ERR_INFO_VALUE", "invalid info value"),
    (MPI_ERR_INFO, "MPI_ERR_INFO", "invalid info object"),
    (MPI_ERR_IO, "MPI_ERR_IO", "input or output failed"),
    (MPI_ERR_KEYVAL, "MPI_ERR_KEYVAL", "invalid attribute key"),
    (MPI_ERR_LOCKTYPE, "MPI_ERR_LOCKTYPE", "invalid lock type"),
    (MPI_ERR_NAME, "MPI_ERR_NAME", "the service name is not published"),
    (MPI_ERR_NO_MEM, "MPI_ERR_NO_MEM", "not enough memory"),
    (MPI_ERR_NOT_SAME, "MPI_ERR_NOT_SAME", "a collective argument differs between ranks"),
    (MPI_ERR_NO_SPACE, "MPI_ERR_NO_SPACE", "no space left"),
    (MPI_ERR_NO_SUCH_FILE, "MPI_ERR_NO_SUCH_FILE", "the file does not exist"),
    (MPI_ERR_PORT, "MPI_ERR_PORT", "invalid port"),
    (MPI_ERR_QUOTA, "MPI_ERR_QUOTA", "quota exceeded"),
    (MPI_ERR_READ_ONLY, "MPI_ERR_READ_ONLY", "the file is read-only"),
    (MPI_ERR_RMA_ATTACH, "MPI_ERR_RMA_ATTACH", "memory cannot be attached"),
    (MPI_ERR_RMA_CONFLICT, "MPI_ERR_RMA_CONFLICT", "conflicting accesses to a window"),
    (MPI_ERR_RMA_RANGE, "MPI_ERR_RMA_RANGE", "the target memory is not part of the window"),
    (MPI_ERR_RMA_SHARED, "MPI_ERR_RMA_SHARED", "memory cannot be shared"),
    (MPI_ERR_RMA_SYNC, "MPI_ERR_RMA_SYNC", "wrong synchronisation of accesses to a window"),
    (MPI_ERR_SERVICE, "MPI_ERR_SERVICE", "invalid service name"),
    (MPI_ERR_SIZE, "MPI_ERR_SIZE", "invalid size"),
    (MPI_ERR_SPAWN, "MPI_ERR_SPAWN", "processes cannot be started"),
    (MPI_ERR_UNSUPPORTED_DATAREP, "MPI_ERR_UNSUPPORTED_DATAREP", "unsupported data representation"),
    (MPI_ERR_UNSUPPORTED_OPERATION, "MPI_ERR_UNSUPPORTED_OPERATION", "unsupported operation"),
    (MPI_ERR_WIN, "MPI_ERR_WIN", "invalid window"),
    (MPI_ERR_RMA_FLAVOR, "MPI_ERR_RMA_FLAVOR", "the window has the wrong flavour for the call"),
    (MPI_ERR_PROC_ABORTED, "MPI_ERR_PROC_ABORTED", "a rank has failed"),
    (MPI_ERR_VALUE_TOO_LARGE, "MPI_ERR_VALUE_TOO_LARGE", "the value does not fit its type"),
    (MPI_ERR_SESSION, "MPI_ERR_SESSION", "invalid session"),
    (MPI_ERR_ERRHANDLER, "MPI_ERR_ERRHANDLER", "invalid error handler"),
    (MPI_ERR_ABI, "MPI_ERR_ABI", "wrong use of the ABI"),
    // MPI-4.1 §15.3.10
    (MPI_T_ERR_CANNOT_INIT, "MPI_T_ERR_CANNOT_INIT", "the tool interface cannot be initialised"),
    (
        MPI_T_ERR_NOT_ACCESSIBLE,
        "MPI_T_ERR_NOT_ACCESSIBLE",
        "the function of the tool interface is not accessible now",
    ),
    (
        MPI_T_ERR_NOT_INITIALIZED,
        "MPI_T_ERR_NOT_INITIALIZED",
        "the tool interface is not initialised",
    ),
    (
        MPI_T_ERR_NOT_SUPPORTED,
        "MPI_T_ERR_NOT_SUPPORTED",
        "the tool interface does not support the function",
    ),
    (MPI_T_ERR_MEMORY, "MPI_T_ERR_MEMORY", "not enough memory for the tool interface"),
    (MPI_T_ERR_INVALID, "MPI_T_ERR_INVALID", "wrong use of the tool interface"),
    (
        MPI_T_ERR_INVALID_INDEX,
        "MPI_T_ERR_INVALID_INDEX",
        "invalid index of a variable, category, event or source",
    ),
    (MPI_T_ERR_INVALID_ITEM, "MPI_T_ERR_INVALID_ITEM", "invalid item of an enumeration"),
    (
        MPI_T_ERR_INVALID_SESSION,
        "MPI_T_ERR_INVALID_SESSION",
        "invalid session of the tool interface",
    ),
    (MPI_T_ERR_INVALID_HANDLE, "MPI_T_ERR_INVALID_HANDLE", "invalid handle of the tool interface"),
    (
        MPI_T_ERR_INVALID_NAME,
        "MPI_T_ERR_INVALID_NAME",
        "nothing of the tool interface has the name",
    ),
    (MPI_T_ERR_OUT_OF_HANDLES, "MPI_T_ERR_OUT_OF_HANDLES", "no handles are left"),
    (MPI_T_ERR_OUT_OF_SESSIONS, "MPI_T_ERR_OUT_OF_SESSIONS", "no sessions are left"),
    (
        MPI_T_ERR_CVAR_SET_NOT_NOW,
        "MPI_T_ERR_CVAR_SET_NOT_NOW",
        "the control variable cannot be set now",
    ),
    (MPI_T_ERR_CVAR_SET_NEVER, "MPI_T_ERR_CVAR_SET_NEVER", "the control variable cannot be set"),
    (
        MPI_T_ERR_PVAR_NO_WRITE,
        "MPI_T_ERR_PVAR_NO_WRITE",
        "the performance variable cannot be written or reset",
    ),
    (
        MPI_T_ERR_PVAR_NO_STARTSTOP,
        "MPI_T_ERR_PVAR_NO_STARTSTOP",
        "the performance variable cannot be started or stopped",
    ),
    (
        MPI_T_ERR_PVAR_NO_ATOMIC,
        "MPI_T_ERR_PVAR_NO_ATOMIC",
        "the performance variable cannot be read and reset at once",
    ),
];
