//! Error codes and classes (MPI-4.1 §9.4 and §9.5).

use crate::abi::*;
use crate::arguments::{Ptr, Text, TextBuffer};
use crate::failure::Outcome;
use crate::{errors, job};
use std::ffi::c_int;

/// `MPI_Error_class`
pub fn error_class(errorcode: c_int, errorclass: Ptr<c_int>) -> Outcome {
    errorclass.set(errors::class(errorcode)?)
}

/// `MPI_Error_string`: the meaning of the code, and the cause if it is the last one of this thread.
pub fn error_string(errorcode: c_int, string: TextBuffer, resultlen: Ptr<c_int>) -> Outcome {
    let mut text = errors::text(errorcode)?;
    if let Some(last) = job::recall(errorcode).filter(|last| !last.is_empty()) {
        text = if text.is_empty() { last } else { format!("{text}: {last}") };
    }
    resultlen.set(string.write(&text, MPI_MAX_ERROR_STRING as usize)?)
}

/// `MPI_Add_error_class`
pub fn add_error_class(errorclass: Ptr<c_int>) -> Outcome {
    errorclass.set(errors::add(None)?)
}

/// `MPI_Remove_error_class`
pub fn remove_error_class(errorclass: c_int) -> Outcome {
    errors::remove(errorclass, true)
}

/// `MPI_Add_error_code`
pub fn add_error_code(errorclass: c_int, errorcode: Ptr<c_int>) -> Outcome {
    errorcode.set(errors::add(Some(errorclass))?)
}

/// `MPI_Remove_error_code`
pub fn remove_error_code(errorcode: c_int) -> Outcome {
    errors::remove(errorcode, false)
}

/// `MPI_Add_error_string`
pub fn add_error_string(errorcode: c_int, string: Text) -> Outcome {
    errors::set_text(errorcode, string.read()?)
}

/// `MPI_Remove_error_string`
pub fn remove_error_string(errorcode: c_int) -> Outcome {
    errors::set_text(errorcode, String::new())
}
