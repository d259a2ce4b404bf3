//! Error handlers (MPI-4.1 §9.3).
#![allow(unsafe_code, reason = "calls a function of the C program")]

use crate::abi::*;
use crate::arguments::Function;
use crate::handle::{Object, Table};
use crate::raise::Owner;
use std::ffi::c_int;

/// What happens with an error before the call returns it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Handler {
    /// `MPI_ERRORS_ARE_FATAL`
    Fatal,
    /// `MPI_ERRORS_ABORT`
    Abort,
    /// `MPI_ERRORS_RETURN`
    Return,
    /// A function of the program.
    User { of: Kind, function: UserFunction },
}

/// What an error handler of the program's own is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Comm,
    Win,
    File,
    Session,
}

/// `MPI_Comm_errhandler_function` and its like.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UserFunction(pub Function);

impl UserFunction {
    /// Calls it with the handle and the code.
    pub fn call(self, owner: Owner, mut code: c_int) {
        let mut handle = match owner {
            Owner::Comm(comm) => comm.value(),
            Owner::Win(win) => win.value(),
            Owner::None => MPI_COMM_SELF,
        };
        // SAFETY: the C program gave the function as one of this type (MPI-4.1 §9.3.1 to §9.3.3), and
        // it lives as long as the program.
        let function: extern "C" fn(*mut usize, *mut c_int, ...) =
            unsafe { std::mem::transmute(self.0.address()) };
        function(&mut handle, &mut code);
    }
}

static PREDEFINED: [Handler; 3] = [Handler::Fatal, Handler::Abort, Handler::Return];

impl Object for Handler {
    const NAME: &'static str = "MPI_Errhandler";
    const NULL: usize = MPI_ERRHANDLER_NULL;
    const CLASS: c_int = MPI_ERR_ERRHANDLER;
    const KIND: usize = 5;

    fn table() -> &'static Table<Handler> {
        static TABLE: Table<Handler> = Table::new();
        &TABLE
    }

    fn predefined(value: usize) -> Option<&'static Handler> {
        PREDEFINED.get(value.checked_sub(MPI_ERRORS_ARE_FATAL)?)
    }
}
