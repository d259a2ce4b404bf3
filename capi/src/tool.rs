//! The tool interface (MPI-4.1 §15.3): its initialisation and its handles. It has no variables, categories,
//! events or sources, so sessions are its only objects.

use crate::abi::*;
use crate::failure::{Failure, Outcome};
use crate::handle::{Object, Table};
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of initialisations that are not finalised yet (MPI-4.1 §15.3.4).
static INITIALISED: Mutex<u64> = Mutex::new(0);

fn initialised() -> MutexGuard<'static, u64> {
    INITIALISED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `MPI_T_init_thread`
pub fn begin() {
    *initialised() += 1;
}

/// `MPI_T_finalize`: the last one frees the sessions.
pub fn end() -> Outcome {
    running()?;
    let mut times = initialised();
    *times -= 1;
    if *times == 0 {
        drop(Session::table().clear());
    }
    Ok(())
}

/// Returns an error for a call outside initialisation and finalisation.
pub fn running() -> Outcome {
    match *initialised() {
        0 => Err(Failure::new(
            MPI_T_ERR_NOT_INITIALIZED,
            "the tool interface is not initialised (MPI_T_init_thread)",
        )),
        _ => Ok(()),
    }
}

/// The code of a failure, which the tool interface gives in its own classes (MPI-4.1 §15.3.10).
pub fn code(failure: &Failure) -> c_int {
    let is_own = crate::errors::name(failure.code).starts_with("MPI_T_");
    if is_own { failure.code } else { MPI_T_ERR_INVALID }
}

/// What an `MPI_T_pvar_session` stands for.
pub struct Session;

impl Object for Session {
    const NAME: &'static str = "MPI_T_pvar_session";
    const NULL: usize = MPI_T_PVAR_SESSION_NULL;
    const CLASS: c_int = MPI_T_ERR_INVALID_SESSION;
    const KIND: usize = 12;

    fn table() -> &'static Table<Session> {
        static TABLE: Table<Session> = Table::new();
        &TABLE
    }
}

/// What a handle of a variable, an enumeration or an event would stand for.
pub enum Nothing {}

impl Object for Nothing {
    const NAME: &'static str = "handle of the tool interface";
    const NULL: usize = MPI_T_CVAR_HANDLE_NULL;
    const CLASS: c_int = MPI_T_ERR_INVALID_HANDLE;
    const KIND: usize = 13;

    fn table() -> &'static Table<Nothing> {
        static TABLE: Table<Nothing> = Table::new();
        &TABLE
    }
}

const _: () = assert!(MPI_T_PVAR_HANDLE_NULL == Nothing::NULL && MPI_T_ENUM_NULL == Nothing::NULL);
