//! The tool interface (MPI-4.1 §15.3): of a library without variables, categories, events and sources.
//! Most functions of C only report that: each function here that begins with `t_no` implements many.
//!
//! Its functions may be called before `MPI_Init` and after `MPI_Finalize`. They return their errors and
//! call no error handler.

use crate::abi::*;
use crate::arguments::{Ptr, Text};
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use crate::tool::{self, Nothing, Session};
use std::ffi::c_int;

/// `MPI_T_init_thread`
pub fn t_init_thread(required: c_int, provided: Ptr<c_int>) -> Outcome {
    if !(MPI_THREAD_SINGLE..=MPI_THREAD_MULTIPLE).contains(&required) {
        let why = format!("{required} is no level of thread support");
        return Err(Failure::new(MPI_T_ERR_INVALID, why));
    }
    provided.set(MPI_THREAD_MULTIPLE)?;
    tool::begin();
    Ok(())
}

/// `MPI_T_finalize`
pub fn t_finalize() -> Outcome {
    tool::end()
}

/// Functions that count categories, variables, events, sources or changes of them
pub fn t_none(number: Ptr<c_int>) -> Outcome {
    tool::running()?;
    number.set(0)
}

/// Functions that ask for one of them by its index
pub fn t_no_index(what: &str, index: c_int) -> Outcome {
    tool::running()?;
    let why = format!("there is no {what} {index}; there are none");
    Err(Failure::new(MPI_T_ERR_INVALID_INDEX, why))
}

/// Functions that ask for the index of a name
pub fn t_no_name(what: &str, name: Text) -> Outcome {
    tool::running()?;
    let why = format!("there is no {what} {:?}; there are none", name.read()?);
    Err(Failure::new(MPI_T_ERR_INVALID_NAME, why))
}

/// Functions of a handle
pub fn t_no_object(handle: Handle<Nothing>) -> Outcome {
    tool::running()?;
    match *handle.get()? {}
}

/// Functions of a variable of a session
pub fn t_no_variable(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Outcome {
    tool::running()?;
    session.get()?;
    t_no_object(handle)
}

/// Functions of one variable of a session, or of all
pub fn t_no_variables(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Outcome {
    match handle.value() {
        MPI_T_PVAR_ALL_HANDLES => tool::running().and_then(|()| session.get().map(drop)),
        _ => t_no_variable(session, handle),
    }
}

/// `MPI_T_cvar_handle_free`
pub fn t_cvar_handle_free(handle: Ptr<MPI_T_cvar_handle>) -> Outcome {
    tool::running()?;
    t_no_object(handle.get()?)
}

/// `MPI_T_pvar_handle_alloc`
pub fn t_pvar_handle_alloc(session: MPI_T_pvar_session, pvar_index: c_int) -> Outcome {
    tool::running()?;
    session.get()?;
    t_no_index("performance variable", pvar_index)
}

/// `MPI_T_pvar_handle_free`
pub fn t_pvar_handle_free(session: MPI_T_pvar_session, handle: Ptr<MPI_T_pvar_handle>) -> Outcome {
    tool::running()?;
    session.get()?;
    t_no_object(handle.get()?)
}

/// `MPI_T_pvar_session_create`
pub fn t_pvar_session_create(session: Ptr<MPI_T_pvar_session>) -> Outcome {
    tool::running()?;
    session.set(Handle::new(Session))
}

/// `MPI_T_pvar_session_free`
pub fn t_pvar_session_free(session: Ptr<MPI_T_pvar_session>) -> Outcome {
    tool::running()?;
    session.get()?.remove()?;
    session.set(Handle::NULL)
}
