//! Error handlers (MPI-4.1 §9.3). Each function stands for one of C for each kind of object.

use crate::abi::*;
use crate::arguments::{Function, Ptr};
use crate::errors;
use crate::failure::Outcome;
use crate::handle::Handle;
use crate::handler::{HandlerRef, Raises};
use crate::raise;
use std::ffi::c_int;

/// `MPI_Comm_create_errhandler` and its like
pub fn create_errhandler<T: Raises>(
    function: Function,
    errhandler: Ptr<MPI_Errhandler>,
) -> Outcome {
    errhandler.set(HandlerRef::new(T::OF, function)?.give())
}

/// `MPI_Comm_set_errhandler` and its like
pub fn set_errhandler<T: Raises>(object: Handle<T>, errhandler: MPI_Errhandler) -> Outcome {
    T::errhandler(object)?.set(HandlerRef::by(errhandler, T::OF)?);
    Ok(())
}

/// `MPI_Comm_get_errhandler` and its like
pub fn get_errhandler<T: Raises>(object: Handle<T>, errhandler: Ptr<MPI_Errhandler>) -> Outcome {
    errhandler.set(T::errhandler(object)?.share().give())
}

/// `MPI_Comm_call_errhandler` and its like: calls the handler as the program asks for, in the function
/// `name`.
pub fn call_errhandler<T: Raises>(name: &str, object: Handle<T>, code: c_int) -> Outcome {
    T::errhandler(object)?;
    let what = format!("{name}: {} ({})", errors::text(code)?, errors::name(code));
    raise::handle(T::owner(object), code, what);
    Ok(())
}

/// `MPI_Errhandler_free`
pub fn errhandler_free(errhandler: Ptr<MPI_Errhandler>) -> Outcome {
    drop(HandlerRef::take(errhandler.get()?)?);
    errhandler.set(Handle::NULL)
}
