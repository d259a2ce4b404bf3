//! Raises errors on the error handler of the window or communicator (MPI-4.1 §9.3).

use crate::abi::*;
#[cfg(mpich)]
use crate::arguments::Ptr;
use crate::failure::Failure;
use crate::handler::{Handler, OF_FILES};
use crate::{job, line, tool};
use std::ffi::c_int;
use std::fmt::{Display, Write};
use std::sync::Once;

/// The object of a call.
#[derive(Clone, Copy, Debug)]
pub enum Owner {
    Comm(MPI_Comm),
    Win(MPI_Win),
    Session(MPI_Session),
    /// A file; of an invalid handle, `MPI_FILE_NULL` (MPI-4.1 §14.7).
    File(MPI_File),
    /// The object that the call has freed.
    Freed {
        handler: Handler,
        handle: usize,
    },
    /// The tool interface, whose errors are only returned (MPI-4.1 §15.3.10).
    Tool,
    /// The other MPI has called the error handler.
    #[cfg(node)]
    Raised,
    /// No object with an error handler. The handler of `MPI_COMM_SELF` is used (MPI-4.1 §9.3) or, if the
    /// program has set none there, that of `MPI_COMM_WORLD`, as before MPI-4.
    None,
}

impl Owner {
    /// The error handler and its owner; for an invalid handle as for [`Owner::None`].
    fn handler(self) -> (Owner, Handler) {
        let own = match self {
            Owner::Comm(comm) => comm.get().ok().map(|comm| comm.handler()),
            Owner::Win(win) => win.get().ok().map(|win| win.handler()),
            Owner::Session(session) => session.get().ok().map(|session| session.handler()),
            Owner::File(file) => match file.find() {
                Some(file) => Some(file.handler()),
                None => return (Owner::File(MPI_File::NULL), OF_FILES.get()),
            },
            Owner::Freed { handler, .. } => Some(handler),
            Owner::Tool => Some(Handler::Return),
            Owner::None => None,
            #[cfg(node)]
            Owner::Raised => None,
        };
        let general = || {
            let comm = [MPI_COMM_SELF, MPI_COMM_WORLD].map(MPI_Comm::predefined);
            let chosen = |comm: &MPI_Comm| comm.get().is_ok_and(|comm| comm.errhandler.is_chosen());
            let comm = comm.into_iter().find(chosen).unwrap_or(comm[0]);
            (Owner::Comm(comm), comm.get().map_or(Handler::Fatal, |comm| comm.handler()))
        };
        own.map_or_else(general, |handler| (self, handler))
    }
}

/// Raises a failure of `call`, and returns the code for the program if it continues.
#[cold]
pub fn raise(
    mut failure: Failure,
    owner: Owner,
    call: &'static str,
    arguments: &[(&str, &dyn Display)],
) -> c_int {
    let owner = failure.owner.unwrap_or(owner);
    if let Owner::Tool = owner {
        failure.code = tool::code(&failure);
    }
    let sentence = sentence(&failure, call, arguments);
    #[cfg(node)]
    return crate::host::raise(owner, failure.code, sentence);
    #[cfg(not(node))]
    handle(owner, failure.code, sentence);
    #[cfg(not(node))]
    failure.code
}

/// Calls the error handler.
pub fn handle(owner: Owner, code: c_int, text: String) {
    match owner.handler() {
        (_, Handler::Return) => job::remember(code, text),
        (_, Handler::Fatal | Handler::Abort) => {
            job::abort(&(text + &line::behind_a_sentence()), code)
        }
        (owner, Handler::User { function, .. }) => {
            job::remember(code, text);
            function.call(owner, code);
        }
    }
}

/// Raises the error of an unsupported function. Those of files use the handler of files, which returns by
/// default; so the first of them is also reported to the user.
#[cold]
pub fn unsupported(call: &'static str) -> c_int {
    unsupported_because(call, "this library has no such function")
}

/// The same of a function of Fortran, whose last argument is the error code.
#[cfg(mpich)]
#[cold]
pub fn unsupported_fortran(call: &'static str, ierror: Ptr<c_int>) {
    let code = unsupported_because(call, "this library has no interface for Fortran");
    // An optional argument that is absent is null.
    let _ = ierror.set(code);
}

fn unsupported_because(call: &'static str, why: &'static str) -> c_int {
    static WARNED: Once = Once::new();
    let is_of_files = call.starts_with("MPI_File_") || call.starts_with("MPI_Register_datarep");
    let owner = if is_of_files { Owner::File(MPI_File::NULL) } else { Owner::None };
    if !matches!(owner.handler().1, Handler::Fatal | Handler::Abort) {
        WARNED.call_once(|| {
            job::warn_with_line(&format!(
                "{call}: {why}: it returned MPI_ERR_UNSUPPORTED_OPERATION, and nothing was done \
                 (further such calls are not reported)"
            ))
        });
    }
    raise(Failure::new(MPI_ERR_UNSUPPORTED_OPERATION, why), owner, call, &[])
}

fn sentence(failure: &Failure, call: &str, arguments: &[(&str, &dyn Display)]) -> String {
    let mut text = format!("{call}(");
    for (k, (name, value)) in arguments.iter().enumerate() {
        let comma = if k == 0 { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{name}={value}");
    }
    let class = crate::errors::name(failure.code);
    let _ = write!(text, "): {} ({class})", failure.text);
    text
}
