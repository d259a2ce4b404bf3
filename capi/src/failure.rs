//! The error of a call: a code for C, and the sentence for the user.

use crate::abi::*;
use crate::raise::Owner;
use onesided::{Error, ErrorClass};
use std::ffi::c_int;
use std::ops::{Deref, DerefMut};

/// The result of a call.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Why a call has failed: one word, so that an [`Outcome`] stays in registers.
#[derive(Clone, Debug)]
pub struct Failure(Box<Reason>);

/// What a [`Failure`] has.
#[derive(Clone, Debug)]
pub struct Reason {
    /// An error class of the standard, or a code that the program has added.
    pub code: c_int,
    /// The reason, without the call and its arguments; empty if the program knows it.
    pub text: String,
    /// The owner of the error handler, if the call's arguments do not give it.
    pub owner: Option<Owner>,
    /// The status of the message with which the call has failed.
    pub status: Option<MPI_Status>,
}

impl Failure {
    #[cold]
    pub fn new(code: c_int, text: impl Into<String>) -> Failure {
        Failure(Box::new(Reason { code, text: text.into(), owner: None, status: None }))
    }

    /// The same, raised on the error handler of `owner`.
    pub fn of(mut self, owner: Owner) -> Failure {
        self.owner = Some(owner);
        self
    }
}

impl Deref for Failure {
    type Target = Reason;
    fn deref(&self) -> &Reason {
        &self.0
    }
}

impl DerefMut for Failure {
    fn deref_mut(&mut self) -> &mut Reason {
        &mut self.0
    }
}

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Failure {
        Failure::new(code(error.class()), error.to_string())
    }
}

/// The standard's number of an error class.
fn code(class: ErrorClass) -> c_int {
    match class {
        ErrorClass::Rank => MPI_ERR_RANK,
        ErrorClass::Count => MPI_ERR_COUNT,
        ErrorClass::Type => MPI_ERR_TYPE,
        ErrorClass::Op => MPI_ERR_OP,
        ErrorClass::Group => MPI_ERR_GROUP,
        ErrorClass::Root => MPI_ERR_ROOT,
        ErrorClass::Size => MPI_ERR_SIZE,
        ErrorClass::Disp => MPI_ERR_DISP,
        ErrorClass::Assert => MPI_ERR_ASSERT,
        ErrorClass::RmaSync => MPI_ERR_RMA_SYNC,
        ErrorClass::RmaConflict => MPI_ERR_RMA_CONFLICT,
        ErrorClass::RmaRange => MPI_ERR_RMA_RANGE,
        ErrorClass::RmaAttach => MPI_ERR_RMA_ATTACH,
        ErrorClass::RmaShared => MPI_ERR_RMA_SHARED,
        ErrorClass::RmaFlavor => MPI_ERR_RMA_FLAVOR,
        ErrorClass::Base => MPI_ERR_BASE,
        ErrorClass::NoMem => MPI_ERR_NO_MEM,
        ErrorClass::ProcFailed => MPI_ERR_PROC_ABORTED,
        ErrorClass::Comm => MPI_ERR_COMM,
        ErrorClass::Buffer => MPI_ERR_BUFFER,
        ErrorClass::Tag => MPI_ERR_TAG,
        ErrorClass::Truncate => MPI_ERR_TRUNCATE,
        ErrorClass::Keyval => MPI_ERR_KEYVAL,
        ErrorClass::InfoKey => MPI_ERR_INFO_KEY,
        ErrorClass::InfoValue => MPI_ERR_INFO_VALUE,
        ErrorClass::InfoNokey => MPI_ERR_INFO_NOKEY,
        ErrorClass::Arg => MPI_ERR_ARG,
        ErrorClass::UnsupportedOperation => MPI_ERR_UNSUPPORTED_OPERATION,
        _ => MPI_ERR_OTHER,
    }
}
